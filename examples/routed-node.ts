/** Routed workflows over HTTP on plain Node: `node:http` in front of the fetch handler, with no framework. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { MemoryStorage } from "phasegate";
import { LinearDecider } from "phasegate/ai";
import { FileTexts } from "phasegate/fs";
import { createHttpApi, toNodeHandler } from "phasegate/http";
import { createRoutedEngine, RoutedFolders } from "phasegate/routed";

const root = fileURLToPath(new URL("routed", import.meta.url));
const workflows = new RoutedFolders({ source: new FileTexts({ root }) });
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });

// #region node
import { createServer } from "node:http";

const api = createHttpApi(engine, {
  authorize: (request) => request.headers.get("authorization") === "Bearer my-secret",
});

const server = createServer(toNodeHandler(api));
server.listen(0, "127.0.0.1"); // 0: any port that is free
// #endregion node

await once(server, "listening");
const address = server.address();
assert.ok(typeof address === "object" && address !== null);
const origin = `http://127.0.0.1:${address.port}`;

/** Calls the server as any client does. */
async function post(path: string, body: object): Promise<Response> {
  const headers = { authorization: "Bearer my-secret", "content-type": "application/json" };
  return fetch(`${origin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

const started = await (await post("/workflows/start", { workflow_name: "FIX_BUG" })).json();
// #region refused
const refused = await post("/workflows/advance", {
  instance_id: started.instance_id,
  report: { status: "success" },
});
const { status, next_step, gate } = await refused.json();
console.log(refused.status, status, next_step.step_name, gate.problems); // 200 RUNNING Reproduce [ failing_test is missing … ]
// #endregion refused
assert.deepEqual([refused.status, status, next_step.step_name], [200, "RUNNING", "Reproduce"]);
assert.equal(gate.problems[0].field, "failing_test");
const again = { instance_id: started.instance_id, report: { status: "success" } };
await post("/workflows/advance", again);
const third = await post("/workflows/advance", again);
assert.deepEqual([third.status, (await third.json()).status], [200, "FAILED"]); // until retry
assert.equal((await fetch(`${origin}/workflows/list`)).status, 401);
server.close();
