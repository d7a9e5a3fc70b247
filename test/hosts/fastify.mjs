/** Fastify, whose parser has read each body of JSON. */
// #region fastify
import Fastify from "fastify";
import { toNodeHandler } from "phasegate/http";
import { api, inspector, mcp } from "./handlers.mjs";

const app = Fastify();
app.all("/api/*", toNodeHandler(api));
app.all("/mcp", toNodeHandler(mcp));
app.all("/inspector", toNodeHandler(inspector));
app.all("/inspector/*", toNodeHandler(inspector));
await app.listen({ port: process.env.PORT });
// #endregion fastify
