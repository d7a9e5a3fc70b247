/** Other apps within one of Hono. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { api, inspector, mcp } from "./handlers.mjs";

const app = new Hono();
app.use(compress());
// #region mount
app.mount("/inspector", inspector.fetch, { replaceRequest: false });
// #endregion mount
app.mount("/api", api, { replaceRequest: false });
app.mount("/mcp", mcp.fetch, { replaceRequest: false });
serve({ fetch: app.fetch, port: process.env.PORT });
