/**
 * Logins with static tokens, for teams without a provider of identities and for programs; and several logins in one. This is
 * the entry file of the folder:
 *
 * - tokens.ts: static tokens, the text of their file, and which entry a token belongs to
 * - oauth-login.ts: which access tokens of a provider count, and whose they are; how its keys are had
 * - request.ts: under which names a server may be called, and from which pages; where a token is read from, and what refusals
 *   say
 * - quotas.ts: how much each actor may use
 */
import { type Clock, clockCheck, systemClock } from "../ports/clock.js";
import { isResponse, type Login } from "../ports/login.js";
import { callable, checkOptions, optionally } from "../workflow/host-options.js";
import { authenticateBearer, isAboutKnown, noMore, noToken, type TokenOwner } from "./request.js";
import { entryOf, readTokens, type Tokens, tokenState } from "./tokens.js";

/** Options of {@link createTokenLogin}. */
export interface TokenLoginOptions {
  /**
   * Returns the text of the tokens file as it is now. Called for each request, so that a token that was revoked no longer
   * counts. The same text is parsed once.
   */
  readonly read: () => string | Promise<string>;
  /** Tells the time, by which tokens expire. Default: the runtime's. */
  readonly clock?: Clock;
}

/**
 * Creates a login for the tokens that `phasegate tokens add` makes. It answers nobody while `read` fails or returns a text
 * that is no tokens file: `authenticate` then rejects with that error, for such a text `INVALID_INPUT`.
 */
export function createTokenLogin(options: TokenLoginOptions): Login {
  checkOptions("createTokenLogin", options, { read: callable, clock: optionally(clockCheck) });
  const { read, clock = systemClock } = options;
  let last: { readonly text: string; readonly tokens: Tokens } | undefined;
  const current = async (): Promise<Tokens> => {
    const text = await read();
    if (last?.text !== text) last = { text, tokens: readTokens(text) };
    return last.tokens;
  };
  const verify = async (token: string): Promise<TokenOwner> => {
    const entry = entryOf(await current(), token);
    if (entry === undefined) throw noToken("The token is not valid");
    // The caller has the token, and may know its state.
    const state = tokenState(entry, clock.now());
    if (state !== "valid") throw noMore(state === "revoked" ? "The token was revoked" : "The token has expired");
    const { name, roles, team } = entry;
    return { actor: { name, roles, team }, expiresAt: Number.POSITIVE_INFINITY };
  };
  return { authenticate: (request) => authenticateBearer(request, verify) };
}

/**
 * Creates a login that lets in whom one of these lets in; they are asked in this order. The answer to anybody else is the
 * one of the first login that knows the token: no 401, or a token of `createTokenLogin` that has ended; else that of the first
 * login with documents for clients, which leads them on; else the first.
 */
export function firstOf(...logins: readonly [Login, ...Login[]]): Login {
  return {
    async authenticate(request) {
      const refusals: Response[] = [];
      for (const login of logins) {
        const found = await login.authenticate(request);
        if (!isResponse(found)) return found;
        refusals.push(found);
      }
      const [first] = refusals;
      const leading = refusals.find((_, at) => logins[at]?.metadata !== undefined);
      const known = refusals.find((refusal) => refusal.status !== 401 || isAboutKnown(refusal));
      return known ?? leading ?? first ?? new Response(undefined, { status: 401 });
    },
    metadata(request) {
      for (const login of logins) {
        const found = login.metadata?.(request);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}
