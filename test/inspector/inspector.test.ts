import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createRoutedEngine } from "phasegate/routed";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it, vi } from "vitest";
import type { About, WorkflowDetail, WorkflowList, WorkflowView } from "../../src/inspector/wire.js";
import type {
  AttemptDetail,
  AttemptList,
  CommitList,
  Inbox,
  PhasedDetail,
  SessionDetail,
  StatisticsView,
  Times,
  Waiting,
} from "../../src/read/model.js";
import { askingFiles } from "../support/approvals.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { built, twoPhases } from "../support/workflows.js";
import { makeHouse, ORIGIN, TOKEN } from "./house.js";

const ASKING_GARDEN = gardenWith({ ...DEPTH_GATE, approval: { prompt: "Is it deep enough?" } });

class CountedStorage extends MemoryStorage {
  wholeLogs = 0;

  override log(...given: Parameters<MemoryStorage["log"]>) {
    if (given[1]?.limit === undefined) this.wholeLogs += 1;
    return super.log(...given);
  }
}

describe("a phased session", () => {
  it("shows its phases, attempts with what changed, and its log", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.session(sessionId).completeTask(1, 1, { note: "parsed" });
    await engine.session(sessionId).completePhase(1, { summary: "one\ntwo\n", tests_pass: false });
    await engine.session(sessionId).completePhase(1, { summary: "one\nthree\n", tests_pass: true });

    const detail = await get<SessionDetail>(`sessions/${sessionId}`);
    expect(detail).toMatchObject({ kind: "phased", workflowName: "Two phases" });
    expect(detail.kind === "phased" && detail.phases).toMatchObject([
      { number: 1, state: "done", attempts: 2 },
      { number: 2, state: "working", attempts: 0 },
    ]);
    const attempts = await get<AttemptList>(`sessions/${sessionId}/attempts`);
    expect(attempts.items.map(({ index, phase, status }) => [index, phase, status])).toEqual([
      [2, 2, "active"],
      [1, 1, "completed"],
      [0, 1, "failed"],
    ]);
    expect(await get<AttemptDetail>(`sessions/${sessionId}/attempts/1`)).toMatchObject({
      evidence: { tests_pass: true },
      differences: [
        { path: "summary", lines: [" one", "-two", "+three"] },
        { path: "tests_pass", before: "false", after: "true" },
      ],
    });
    const log = await get<CommitList>(`sessions/${sessionId}/commits`);
    expect(log.items.map(({ version, events }) => [version, events[0]])).toEqual([
      [4, "Passed the gate of 1 Build"],
      [3, "Refused at 1 Build"],
      [2, "Completed task 1 'write the code'"],
      [1, "Started on src/a.ts"],
    ]);
    expect(await get(`sessions/${sessionId}/audit`)).toMatchObject({ intact: true });
    await expect(get(`sessions/${sessionId}/attempts/9`)).rejects.toThrow("404");
  });

  it("is shown from one reading of its log", async () => {
    const storage = new CountedStorage();
    const { engine, get } = await makeHouse({}, storage);
    const working = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.session(working.sessionId).completePhase(1, built);
    const asking = await engine.start({ workflowType: "asking", target: "src/b.ts" });
    await engine.session(asking.sessionId).completePhase(1, { tests_pass: true });
    for (const { sessionId } of [working, asking]) {
      storage.wholeLogs = 0;
      await get(`sessions/${sessionId}`);
      expect(storage.wholeLogs).toBe(1);
    }
  });

  it("that does not exist is not found", async () => {
    const { get } = await makeHouse();
    await expect(get("sessions/two_phases_a_20260101_000000")).rejects.toThrow("404");
    await expect(get("sessions/..%2F..%2Fetc")).rejects.toThrow("400");
  });
});

describe("a routed session", () => {
  it("shows the way it went over the graph", async () => {
    const { routed, get } = await makeHouse();
    const { sessionId } = await routed.start({ workflow: "GARDEN" });
    await routed.session(sessionId).advance({ report: { status: "success", details: { depth: 20 } } });
    const detail = await get<SessionDetail>(`sessions/${sessionId}`);
    expect(detail).toMatchObject({
      kind: "routed",
      entries: [{ stepName: "Dig", determinedNextStep: "Sow" }],
      drawing: {
        nodes: [{ id: "Dig", state: "done" }, { id: "Sow", state: "current" }, { id: "*" }],
        edges: [
          { from: "Dig", to: "Sow", taken: 1 },
          { from: "Sow", to: "*" },
        ],
      },
    });
  });
});

