/** Which web pages may call. */
export interface CorsOptions {
  /** Origins such as `https://app.example`, or `"*"` for all pages. */
  readonly origins: readonly string[] | "*";
}

const DAY_SECONDS = "86400";

/** The headers that let a page read an answer; none unless the host has asked for them. */
export function corsHeaders(request: Request, cors: CorsOptions | undefined): Record<string, string> {
  if (cors === undefined) return {};
  const origin = request.headers.get("origin");
  const allowed = cors.origins === "*" ? "*" : cors.origins.find((one) => one === origin);
  const vary: Record<string, string> = cors.origins === "*" ? {} : { vary: "origin" };
  return allowed === undefined ? vary : { ...vary, "access-control-allow-origin": allowed };
}

/** What a page's browser asks before it sends JSON. */
export function preflightHeaders(allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": "content-type, idempotency-key, authorization",
    "access-control-max-age": DAY_SECONDS,
  };
}
