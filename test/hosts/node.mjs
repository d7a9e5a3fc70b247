/** No framework. */
// #region node
import { createServer } from "node:http";
import { toNodeHandler } from "phasegate/http";
import { api, inspector, mcp } from "./handlers.mjs";

function answer(request) {
  const [, first] = new URL(request.url).pathname.split("/");
  if (first === "api") return api(request);
  return first === "inspector" ? inspector.fetch(request) : mcp.fetch(request);
}
createServer(toNodeHandler(answer)).listen(process.env.PORT);
// #endregion node