describe("the inbox", () => {
  it("has what waits, and takes answers to exactly that", async () => {
    const { engine, get, post } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    const [waiting] = (await get<Inbox>("inbox")).items;
    expect(waiting).toMatchObject({
      what: "approval",
      sessionId,
      question: "Is the plan good enough to build?",
      target: "src/a.ts",
      phaseName: "Phase 1",
      approvers: ["ann", "bob"],
    });
    const whole = await get<Waiting>(`sessions/${sessionId}/waiting`);
    expect(whole).toMatchObject({ ...waiting, evidence: { tests_pass: true }, unchecked: ["tests_pass"] });
    const { request, evidenceHash } = whole;
    const said = { what: "approval", by: "ann", request, evidenceHash };
    const other = await post(`sessions/${sessionId}/answer`, {
      ...said,
      decision: "approve",
      evidenceHash: "0".repeat(64),
    });
    expect(other.status).toBe(403);
    const silent = await post(`sessions/${sessionId}/answer`, { ...said, decision: "deny" });
    expect([silent.status, await silent.json()]).toMatchObject([400, { error: { code: "INVALID_INPUT" } }]);
    const denied = await post(`sessions/${sessionId}/answer`, { ...said, decision: "deny", note: "add the tests" });
    expect(await denied.json()).toEqual({ status: "refused" });
    expect((await get<Inbox>("inbox")).items).toEqual([]);
    await expect(get(`sessions/${sessionId}/waiting`)).rejects.toThrow("404");

    await engine.session(sessionId).completePhase(1, { tests_pass: true, more: 1 });
    const again = await get<Waiting>(`sessions/${sessionId}/waiting`);
    expect(again).toMatchObject({
      differences: [{ path: "more", after: "1" }],
      before: { problems: [{ problem: "denied" }], notes: [{ note: "add the tests" }] },
    });
    const approval = { ...said, decision: "approve", request: again.request, evidenceHash: again.evidenceHash };
    expect(await (await post(`sessions/${sessionId}/answer`, approval)).json()).toEqual({ status: "passed" });
    expect((await engine.session(sessionId).state()).currentPhase).toBe(2);
  });

  it("has requests for waivers, which can be granted", async () => {
    const { engine, get, post } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    expect((await get<Inbox>("inbox")).items).toMatchObject([{ what: "waiver", question: "no runner here" }]);
    const waiting = await get<Waiting>(`sessions/${sessionId}/waiting`);
    expect(waiting).toMatchObject({
      what: "waiver",
      question: "no runner here",
      fields: [{ name: "tests_pass", text: expect.stringContaining("all of them") }],
    });
    const said = { what: "waiver", decision: "approve", by: "ann", request: waiting.request };
    expect(await (await post(`sessions/${sessionId}/answer`, said)).json()).toEqual({ status: "granted" });
    expect((await get<Inbox>("inbox")).items).toEqual([]);
  });

  it("refuses an answer to a request that was answered, even if the next one is about the same evidence", async () => {
    const { engine, get, post } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    const first = await get<Waiting>(`sessions/${sessionId}/waiting`);
    const approve = ({ request, evidenceHash }: Waiting) =>
      post(`sessions/${sessionId}/answer`, { what: "approval", decision: "approve", by: "ann", request, evidenceHash });
    expect((await approve(first)).status).toBe(200);
    await engine.session(sessionId).completePhase(2, { tests_pass: true });
    const second = await get<Waiting>(`sessions/${sessionId}/waiting`);
    expect([second.evidenceHash, second.phase]).toEqual([first.evidenceHash, 2]);
    expect((await approve(first)).status).toBe(409);
    expect((await engine.session(sessionId).state()).currentPhase).toBe(2);
    expect((await approve(second)).status).toBe(200);
  });

  it("takes no answer without a signature, unless the host says that these count", async () => {
    const { engine, get, post } = await makeHouse({ unsigned: false });
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    const { request } = await get<Waiting>(`sessions/${sessionId}/waiting`);
    const said = { what: "waiver", decision: "approve", by: "ann", request };
    const refused = await post(`sessions/${sessionId}/answer`, said);
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "NOT_ALLOWED" } }]);
    expect((await engine.session(sessionId).state()).waitsForWaiver).toBe(true);
  });

  it("shows who asks what without the evidence, however large that is, and is read once for many pages", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true, log: "x".repeat(1_000_000) });
    const list = vi.spyOn(engine, "listSessions");
    const all = await Promise.all(Array.from({ length: 50 }, () => get<Inbox>("inbox")));
    expect(list.mock.calls.length).toBeLessThanOrEqual(2);
    for (const inbox of all) expect(JSON.stringify(inbox).length).toBeLessThan(2000);
    expect((await get<Waiting>(`sessions/${sessionId}/waiting`)).evidence?.log).toHaveLength(1_000_000);
    // What comes later is in what is read later.
    const before = get<Inbox>("inbox");
    const { sessionId: other } = await engine.start({ workflowType: "asking", target: "src/b.ts" });
    await engine.session(other).completePhase(1, { tests_pass: true });
    const after = get<Inbox>("inbox");
    expect((await after).items).toHaveLength(2);
    await before;
    list.mockRejectedValueOnce(new Error("the disk has gone"));
    await expect(get("inbox")).rejects.toThrow("500");
    expect((await get<Inbox>("inbox")).items).toHaveLength(2);
  });
});

