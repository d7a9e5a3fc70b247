/** Goes through a session by messages of the protocol, so that no client of an SDK is needed. */
import assert from "node:assert/strict";

/** `send` sends a message, and `onMessage` says who gets the answers. */
export async function complete(send, onMessage) {
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
    return result.structuredContent;
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
