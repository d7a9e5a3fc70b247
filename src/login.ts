/**
 * Logins to a server over HTTP: static tokens, OAuth 2.1, checks of Host and Origin, and quotas for each actor. Requests and
 * answers are those of the web's standard. Needs the optional peer `@modelcontextprotocol/server`, for OAuth also `jose`,
 * and nothing of Node's.
 *
 * @packageDocumentation
 */

export { createTokenLogin, firstOf } from "./login/login.js";
export { createOAuthLogin, type OAuthLoginOptions } from "./login/oauth-login.js";
export {
  createQuotas,
  type QuotaOptions,
  type QuotaRefusal,
  type Quotas,
  quotaError,
  quotaResponse,
} from "./login/quotas.js";
export { createHostCheck } from "./login/request.js";
export { createToken, type TokenEntry, type TokenRequest, tokensText } from "./login/tokens.js";
export type { Login } from "./ports/login.js";
