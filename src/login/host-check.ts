/**
 * Under which names a server may be called, and from which web pages. A page anywhere can give its own name this machine's
 * address (DNS rebinding), so this is checked before anything else. The MCP SDK reads the headers.
 */
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import { PhasegateError } from "../errors.js";
import { shown } from "../workflow/names.js";

/** Options of {@link createHostCheck}. */
export interface HostCheckOptions {
  /** The names that the server is called by, without ports: `gates.example.com`. Default: those of this machine. */
  readonly hosts?: readonly string[];
  /** The names of servers whose web pages may call it, without ports. Default: `hosts`. */
  readonly origins?: readonly string[];
}

/**
 * Returns a check of a request's Host and Origin. It returns the refusal, with status 403, or undefined. Requests without
 * an Origin pass: they don't come from a web page.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for what is no name of a host.
 */
export function createHostCheck({
  hosts = localhostAllowedHostnames(),
  origins = hosts,
}: HostCheckOptions = {}): (request: Request) => Response | undefined {
  const [hostNames, originNames] = [hosts.map(hostName), origins.map(hostName)];
  return ({ headers, url }) => {
    // HTTP/2 has no Host header; servers then have the name in the address.
    const host = validateHostHeader(headers.get("host") ?? new URL(url).host, hostNames);
    if (!host.ok) return refused(`The server is not called ${shown(host.hostname ?? host.hostHeader ?? "")}`);
    const origin = validateOriginHeader(headers.get("origin"), originNames);
    return origin.ok ? undefined : refused(`Pages of ${shown(origin.hostname ?? origin.originHeader)} may not call it`);
  };
}

function hostName(name: string): string {
  const url = URL.canParse(`http://${name}`) ? new URL(`http://${name}`) : undefined;
  if (url !== undefined && url.hostname === name.toLowerCase()) return url.hostname;
  throw new PhasegateError("INVALID_INPUT", `${shown(name)} is not the name of a host`, {
    remedy: "Give names without scheme and port: gates.example.com, 127.0.0.1 or [::1].",
    details: { field: "hosts", expected: "a name without scheme and port" },
  });
}

function refused(message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status: 403 });
}
