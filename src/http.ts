/**
 * Phased sessions and routed workflows over plain HTTP, with an OpenAPI document: a handler from `Request` to `Response`, for
 * any runtime. And `toNodeHandler`, which mounts such handlers in Express, Fastify, Nest and on `node:http`.
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
export {
  type FetchHandler,
  type NodeHandler,
  type NodeHandlerOptions,
  type NodeRequest,
  type NodeResponse,
  toNodeHandler,
} from "./http/node.js";
export type { OpenApiOptions } from "./http/openapi.js";
