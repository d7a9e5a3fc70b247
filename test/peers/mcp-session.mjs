/** Goes through a session by messages of the protocol, so that no client of an SDK is needed. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

const gate = { fields: { tests: { type: "integer", required: true } } };
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
/** The engine of the host. */
export const engine = createEngine({
  storage: new MemoryStorage(),
  content: new MemoryContent({ workflows: [release] }),
});

/** Connects a server to one end of a transport, and goes through a session at the other. */
export async function completeOver(server, [mine, other]) {
  await server.connect(other);
  await mine.start();
  await complete(
    (message) => mine.send(message),
    (receive) => {
      mine.onmessage = receive;
    },
  );
}

/** `send` sends a message, and `onMessage` says who gets the answers. */
async function complete(send, onMessage) {
  const waiting = new Map();
  onMessage((message) => waiting.get(message.id)?.(message));
  const ask = (id, method, params) =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      send({ jsonrpc: "2.0", id, method, params });
    });
  const clientInfo = { name: "peer", version: "1.0.0" };
  await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  await send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const { result: listed } = await ask(2, "tools/list", {});
  assert.ok(listed.tools[0].inputSchema.properties.action.enum.includes("complete_phase"));
  const call = async (id, given) => {
    const { result } = await ask(id, "tools/call", { name: "pos_workflow", arguments: given });
    const [{ text }] = result.content;
    return JSON.parse(text.slice(text.indexOf("{")));
  };
  const { session_id } = await call(3, { action: "start", workflow_type: "release", target_file: "package.json" });
  const submit = { action: "complete_phase", session_id, phase: 1 };
  assert.equal((await call(4, { ...submit, evidence: { tests: "many" } })).code, "GATE_FAILED");
  assert.equal((await call(5, { ...submit, evidence: { tests: 12 } })).workflow_complete, true);
  const { result: read } = await ask(6, "resources/read", { uri: `phasegate://session/${session_id}` });
  assert.match(read.contents[0].text, /completed/);
  const { error } = await ask(7, "resources/read", { uri: "phasegate://session/nobody" });
  assert.match(error.message, /not found/);
}