describe("a link in a notification", () => {
  it("leads to the request on the page, for phased and routed sessions", async () => {
    const { send, storage } = await makeHouse({ basePath: "/tools" });
    const content = new MemoryContent({ sources: { asking: askingFiles } });
    const inspectorUrl = `${ORIGIN}/tools/`;
    const engine = createEngine({ storage, content, inspectorUrl });
    const decider = new ScriptedDecider([]);
    const routed = createRoutedEngine({ storage, workflows: ASKING_GARDEN, decider, inspectorUrl });
    const links: (string | undefined)[] = [];
    engine.on("approvalRequested", ({ link }) => links.push(link));
    engine.on("waiverRequested", ({ link }) => links.push(link));
    routed.on("approvalRequested", ({ link }) => links.push(link));
    const [one, other] = [
      await engine.start({ workflowType: "asking", target: "src/a.ts" }),
      await engine.start({ workflowType: "asking", target: "src/b.ts" }),
    ];
    await engine.session(one.sessionId).completePhase(1, { tests_pass: true });
    await engine.session(other.sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    const { sessionId } = await routed.start({ workflow: "GARDEN" });
    await routed.session(sessionId).advance({ report: { status: "success", details: { depth: 20 } } });
    const requests = [
      [one.sessionId, (await engine.session(one.sessionId).approval())?.request],
      [other.sessionId, (await engine.session(other.sessionId).waiver())?.request],
      [sessionId, (await routed.session(sessionId).state()).awaiting?.request],
    ];
    expect(links).toEqual(requests.map(([id, request]) => `${ORIGIN}/tools/sessions/${id}?answer=${request}`));
    for (const link of links) {
      const page = await send(String(link).slice(ORIGIN.length + 1));
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    }
  });

  it("is missing without the page's address, which is one of a page", async () => {
    const { engine, storage } = await makeHouse();
    const told: object[] = [];
    engine.on("approvalRequested", (payload) => told.push(payload));
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    expect(told).toHaveLength(1);
    expect(told[0]).not.toHaveProperty("link");
    const content = new MemoryContent({});
    for (const inspectorUrl of ["", "tools", "javascript:alert(1)", `${ORIGIN}/#token=${TOKEN}`, "http://ann:pw@x/"]) {
      expect(() => createEngine({ storage, content, inspectorUrl })).toThrow(
        "inspectorUrl is not the address of a page",
      );
    }
  });
});

describe("workflows", () => {
  it("are listed, and shown with their gates and graphs", async () => {
    const { get } = await makeHouse();
    const { items } = await get<WorkflowList>("workflows");
    expect(items.map(({ type, status }) => [type, status])).toEqual([
      ["asking", "ready"],
      ["two_phases", "ready"],
      ["GARDEN", "ready"],
    ]);
    const asking = await get<WorkflowDetail>("workflows/asking");
    expect(asking.phases[0]?.gate).toEqual([
      {
        ...{ what: "field", name: "tests_pass", type: "boolean", required: true, description: "all of them" },
        ...{ rules: [], checks: [] },
      },
      { what: "approval", approval: { prompt: "Is the plan good enough to build?", approvers: ["ann", "bob"] } },
    ]);
    expect(asking.mermaid).toContain("flowchart TD");
    await expect(get("workflows/none")).rejects.toThrow("404");
  });

  it("have the rules and checks of a field with it, and the workflow that a phase is", async () => {
    const names = ["Check", "Review", "Ship"];
    const checked = {
      "metadata.json": JSON.stringify({
        ...{ workflow_type: "checked", name: "Checked", description: "Checks", version: "1.0.0" },
        phases: names.map((phase_name, index) => ({ phase_number: index + 1, phase_name })),
      }),
      ...Object.fromEntries(names.map((name, index) => [`phases/${index + 1}/phase.md`, `# ${name}\n`])),
      "phases/1/gate-definition.yaml": `evidence_schema:
  count: {type: integer, required: true, validator: "value > 2"}
  pages: {type: list, required: true, verify: {verifier: file_exists}}
cross_field_validation:
  - {rule: "evidence.count < 10", error_message: "no more than nine"}
verify:
  - {verifier: git_clean, description: "nothing is left over"}
`,
      "phases/2/gate-definition.yaml": "workflow: asking\nfor_each: artifacts.check.pages\ntarget: {rule: item}\n",
    };
    const content = new MemoryContent({ sources: { checked, asking: askingFiles } });
    const { get } = await makeHouse({ engine: createEngine({ storage: new MemoryStorage(), content }) });
    const found = await get<WorkflowDetail>("workflows/checked");
    expect(found.phases.map(({ gate }) => gate)).toMatchObject([
      [
        { what: "field", name: "count", rules: [{ source: "value > 2" }], checks: [] },
        { what: "field", name: "pages", rules: [], checks: [{ verifier: "file_exists" }] },
        { what: "rule", rule: { message: "no more than nine" } },
        { what: "check", check: { verifier: "git_clean", description: "nothing is left over" } },
      ],
      [{ what: "workflow", child: { type: "asking", for_each: "artifacts.check.pages" } }],
      [{ what: "open" }],
    ]);
  });

  it("that have changed say how many open sessions are on an older revision, and so do these", async () => {
    const storage = new MemoryStorage();
    const revisions = ["1", "2"].map((revision) =>
      defineWorkflow({
        ...{ type: "flow", revision, name: "Flow", description: "Changes", target: "none" },
        phases: [{ number: 1, name: "Only", content: "# Only" }],
      }),
    );
    const on = (count: number) =>
      createEngine({ storage, content: new MemoryContent({ workflows: revisions.slice(0, count) }) });
    const old = on(1);
    const [open, done] = [await old.start({ workflowType: "flow" }), await old.start({ workflowType: "flow" })];
    await old.session(done.sessionId).completePhase(1, {});
    const before = await makeHouse({ engine: old }, storage);
    expect((await before.get<WorkflowDetail>("workflows/flow")).older).toEqual({ count: 0 });
    const { get } = await makeHouse({ engine: on(2) }, storage);
    expect((await get<WorkflowDetail>("workflows/flow")).older).toEqual({ count: 1 });
    const noticesOf = async (id: string) => {
      const detail = await get<SessionDetail>(`sessions/${id}`);
      return detail.kind === "phased" ? detail.notices.join() : detail.kind;
    };
    expect(await noticesOf(open.sessionId)).toContain("phasegate migrate");
    expect(await noticesOf(done.sessionId)).toBe("");
  });

  it("that are broken have a page, too, with what is wrong", async () => {
    const content = new MemoryContent({ sources: { bad: { "metadata.json": "{" } } });
    const { get } = await makeHouse({ engine: createEngine({ storage: new MemoryStorage(), content }) });
    expect(await get<WorkflowView>("workflows/bad")).toMatchObject({
      status: "broken",
      diagnostics: [{ severity: "error", place: expect.stringContaining("metadata.json") }],
    });
  });
});

describe("statistics", () => {
  it("count sessions by day, and time by phase", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, built);
    expect(await get<StatisticsView>("statistics")).toMatchObject({
      workflows: [{ workflowType: "two_phases", phases: [{ phase: 1, completed: 1 }, { phase: 2 }] }],
      ...{ counted: 1, days: [{ started: 1, completed: 0 }], completedLately: 0, needsYou: 0 },
    });
    await engine.session(sessionId).completePhase(2, {});
    const found = await get<StatisticsView>("statistics?workflow=two_phases");
    expect(found).toMatchObject({ days: [{ completed: 1 }], completedLately: 1, medianSeconds: expect.any(Number) });
    expect(await get<StatisticsView>("statistics?workflow=none")).toMatchObject({
      ...{ workflows: [], counted: 0, days: [], completedLately: 0 },
    });
  });

  it("say how long sessions take from start to end, which ended in the last week, and which wait for a person", async () => {
    const clock = new FakeClock();
    const content = new MemoryContent({ workflows: [twoPhases], sources: { asking: askingFiles } });
    const engine = createEngine({ storage: new MemoryStorage(), content, clock, allowUnsignedApprovals: true });
    const { get } = await makeHouse({ engine, clock });
    const finish = async (seconds: number) => {
      const { sessionId } = await engine.start({ workflowType: "two_phases", target: `src/${seconds}.ts` });
      await engine.session(sessionId).completePhase(1, built);
      clock.advance(seconds * 1000);
      await engine.session(sessionId).completePhase(2, {});
    };
    for (const seconds of [60, 240, 7 * 86_400, 120]) await finish(seconds);
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/b.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    expect(await get<StatisticsView>("statistics")).toMatchObject({
      ...{ counted: 5, completedLately: 2, medianSeconds: 120, needsYou: 1 },
    });
  });
});

