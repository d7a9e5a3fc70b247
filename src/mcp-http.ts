/**
 * MCP over Streamable HTTP for many clients, and what tells an operator whether the server is well. Needs the optional peer
 * `@modelcontextprotocol/server` 2.x and nothing of Node's.
 *
 * @packageDocumentation
 */

export { createHealth, type Health, type HealthOptions } from "./http/health.js";
export { createMcpHttpHandler, type McpHttpHandler, type McpHttpOptions } from "./mcp/http.js";
export type { HttpCall } from "./mcp/http-request.js";
