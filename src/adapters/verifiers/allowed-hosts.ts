import { PhasegateError } from "../../errors.js";
import { wrongParam } from "./parse-params.js";

/**
 * A server that gates may ask: `example.org` (ports 80 and 443), `example.org:8080`, or with `private: true` one
 * whose address is not of the public internet, such as `localhost:3000`.
 */
export type AllowedHost = string | { readonly host: string; readonly private?: boolean };

/** A URL that may be asked for. */
export interface AllowedUrl {
  readonly url: URL;
  /** The name or address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly mayBePrivate: boolean;
}

/** Whether servers are private, by `name:port` as a URL has it. */
export type HostList = ReadonlyMap<string, boolean>;

/** Reads the host's list; throws `INVALID_INPUT` for an entry that is no host. */
export function readHosts(allowed: readonly AllowedHost[]): HostList {
  const list = new Map<string, boolean>();
  for (const entry of allowed) {
    const { host, private: mayBePrivate = false } = typeof entry === "string" ? { host: entry } : entry;
    for (const key of keysOf(host)) list.set(key, mayBePrivate);
  }
  return list;
}

/** Reads a URL; throws `INVALID_INPUT` for one that isn't http(s), holds a password, or names another server. */
export function allowedUrl(verifier: string, text: string, hosts: HostList): AllowedUrl {
  const url = URL.parse(text);
  if (url === null) throw wrongParam(verifier, "url", "it is not a URL");
  const standard = STANDARD_PORTS[url.protocol];
  if (standard === undefined) throw wrongParam(verifier, "url", "only http: and https: are asked");
  if (url.username !== "" || url.password !== "") throw wrongParam(verifier, "url", "it holds a name or a password");
  const port = url.port === "" ? standard : Number(url.port);
  const mayBePrivate = hosts.get(`${url.hostname}:${port}`);
  if (mayBePrivate === undefined) {
    throw wrongParam(
      verifier,
      "url",
      `${url.host} is not on the host's list of servers (phasegate serve: --allow-host)`,
    );
  }
  return { url, hostname: url.hostname.replace(/^\[|\]$/g, ""), port, mayBePrivate };
}

const STANDARD_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** As URL reads them: lower case, punycode, and addresses in their one usual form. */
function keysOf(host: string): string[] {
  const url = URL.parse(`http://${host}/`);
  if (url === null || /[/@?#\\\s*]/.test(host)) {
    throw new PhasegateError("INVALID_INPUT", `'${host}' is no host`, {
      remedy: "List hosts as 'example.org' or 'example.org:8080', one by one.",
      details: { field: "hosts", expected: "a host name or address, with or without a port" },
    });
  }
  // URL leaves http's own port out even if it was written.
  if (/:\d+$/.test(host)) return [`${url.hostname}:${url.port || "80"}`];
  return [`${url.hostname}:80`, `${url.hostname}:443`];
}