describe("actions of the host", () => {
  it("are off unless the host allows them", async () => {
    const { engine, get, post } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const refused = await post(`sessions/${sessionId}/action`, { action: "delete", by: "ann", note: "old" });
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "NOT_ALLOWED" } }]);
    expect((await get<About>("about")).actions).toEqual([]);
  });

  it("are for the phase that the person has seen", async () => {
    const { engine, post } = await makeHouse({ actions: ["skip", "override", "retry"] });
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const act = async (action: string, more: object) =>
      (await post(`sessions/${sessionId}/action`, { action, by: "ann", note: "late", ...more })).status;
    // The agent passes the gate while the person confirms.
    await engine.session(sessionId).completePhase(1, built);
    for (const action of ["skip", "override", "retry"]) {
      expect(await act(action, { phase: 1 })).toBe(409);
      expect(await act(action, {})).toBe(400);
    }
    expect(await engine.session(sessionId).state()).toMatchObject({ currentPhase: 2, status: "active" });
  });

  it("are recorded with who did them, and why", async () => {
    const actions = ["pause", "resume", "skip", "override", "delete"] as const;
    const { engine, get, post } = await makeHouse({ actions });
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const done = async (action: string, more = {}) =>
      (await post(`sessions/${sessionId}/action`, { action, by: "ann", note: "lunch", ...more })).json();
    expect(await done("pause")).toEqual({ status: "paused" });
    expect(await done("resume")).toEqual({ status: "active" });
    expect(await done("override", { phase: 2 })).toMatchObject({ error: { code: "PHASE_LOCKED" } });
    expect(await done("skip", { phase: 1 })).toEqual({ status: "active" });
    expect(await done("retry", { phase: 1 })).toMatchObject({ error: { code: "NOT_ALLOWED" } });
    expect(await done("pause", { note: " " })).toMatchObject({ error: { code: "INVALID_INPUT" } });
    const { items } = await get<CommitList>(`sessions/${sessionId}/commits`);
    expect(items.filter(({ note }) => note === "lunch")).toMatchObject([
      { events: expect.arrayContaining(["Skipped 1 Build by ann", "Entered 2 Ship"]) },
      { events: ["Resumed by ann"] },
      { events: ["Paused by ann"] },
    ]);
    const paused = await done("pause");
    expect(paused).toEqual({ status: "paused" });
    const { why } = await get<PhasedDetail>(`sessions/${sessionId}`);
    expect(why).toEqual({ standing: "paused", at: "2 Ship", by: "ann", reason: "lunch" });
    expect((await get<Times>(`sessions/${sessionId}/times`)).waits).toEqual([
      { for: "paused", from: expect.any(String), to: expect.any(String) },
      { for: "paused", from: expect.any(String) },
    ]);
    expect(await done("delete")).toEqual({ status: "deleted" });
  });
});
