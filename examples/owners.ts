/** One engine for several agents: each sees its own sessions alone, and a viewer sees all. */
import assert from "node:assert/strict";
import { type Actor, createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "fix_bug",
  revision: "1",
  name: "Fix a bug",
  description: "Reproduce, then fix",
  phases: [{ number: 1, name: "Fix", content: "", gate: { evidence: z.object({ test: z.string() }) } }],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [workflow] }) });

// #region actors
// Whoever is behind a request: your server has authenticated them.
const toolOf = (actor: Actor) => createWorkflowTool(engine, { actor });
const [ann, bob] = [toolOf({ name: "ann", team: "red" }), toolOf({ name: "bob" })];

const started = await ann.dispatch({ action: "start", workflow_type: "fix_bug", target_file: "src/parser.ts" });
const { session_id } = started;

const seen = await bob.dispatch({ action: "get_state", session_id });
assert.equal(seen.code, "SESSION_NOT_FOUND");

const viewer = engine.as({ name: "vera", roles: ["viewer"] });
const { items } = await viewer.listSessions();
assert.equal(items[0]?.owner, "ann");

await engine.session(String(session_id)).assign({ name: "bob" }, { by: "the operator", note: "Ann is away" });
assert.equal((await bob.dispatch({ action: "get_state", session_id })).status, "success");
// #endregion actors

console.info(`${session_id} belongs to bob now`);
