/** Phased sessions over plain HTTP on Node: agents without MCP, each with their own sessions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const release = defineWorkflow({
  ...{ type: "release", revision: "1", name: "Release", description: "Write it down, then publish" },
  phases: [
    {
      ...{ number: 1, name: "Notes", content: "# Write the release notes, and run the tests" },
      gate: { evidence: z.object({ notes: z.string().min(20), tests_pass: z.literal(true) }) },
    },
    { number: 2, name: "Publish", content: "# Publish it" },
  ],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });

// #region api
import { createHttpApi } from "phasegate/http";
import { createToken, createTokenLogin, tokensText } from "phasegate/login";

// The tokens are in a file that `phasegate tokens add` writes; here they are made on the spot.
const [ann, bob] = ["ann", "bob"].map((name) => createToken({ name, roles: ["agent"] }, Date.now()));
const tokens = tokensText([ann, bob].flatMap((made) => (made === undefined ? [] : [made.entry])));

const api = createHttpApi(engine, { login: createTokenLogin({ read: () => tokens }) });

// Anything that takes a fetch handler: Bun.serve({ fetch: api }), Deno.serve(api), a route of Hono or Next, an edge worker.
// #endregion api

// #region node
import { createServer } from "node:http";
import { toNodeHandler } from "phasegate/http";

// A client that goes away ends its complete_phase: the checks are stopped, and nothing is written.
const server = createServer(toNodeHandler(api));
server.listen(0, "127.0.0.1"); // 0: any port that is free
// #endregion node

await once(server, "listening");
const address = server.address();
assert.ok(typeof address === "object" && address !== null);
const origin = `http://127.0.0.1:${address.port}`;

/** Calls the server as any client does: GET with a query, POST with JSON. */
async function call(path: string, body?: object, token = ann?.token): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(`${origin}${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
}

// #region client
const started = await (await call("/sessions/start", { workflow_type: "release", target_file: "v1.md" })).json();
const { session_id } = started;

const tooEarly = await call("/sessions/complete_phase", { session_id, phase: 1, evidence: { tests_pass: true } });
const { checkpoint_passed, missing_evidence } = await tooEarly.json();
console.log(tooEarly.status, checkpoint_passed, missing_evidence); // 200 false [ "notes" ]

const evidence = { notes: "v1: the parser reads nested lists", tests_pass: true };
const passed = await (await call("/sessions/complete_phase", { session_id, phase: 1, evidence })).json();
console.log(passed.checkpoint_passed, passed.next); // true { action: "complete_phase", session_id: …, phase: 2, … }

const theirs = await call(`/sessions/get_state?session_id=${session_id}&brief=true`, undefined, bob?.token);
console.log(theirs.status, (await theirs.json()).error_code); // 404 SESSION_NOT_FOUND
// #endregion client

assert.deepEqual([tooEarly.status, checkpoint_passed, missing_evidence], [200, false, ["notes"]]);
assert.deepEqual([passed.next.action, passed.next.session_id, passed.next.phase], ["complete_phase", session_id, 2]);
assert.equal(theirs.status, 404);
const done = await call("/sessions/complete_phase", { session_id, phase: 2, evidence: { url: "https://example.com" } });
assert.equal((await done.json()).workflow_complete, true);
const ahead = await call(`/sessions/get_phase?session_id=${session_id}&phase=9`);
assert.deepEqual([ahead.status, (await ahead.json()).error_code], [404, "PHASE_OUT_OF_RANGE"]);
assert.equal((await fetch(`${origin}/sessions/list_sessions`)).status, 401);
assert.equal((await (await call("/openapi.json")).json()).openapi, "3.1.0");
server.close();
server.closeAllConnections();
