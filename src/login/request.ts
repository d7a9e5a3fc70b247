/**
 * What is read of a request before anything else: under which name it calls, from which web page, and whose bearer token it
 * has; and the refusals. A page anywhere can give its own name this machine's address (DNS rebinding), so the names are
 * checked first. The MCP SDK reads the headers and writes the challenge.
 */
import {
  bearerAuthChallengeResponse,
  localhostAllowedHostnames,
  OAuthError,
  OAuthErrorCode,
  validateHostHeader,
  validateOriginHeader,
  verifyBearerToken,
} from "@modelcontextprotocol/server";
import { PhasegateError } from "../errors.js";
import type { Actor } from "../ports/actor.js";
import { checkOptions, optionally, texts } from "../workflow/host-options.js";
import { shown } from "../workflow/names.js";
import { TOKEN_PREFIX } from "./tokens.js";

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
export function createHostCheck(options: HostCheckOptions = {}): (request: Request) => Response | undefined {
  checkOptions("createHostCheck", options, { hosts: optionally(texts), origins: optionally(texts) });
  const { hosts = localhostAllowedHostnames(), origins = hosts } = options;
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

/** The longest `Authorization` header that is read, in characters: as much as Node takes of all headers. */
const HEADER_MAX = 16_384;

export interface TokenOwner {
  readonly actor: Actor;
  /** When the token ends, in seconds since 1970; `Infinity` if it does not. */
  readonly expiresAt: number;
}

export interface Challenge {
  readonly resourceMetadataUrl?: string;
  readonly requiredScopes?: string[];
}

/**
 * Returns the actor whose token a request has in its `Authorization` header, or the refusal. `verify` throws what
 * {@link noToken} and {@link noScope} return; whatever else it throws is not caught.
 */
export async function authenticateBearer(
  request: Request,
  verify: (token: string) => Promise<TokenOwner>,
  challenge: Challenge = {},
): Promise<Actor | Response> {
  let owner: TokenOwner | undefined;
  try {
    refuseTokenInUrl(request);
    const header = request.headers.get("authorization");
    if (header !== null && header.length > HEADER_MAX) throw noToken("The Authorization header is too long");
    await verifyBearerToken(header, {
      verifier: {
        async verifyAccessToken(token) {
          owner = await verify(token);
          return { token, clientId: owner.actor.name, scopes: [], expiresAt: owner.expiresAt };
        },
      },
    });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const answer = bearerAuthChallengeResponse(error, challenge);
    if (ended.has(error)) ended.add(answer);
    return answer;
  }
  return owner?.actor ?? bearerAuthChallengeResponse(noToken("The token belongs to nobody"), challenge);
}

/** Returns the error for a token that does not count. Answered with 401. */
export function noToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message);
}

/** Returns the error for a token that did count once. Answered with 401; other logins don't know better. */
export function noMore(message: string): OAuthError {
  const error = noToken(message);
  ended.add(error);
  return error;
}

/** The errors about tokens that did count once, and their answers. */
const ended = new WeakSet<OAuthError | Response>();

export function isAboutKnown(refusal: Response): boolean {
  return ended.has(refusal);
}

/** Returns the error for a token that gives no right to anything here. Answered with 403. */
export function noScope(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InsufficientScope, message);
}

/** Refuses an address with a token, whatever the header has: addresses end up in the logs of servers and proxies. */
function refuseTokenInUrl({ url }: Request): void {
  const { searchParams } = new URL(url);
  const has =
    searchParams.has("access_token") || [...searchParams.values()].some((one) => one.startsWith(TOKEN_PREFIX));
  if (!has) return;
  const message = "A token in an address ends up in logs: revoke it, and send the new one in the Authorization header";
  throw new OAuthError(OAuthErrorCode.InvalidRequest, message);
}

/** Returns true for an address that nobody on the way can read or change what is sent and answered. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost"));
}
