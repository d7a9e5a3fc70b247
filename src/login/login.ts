/**
 * Several logins in one. This is the entry file of the folder:
 *
 * - tokens.ts: static tokens, the text of their file, and which entry a token belongs to; token-login.ts: the login with them
 * - oauth-login.ts: which access tokens of a provider count, and whose they are; provider-keys.ts: its keys
 * - bearer.ts: where a token is read from, and what refusals say
 * - host-check.ts: under which names a server may be called, and from which pages
 * - quotas.ts: how much each actor may use
 */
import type { Login } from "../ports/login.js";

/**
 * Creates a login that lets in whom one of these lets in; they are asked in this order. The answer to anybody else is the
 * first one that is no 401, since that login knows the token; else the one of the first login with documents for clients,
 * which leads them on; else the first.
 */
export function firstOf(...logins: readonly [Login, ...Login[]]): Login {
  return {
    async authenticate(request) {
      const refusals: Response[] = [];
      for (const login of logins) {
        const found = await login.authenticate(request);
        if (!(found instanceof Response)) return found;
        refusals.push(found);
      }
      const [first] = refusals;
      const leading = refusals.find((_, at) => logins[at]?.metadata !== undefined);
      return (
        refusals.find(({ status }) => status !== 401) ?? leading ?? first ?? new Response(undefined, { status: 401 })
      );
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
