/**
 * Phased sessions and routed workflows over plain HTTP, with an OpenAPI document: a handler from `Request` to `Response`, for
 * any runtime.
 *
 * @packageDocumentation
 */

export {
  type CorsOptions,
  createHttpApi,
  type HttpApi,
  type HttpApiOptions,
  openApiDocument,
  type PhasedHttpApiOptions,
} from "./http/api.js";
export type { OpenApiOptions } from "./http/openapi.js";
