/** Express, with the middleware that most apps have before everything else. */
import compression from "compression";
// #region express
import express from "express";
import { toNodeHandler } from "phasegate/http";
import { api, inspector, mcp } from "./handlers.mjs";

const app = express();
app.use(compression());
app.use(express.json());
app.use("/api", toNodeHandler(api));
app.use("/mcp", toNodeHandler(mcp));
app.use("/inspector", toNodeHandler(inspector));
app.listen(process.env.PORT);
// #endregion express
