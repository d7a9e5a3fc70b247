/**
 * A routed workflow from a folder (`examples/routed/FIX_BUG`), over HTTP and over MCP: first without a model, then with
 * a decider.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { MemoryStorage } from "phasegate";
import { LinearDecider, ScriptedDecider } from "phasegate/ai";
// #region folder
import { FileTexts } from "phasegate/fs";
import { createRoutedEngine, RoutedFolders } from "phasegate/routed";

const root = fileURLToPath(new URL("routed", import.meta.url));
const workflows = new RoutedFolders({ source: new FileTexts({ root }) });
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });
// #endregion folder

// #region walk
const { sessionId, nextStep } = await engine.start({ workflow: "FIX_BUG", context: { issue: 17 } });
console.log(nextStep.name, nextStep.instructions); // Reproduce …

const missing = await engine.session(sessionId).advance({ report: { status: "success" } });
console.log(missing.gate?.problems); // failing_test is missing: nobody was asked, and the step is the same

const details = { failing_test: "reader.test.ts: keeps the last line" };
const next = await engine.session(sessionId).advance({ report: { status: "success", details } });
console.log(next.nextStep.name); // Fix
// #endregion walk
assert.deepEqual(
  [nextStep.name, missing.gate?.problems[0]?.field, next.nextStep.name],
  ["Reproduce", "failing_test", "Fix"],
);

// #region http
import { createHttpApi } from "phasegate/http";

const api = createHttpApi(engine, {
  authorize: (request) => request.headers.get("authorization") === "Bearer my-secret",
});
// Anything that takes a fetch handler: Bun.serve({ fetch: api }), Deno.serve(api), a route of Hono or Next, an edge worker.
// #endregion http
const post = async (path: string, body: object) => {
  const headers = { authorization: "Bearer my-secret", "content-type": "application/json" };
  const request = new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return (await api(request)).json();
};
const report = { status: "success", message: "all tests pass" };
const fixed = await post("/workflows/advance", { instance_id: sessionId, report });
assert.equal(fixed.next_step.step_name, "Ask");
assert.equal((await api(new Request("http://localhost/workflows/list"))).status, 401);

// A decider that has read the guidance, or a script in the place of one.
const decider = new ScriptedDecider([{ nextStep: "Fix" }, { nextStep: "FINISH", reasoning: "all green" }]);
const decided = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider });

// #region mcp
import { registerRoutedTools } from "phasegate/mcp";

const server = new McpServer({ name: "my-server", version: "1.0.0" });
registerRoutedTools(server, decided);
// #endregion mcp
const client = new Client({ name: "agent", version: "1.0.0" });
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(other), client.connect(one)]);
const call = async (name: string, input: Record<string, unknown>) => {
  const { structuredContent } = await client.callTool({ name, arguments: input });
  return new Map(Object.entries(structuredContent ?? {}));
};
const started = await call("start_workflow", { workflow_name: "FIX_BUG" });
const instance_id = started.get("instance_id");
await call("advance_workflow", { instance_id, report: { status: "success", details } });
const end = await call("advance_workflow", { instance_id, report });
assert.deepEqual([end.get("status"), end.get("reasoning")], ["COMPLETED", "all green"]);
console.log(end.get("status"));

// #region delete
const { items } = await decided.listSessions({ status: ["completed"] });
for (const { sessionId } of items) await decided.session(sessionId).delete({ note: "archived elsewhere" });
// #endregion delete
assert.equal(items.length, 1);
assert.equal((await decided.listSessions()).items.length, 0);
await client.close();
