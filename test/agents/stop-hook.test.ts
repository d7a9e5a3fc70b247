import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { stopHook } from "phasegate/agents";
import { FaultyStorage } from "phasegate/testing";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

/** An engine with a session, and the end of an agent whose conversation names it. */
async function atTheEnd() {
  const { engine } = makeEngine();
  const sessionId = await startTwoPhases(engine);
  const transcript_path = join(await temporaryFolder(), "conversation.jsonl");
  await writeFile(transcript_path, `{"text":"worked on ${sessionId}"}\n`);
  const end = { hook_event_name: "Stop", stop_hook_active: false, session_id: "one", transcript_path };
  return { engine, sessionId, end };
}

it("blocks the end of an agent once, and again after something was done", async () => {
  const { engine, sessionId, end } = await atTheEnd();
  const hook = stopHook(engine, { tool: "mcp__work__pos_workflow" });
  expect(await hook(end)).toEqual({
    decision: "block",
    reason: expect.stringContaining(
      `of the tool mcp__work__pos_workflow is {"action":"get_phase","session_id":"${sessionId}"}`,
    ),
  });
  expect(await hook(end)).toEqual({});
  // Another conversation is told, too.
  expect(await hook({ ...end, session_id: "two" })).toMatchObject({ decision: "block" });
  await engine.session(sessionId).completePhase(1, built);
  expect(await hook(end)).toMatchObject({ decision: "block" });
  await engine.session(sessionId).completePhase(2, {});
  expect(await hook(end)).toEqual({});
});

it("keeps the reminders of the newest conversations, and not of all there ever were", async () => {
  const { engine, end } = await atTheEnd();
  const hook = stopHook(engine);
  for (let number = 1; number <= 1001; number += 1)
    expect(await hook({ ...end, session_id: `${number}` })).toMatchObject({ decision: "block" });
  expect(await hook({ ...end, session_id: "1001" })).toEqual({});
  expect(await hook({ ...end, session_id: "1" })).toMatchObject({ decision: "block" });
});

it.each([{ stop_hook_active: true }, { hook_event_name: "SubagentStop" }])(
  "lets go if it is sent %j",
  async (change) => {
    const { engine, end } = await atTheEnd();
    const hook = stopHook(engine);
    expect(await hook({ ...end, ...change })).toEqual({});
    expect(await hook(end)).toMatchObject({ decision: "block" });
  },
);

it("lets an agent end whose conversation names no session", async () => {
  const { engine, end } = await atTheEnd();
  await writeFile(end.transcript_path, "a conversation about other things");
  expect(await stopHook(engine)(end)).toEqual({});
});

it("lets the agent end if the storage fails, and tells the host", async () => {
  const storage = new FaultyStorage(new MemoryStorage());
  const { engine } = makeEngine({ storage });
  storage.inject({ method: "list", fault: "fail" });
  const errors: unknown[] = [];
  const hook = stopHook(engine, { onError: (error) => errors.push(error) });
  expect(await hook({ hook_event_name: "Stop" })).toEqual({});
  expect(errors).toMatchObject([{ code: "STORAGE_FAILED" }]);
});

it("says which option is wrong", () => {
  // @ts-expect-error a name, not a tool
  expect(() => stopHook(makeEngine().engine, { tool: {} })).toThrow("stopHook");
});
