import { defineWorkflow, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type {
  AttemptDetail,
  Findings,
  PhasedDetail,
  SessionDetail,
  SessionList,
  StatisticsView,
  Waiting,
} from "../../src/read/model.js";
import { makeEngine } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";
import { built } from "../support/workflows.js";
import { makeHouse } from "./house.js";

/** A storage in which one commit is not what was written. */
class DamagedStorage extends MemoryStorage {
  broken: { readonly sessionId: string; readonly version: number } | undefined;

  override async *log(...given: Parameters<MemoryStorage["log"]>) {
    for await (const commit of super.log(...given)) {
      const { sessionId, version } = this.broken ?? {};
      const isDamaged = commit.sessionId === sessionId && commit.version === version;
      yield isDamaged ? { ...commit, body: commit.body.replace("added", "faked") } : commit;
    }
  }
}

/** A house with a session of two commits, and one that nobody touches. */
async function withDamage(version: number) {
  const storage = new DamagedStorage();
  const house = await makeHouse({}, storage);
  const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/added.ts" });
  await house.engine.session(sessionId).completePhase(1, built);
  await house.engine.session(sessionId).pause({});
  const other = await house.engine.start({ workflowType: "two_phases", target: "src/b.ts" });
  storage.broken = { sessionId, version };
  // Another process, which has read nothing before the damage.
  return { ...(await makeHouse({}, storage)), sessionId, other: other.sessionId };
}

describe("a session whose log is damaged", () => {
  it.each([1, 2])("in commit %i says so, and its audit tells where", async (version) => {
    const { get, sessionId, post } = await withDamage(version);
    const detail = await get<SessionDetail>(`sessions/${sessionId}`);
    expect(detail).toEqual({ kind: "broken", sessionId, code: "TAMPERED", message: expect.any(String) });
    const audit = await get<Findings>(`sessions/${sessionId}/audit`);
    expect(audit).toMatchObject({ intact: false, versions: version - 1, reason: expect.any(String) });
    const action = { action: "pause", by: "ann", note: "to look at it", phase: 2 };
    expect((await post(`sessions/${sessionId}/action`, action)).status).toBeGreaterThanOrEqual(400);
  });

  it("hides no other session, and is named by the statistics that leave it out", async () => {
    const { get, sessionId, other } = await withDamage(1);
    expect((await get<SessionList>("sessions")).items.map((item) => item.sessionId)).toContain(other);
    const { broken, workflows } = await get<StatisticsView>("statistics");
    expect(broken).toMatchObject([{ sessionId, code: "TAMPERED" }]);
    expect(workflows).toMatchObject([{ workflowType: "two_phases", sessions: { active: 1, paused: 0 } }]);
  });
});

describe("the tasks of a phase", () => {
  it("are shown as they were noted, also after it has passed", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const tasks = async () =>
      (await get<PhasedDetail>(`sessions/${sessionId}`)).phases[0]?.tasks.map(({ state }) => state);
    expect(await tasks()).toEqual(["open", "open"]);
    await engine.session(sessionId).completeTask(1, 2, { outcome: "given_up", note: "there is no runner" });
    expect(await tasks()).toEqual(["open", "given_up"]);
    await engine.session(sessionId).completePhase(1, built);
    expect(await tasks()).toEqual(["open", "given_up"]);
    await engine.session(sessionId).rollback(1);
    expect(await tasks()).toEqual(["open", "open"]);
    await engine.session(sessionId).completeTask(1, 1);
    await engine.session(sessionId).completePhase(1, built);
    expect(await tasks()).toEqual(["done", "open"]);
  });
});

describe("the tasks of a phase of a plan", () => {
  it("are done as the evidence has claimed them; one may be waived, an optional one that is given up is left out", async () => {
    const plan = "# Implementation Plan\n\n- [ ] 1. First\n\n- [ ]* 2. Second\n\n- [ ]* 3. Third\n\n- [ ] 4. Fourth\n";
    const { engine, start } = makePlanned({
      ...{ plan, config: { parser: "kiro" } },
      engine: { allowUnsignedApprovals: true },
    });
    const { get } = await makeHouse({ engine });
    const id = await start(1);
    const phase = (await engine.session(id).state()).currentPhase;
    const states = async () =>
      (await get<PhasedDetail>(`sessions/${id}`)).phases
        .find(({ number }) => number === phase)
        ?.tasks.map(({ name, state }) => `${name} ${state}`);
    await engine.session(id).completeTask(phase, 1);
    await engine.session(id).completeTask(phase, 3, { outcome: "given_up", note: "it is not worth it" });
    await engine.session(id).completePhase(phase, { tasks_completed: ["1"] });
    const asked = { phase, fields: ["tasks_completed.4"], reason: "there is no tool" };
    const { request } = await engine.session(id).requestWaiver(asked.phase, asked);
    expect(await states()).toEqual(["First done", "Second open", "Third skipped", "Fourth open"]);
    await engine.session(id).waive({ by: "ann", request });
    expect(await states()).toEqual(["First done", "Second open", "Third skipped", "Fourth waived"]);
    await engine.session(id).completePhase(phase, { tasks_completed: ["1"] });
    expect(await states()).toEqual(["First done", "Second open", "Third skipped", "Fourth waived"]);
  });
});

describe("an attempt that has passed", () => {
  const trimming = defineWorkflow({
    type: "trimming",
    revision: "1",
    name: "Trimming",
    description: "Its gate changes what is handed on",
    phases: [
      { number: 1, name: "Write", content: "# Write\n", gate: { evidence: z.object({ text: z.string().trim() }) } },
      { number: 2, name: "Read", content: "# Read\n" },
    ],
  });

  it("has the artifact for later phases, where the gate's schema has changed the evidence", async () => {
    const { engine } = makeEngine({}, [trimming]);
    const { get } = await makeHouse({ engine });
    const { sessionId } = await engine.start({ workflowType: "trimming", target: "a.md" });
    await engine.session(sessionId).completePhase(1, { text: "  word " });
    const attempt = () => get<AttemptDetail>(`sessions/${sessionId}/attempts/0`);
    expect(await attempt()).toMatchObject({ evidence: { text: "  word " }, artifact: { text: "word" } });
    await engine.session(sessionId).rollback(1);
    expect(await attempt()).not.toHaveProperty("artifact");
    await engine.session(sessionId).completePhase(1, { text: "word" });
    const last = await get<AttemptDetail>(`sessions/${sessionId}/attempts/2`);
    expect(last).toMatchObject({ evidence: { text: "word" } });
    expect(last).not.toHaveProperty("artifact");
  });
});

describe("a request for a waiver", () => {
  it("shows what was submitted last, and what was wrong with it", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: false });
    await engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    expect(await get<Waiting>(`sessions/${sessionId}/waiting`)).toMatchObject({
      what: "waiver",
      evidence: { tests_pass: false },
      before: { problems: [{ field: "tests_pass" }] },
    });
  });
});

describe("what the workflow lets the host do", () => {
  it("is told of the current phase", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const may = async () => (await get<PhasedDetail>(`sessions/${sessionId}`)).may;
    expect(await may()).toEqual({ skip: true, override: true });
    await engine.session(sessionId).completePhase(1, built);
    expect(await may()).toEqual({ skip: false, override: false });
  });
});
