/**
 * What all logins with bearer tokens share: where a token is read from, and what the answers to wrong ones say. The MCP SDK
 * reads the header and writes the challenge.
 */
import {
  bearerAuthChallengeResponse,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
} from "@modelcontextprotocol/server";
import type { Actor } from "../ports/actor.js";
import { TOKEN_PREFIX } from "./tokens.js";

/** The longest `Authorization` header that is read, in characters: as much as Node takes of all headers. */
const HEADER_MAX = 16_384;

/** Whose a token is. */
export interface TokenOwner {
  readonly actor: Actor;
  /** When the token ends, in seconds since 1970; `Infinity` if it does not. */
  readonly expiresAt: number;
}

/** What a refusal tells clients. */
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
    return bearerAuthChallengeResponse(error, challenge);
  }
  return owner?.actor ?? bearerAuthChallengeResponse(noToken("The token belongs to nobody"), challenge);
}

/** Returns the error for a token that does not count. Answered with 401. */
export function noToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message);
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
