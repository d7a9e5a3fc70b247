import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createInspector } from "phasegate/inspector";
import { createRoutedEngine } from "phasegate/routed";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import type { LiveMessage } from "../../src/inspector/wire.js";
import type { ShownDetail } from "../../src/read/model.js";
import { failure } from "../support/failure.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { submitTo } from "../support/submit.js";
import { makeHouse, ORIGIN } from "./house.js";

const CHECKED = {
  "metadata.json": JSON.stringify({
    ...{ workflow_type: "checked", name: "Checked", description: "Two checks", version: "1.0.0" },
    phases: [{ phase_number: 1, phase_name: "One" }],
  }),
  "phases/1/phase.md": "# One\n",
  "phases/1/gate-definition.yaml": `evidence_schema:
  summary: {type: string, required: true, verify: {verifier: held}}
verify:
  - {verifier: quick}
`,
};

/** Engines whose checks a test holds, and a page's server over them. */
async function makeHeld() {
  let release = () => {};
  const isHeld = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const held: Verifier = {
    verify: async () => {
      begin();
      await isHeld;
      return { ok: true, message: "fine" };
    },
  };
  const verifiers = { held, quick: { verify: async () => ({ ok: true, message: "fine" }) } };
  const storage = new MemoryStorage();
  const content = new MemoryContent({ sources: { checked: CHECKED } });
  const engine = createEngine({ storage, content, verifiers });
  const workflows = gardenWith({ ...DEPTH_GATE, verify: [{ verifier: "held", params: {} }] });
  const routed = createRoutedEngine({ storage, workflows, verifiers, decider: new ScriptedDecider(["Sow"]) });
  const { get, inspector, send, pass } = await makeHouse({ engine, routed });
  return { engine, routed, get, inspector, send, pass, release: () => release(), begun };
}

describe("what happens without a commit", () => {
  it("is shown of a phased session: its checks while they run, and the commits that were answered again", async () => {
    const { engine, get, begun, release } = await makeHeld();
    const { sessionId } = await engine.start({ workflowType: "checked", target: "src/a.ts" });
    const detail = () => get<ShownDetail>(`sessions/${sessionId}`);
    expect(await detail()).not.toHaveProperty("verifying");
    const request = { phase: 1, evidence: { summary: "done" }, idempotencyKey: "once" };
    const submitting = submitTo(engine.session(sessionId), request);
    await begun;
    await expect.poll(async () => (await detail()).verifying).toEqual(["held (summary)"]);
    release();
    await submitting;
    expect(await detail()).not.toHaveProperty("verifying");
    expect(await detail()).not.toHaveProperty("replays");
    for (let count = 0; count < 2; count += 1) await submitTo(engine.session(sessionId), request);
    expect((await detail()).replays).toEqual({ 2: 2 });
  });

  it("is shown of a routed session, too", async () => {
    const { routed, get, begun, release } = await makeHeld();
    const { sessionId } = await routed.start({ workflow: "GARDEN", idempotencyKey: "start" });
    await routed.start({ workflow: "GARDEN", idempotencyKey: "start" });
    const report = { step_id: "Dig", status: "success", details: { depth: 2 } };
    const advancing = routed.session(sessionId).advance({ report });
    await begun;
    const detail = () => get<ShownDetail>(`sessions/${sessionId}`);
    expect(await detail()).toMatchObject({ verifying: ["held"], replays: { 1: 1 } });
    release();
    await advancing;
    expect(await detail()).not.toHaveProperty("verifying");
  });

  it("ends with a call that is cancelled", async () => {
    const { engine, get, begun, release } = await makeHeld();
    const { sessionId } = await engine.start({ workflowType: "checked", target: "src/a.ts" });
    const caller = new AbortController();
    const request = { phase: 1, evidence: { summary: "done" }, signal: caller.signal };
    const refused = failure(submitTo(engine.session(sessionId), request));
    await begun;
    caller.abort();
    expect(await refused).toMatchObject({ code: "CANCELLED" });
    // A check that does not stop at once says no more.
    release();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await get<ShownDetail>(`sessions/${sessionId}`)).not.toHaveProperty("verifying");
  });

  it("is told to pages whose people may see the session, and to no others", async () => {
    const { engine, begun, release } = await makeHeld();
    const login = {
      authenticate: async ({ headers }: Request) => ({ name: headers.get("authorization")?.slice(7) ?? "" }),
    };
    const inspector = createInspector({ engine, access: { login } });
    const messages = new Map<string, LiveMessage[]>();
    for (const name of ["amy", "ben"]) {
      const told: LiveMessage[] = [];
      messages.set(name, told);
      const response = await inspector.fetch(
        new Request(`${ORIGIN}/api/events`, { headers: { authorization: `Bearer ${name}` } }),
      );
      const read = async () => {
        for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
          for (const [, data = ""] of text.matchAll(/^data: (.*)$/gm)) told.push(JSON.parse(data));
      };
      read().catch((error: unknown) => expect(error).toBeUndefined());
    }
    const amy = engine.as({ name: "amy" });
    const { sessionId } = await amy.start({ workflowType: "checked", target: "src/a.ts" });
    await expect.poll(() => messages.get("amy")).toHaveLength(1);
    const submitting = amy.session(sessionId).completePhase(1, { summary: "done" });
    await begun;
    await expect.poll(() => messages.get("amy")).toHaveLength(2);
    expect(messages.get("amy")?.[1]).toMatchObject({ type: "session", session: { sessionId, status: "active" } });
    release();
    await submitting;
    await expect.poll(() => messages.get("amy")?.at(-1)).toMatchObject({ session: { status: "completed" } });
    expect(messages.get("ben")).toEqual([]);
    inspector.close();
  });

  it("is remembered of a bounded number of commits, the newest", async () => {
    const { engine, get } = await makeHeld();
    const { sessionId } = await engine.start({ workflowType: "checked", target: "src/a.ts" });
    for (let index = 0; index < 101; index += 1) {
      const pause = { idempotencyKey: `pause-${index}` };
      await engine.session(sessionId).pause(pause);
      await engine.session(sessionId).pause(pause);
      await engine.session(sessionId).resume({});
    }
    const { replays = {} } = await get<ShownDetail>(`sessions/${sessionId}`);
    expect(Object.keys(replays)).toHaveLength(100);
    expect(replays).not.toHaveProperty("2");
    expect(replays).toHaveProperty("202", 1);
  });
});
