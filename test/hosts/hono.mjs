/** Hono on Node. */
// #region hono
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { api, inspector, mcp } from "./handlers.mjs";

const app = new Hono();
app.all("/api/*", (context) => api(context.req.raw));
app.all("/mcp", (context) => mcp.fetch(context.req.raw));
app.all("/inspector/*", (context) => inspector.fetch(context.req.raw));
serve({ fetch: app.fetch, port: process.env.PORT });
// #endregion hono
