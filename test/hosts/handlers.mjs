/** The three handlers that hosts mount. */
// #region handlers
import { createHttpApi } from "phasegate/http";
import { createInspector } from "phasegate/inspector";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { engine } from "./engine.mjs";

/** Each is mounted at a path of its own, which it must know. */
export const api = createHttpApi(engine, { basePath: "/api" });
export const mcp = createMcpHttpHandler({ path: "/mcp", register: (server) => registerWorkflowTool(server, engine) });
export const inspector = createInspector({
  engine,
  basePath: "/inspector",
  access: { token: process.env.PHASEGATE_INSPECTOR_TOKEN },
});
// #endregion handlers
