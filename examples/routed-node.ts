/** Routed workflows over HTTP on plain Node: `node:http` in front of the fetch handler, with no framework. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { MemoryStorage } from "phasegate";
import { LinearDecider } from "phasegate/ai";
import { FileTexts } from "phasegate/fs";
import { createHttpApi } from "phasegate/http";
import { createRoutedEngine, RoutedFolders } from "phasegate/routed";

const root = fileURLToPath(new URL("routed", import.meta.url));
const workflows = new RoutedFolders({ source: new FileTexts({ root }) });
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });

// #region node
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

const api = createHttpApi(engine, {
  authorize: (request) => request.headers.get("authorization") === "Bearer my-secret",
});

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const body = method === "POST" ? { body: streamOf(incoming), duplex: "half" as const } : {};
  const response = await api(new Request(new URL(url, "http://localhost"), { method, headers, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
}

/** The body as it comes, so that one that is too long is refused before it is all there. */
function streamOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

const server = createServer((incoming, outgoing) => {
  // What makes no request at all, such as a method that fetch doesn't know, gets no answer.
  answer(incoming, outgoing).catch(() => outgoing.destroy());
});
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
