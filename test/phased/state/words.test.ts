import { describe, expect, it } from "vitest";
import {
  allowedCommands,
  asOfNow,
  isWaiverOpen,
  otherIsVerified,
  REQUESTS_MAX,
  readingRefusal,
  rollbackTargets,
  type SessionCommand,
  submissionRefusal,
} from "../../../src/phased/state/commands.js";
import { PLAN_CHANGE_KINDS, sessionEventSchema } from "../../../src/phased/state/events.js";
import { sessionHeadSchema } from "../../../src/phased/state/head.js";
import { transition } from "../../../src/phased/state/transition.js";
import type { GateDefinition } from "../../../src/workflow/structure.js";
import { aProblem, asking, phaseOf, Run, structureOf, submit, waiver, waiverWord, word } from "./run.js";

const asks: GateDefinition = {
  ...{ kind: "fields", strict: true, allowOverride: true, source: "gate-file" },
  fields: [{ name: "tests", type: "boolean", required: true }],
};
const task = { number: 1, name: "dig" } as never;
const plain = structureOf([1, 2, 3]);
const pause: SessionCommand = { type: "pause" };
const last = (run: Run) => run.log.at(-1)?.event;

describe("what an operator or an agent says", () => {
  const words = { operator: "ops", note: "lunch" };

  it("is part of the event", () => {
    const run = Run.started(plain);
    expect(last(run.do({ ...pause, ...words }))).toEqual({ type: "paused", ...words });
    expect(last(run.do({ type: "resume", ...words }))).toEqual({ type: "resumed", pausedSeconds: 1, ...words });
    run.do(submit(1, false));
    const retry = { phase: 1, resetEvidence: true, by: "host" } as const;
    expect(last(run.do({ type: "retryPhase", ...retry, ...words }))).toEqual({
      type: "retried",
      ...retry,
      ...words,
    });
    expect(last(run.do({ type: "delete", reason: "done", operator: "ops" }))).toEqual({
      ...{ type: "deleted", reason: "done", operator: "ops" },
    });
    expect(last(Run.started(plain).do(pause))).toEqual({ type: "paused" });
    expect(last(Run.started(plain).do({ type: "delete" }))).toEqual({ type: "deleted" });
  });

  const failed = () => Run.started(structureOf([phaseOf(1, { gate: asks, skippable: true, tasks: [task] }), 2]));
  const asked = () => failed().do(waiver(1));
  const waiting = () => Run.started(structureOf([phaseOf(1, { gate: asking() }), 2])).do(submit(1));
  const by = { phase: 1, by: "ann", reason: "seen" };
  const limits: readonly [string, string, number, () => Run, (text: string, run: Run) => SessionCommand][] = [
    ["a pause", "note", 2000, failed, (note) => ({ ...pause, note })],
    ["a pause", "by", 200, failed, (operator) => ({ ...pause, operator })],
    ["a deletion", "note", 2000, failed, (reason) => ({ type: "delete", reason })],
    ["a deletion", "by", 200, failed, (operator) => ({ type: "delete", operator })],
    ["an override", "by", 200, failed, (name) => ({ type: "overrideGate", ...by, by: name })],
    ["an override", "note", 2000, failed, (reason) => ({ type: "overrideGate", ...by, reason })],
    ["a skip", "by", 200, failed, (name) => ({ type: "skipPhase", ...by, by: name })],
    ["a task", "note", 2000, failed, (note) => ({ type: "completeTask", phase: 1, task: 1, note })],
    ["a waiver", "reason", 2000, failed, (reason) => waiver(1, ["tests"], reason)],
    ["a grant", "note", 2000, asked, (note, run) => waiverWord(run, "waive", { note })],
    ["an approval", "note", 2000, waiting, (note, run) => ({ ...word(run, "approve"), note }) as SessionCommand],
  ];
  it("is an empty text where a denial has none", () => {
    const denied = waiting();
    denied.do({ ...word(denied, "deny"), note: undefined } as SessionCommand);
    expect(denied.log.map(({ event }) => event)).toContainEqual(expect.objectContaining({ type: "denied", note: "" }));
    const run = asked();
    expect(last(run.do(waiverWord(run, "denyWaiver", { note: undefined })))).toMatchObject({ note: "" });
  });

  it.each(limits)("%s has a %s of at most %i characters", (_, field, limit, make, command) => {
    const run = make();
    expect(run.refused(command("x".repeat(limit + 1), run))).toMatchObject({
      ...{ code: "INVALID_INPUT", details: { field, expected: `at most ${limit} characters` } },
    });
    run.do(command("x".repeat(limit), run));
  });
});

describe("a session that becomes active", () => {
  const full = (run: Run, command: SessionCommand) =>
    transition(
      run.head,
      { command, structure: run.structure, limits: run.limits, full: 5 },
      { at: "2026-01-02T00:00:00.000Z", version: 9 },
    );

  it("is refused if as many are active as the host allows", () => {
    const paused = Run.started(plain).do(pause);
    const refused = full(paused, { type: "resume" });
    expect(refused).toMatchObject({ ok: false, error: { code: "SESSION_LIMIT", details: { limit: 5 } } });
    expect(full(Run.started(plain), submit(1))).toMatchObject({ ok: true });
    expect(full(paused, { type: "delete" })).toMatchObject({ ok: true });
    expect(full(Run.started(plain), pause)).toMatchObject({ ok: true });
    const started = transition(
      undefined,
      { command: { type: "start", target: "a", options: {} }, structure: plain, limits: paused.limits, full: 5 },
      { at: "2026-01-02T00:00:00.000Z", version: 1 },
    );
    expect(started).toMatchObject({ ok: true });
  });
});

describe("a refused step", () => {
  it("is noted in the visit to its phase", () => {
    const run = Run.started(plain);
    const refused = { phase: 1, operation: "getPhase", code: "PHASE_LOCKED", requested: 3 };
    run.do({ type: "refuseStep", refused });
    expect(last(run)).toEqual({ type: "step_refused", ...refused });
    run.do({ type: "refuseStep", refused: { ...refused, requested: 2 } });
    expect(run.state.refused).toEqual(["getPhase 3", "getPhase 2"]);
    expect(run.do(submit(1)).state.refused).toBeUndefined();
  });
});

describe("a task", () => {
  const withTasks = () => Run.started(structureOf([phaseOf(1, { tasks: [task] }), 2]));
  const complete = (parts = {}): SessionCommand => ({ type: "completeTask", phase: 1, task: 1, ...parts });

  it("is done or given up, with a note", () => {
    const run = withTasks();
    expect(last(run.do(complete()))).toEqual({ type: "task_completed", phase: 1, task: 1 });
    expect(last(run.do(complete({ outcome: "done", note: "a.ts" })))).toEqual({
      ...{ type: "task_completed", phase: 1, task: 1, note: "a.ts" },
    });
    expect(last(run.do(complete({ outcome: "given_up", note: "no camera" })))).toEqual({
      ...{ type: "task_given_up", phase: 1, task: 1, note: "no camera" },
    });
    expect(run.state.tasks).toEqual({ done: [], givenUp: [[1, 1]], last: { task: 1, note: "no camera" } });
  });

  it("is not given up without a reason", () => {
    for (const note of [undefined, "", " "]) {
      expect(
        withTasks().refused(complete({ outcome: "given_up", ...(note === undefined ? {} : { note }) })),
      ).toMatchObject({
        ...{ code: "INVALID_INPUT", details: { field: "note", expected: "why it can't be done" } },
      });
    }
  });

  it("is one of the current phase of an active session", () => {
    expect(withTasks().refused(complete({ task: 2 }))).toMatchObject({
      ...{ code: "TASK_NOT_FOUND", details: { phase: 1, task: 2, valid: [1] } },
    });
    expect(withTasks().refused(complete({ phase: 9 })).code).toBe("PHASE_OUT_OF_RANGE");
    expect(withTasks().refused(complete({ phase: 2 })).code).toBe("PHASE_LOCKED");
    expect(withTasks().do(pause).refused(complete())).toMatchObject({
      ...{ code: "INVALID_TRANSITION", details: { command: "completeTask", status: "paused" } },
    });
    expect(
      withTasks()
        .do(pause)
        .refused(complete({ phase: 9 })).code,
    ).toBe("PHASE_OUT_OF_RANGE");
  });

  describe("that is optional", () => {
    const nothing = { requirements: [], dependencies: [], acceptanceCriteria: [] };
    const plan = { id: "1.1", state: "pending", optional: true, parallel: false, ...nothing } as const;
    const tasks = [
      { number: 1, name: "dig" },
      { number: 2, name: "weed", plan: { ...plan, optional: false } },
      ...[3, 4].map((number) => ({ number, name: "water", plan })),
    ] as never[];
    const garden = () => Run.started(structureOf([phaseOf(1, { tasks }), 2]));
    const leftOut = (task: number) => ({ type: "task_given_up", phase: 1, task });
    const events = (run: Run) => run.log.slice(2).map(({ event }) => event);

    it("is left out without a word, alone or together with a task that is done", () => {
      const run = garden().do(complete({ skipped: [3, 4, 3] }));
      expect(events(run)).toEqual([leftOut(3), leftOut(4), { type: "task_completed", phase: 1, task: 1 }]);
      expect(run.state.tasks).toEqual({ done: [[1, 1]], givenUp: [[3, 4]] });
      const alone = garden().do({ type: "completeTask", phase: 1, skipped: [4], outcome: "given_up" });
      expect(events(alone)).toEqual([leftOut(4)]);
    });

    it.each([
      ["it is required", { skipped: [3, 2] }, "INVALID_INPUT", { field: "skipped" }],
      ["it is from no plan", { skipped: [1] }, "INVALID_INPUT", { field: "skipped" }],
      ["it does not exist", { skipped: [3, 5] }, "TASK_NOT_FOUND", { task: 5 }],
      ["none is named", {}, "INVALID_INPUT", { field: "task" }],
    ])("is not left out if %s", (_, parts, code, details) => {
      const error = garden().refused({ type: "completeTask", phase: 1, ...parts });
      expect(error).toMatchObject({ code, details });
      expect(error.remedy).not.toBe("");
    });
  });
});

describe("the commands that a refusal names", () => {
  const gated = () => Run.started(structureOf([phaseOf(1, { gate: asks }), 2]), { maxAttempts: 1 });
  const allowed = (run: Run) => allowedCommands(run.state, run.structure);
  const base = ["completePhase", "requestWaiver", "pause", "delete"];

  it("are those about waivers where one can be asked for or is open", () => {
    expect(allowed(gated())).toEqual(base);
    expect(allowed(Run.started(plain))).toEqual(["completePhase", "pause", "delete"]);
    expect(allowed(gated().do(waiver(1)))).toEqual(["completePhase", "waive", "denyWaiver", "pause", "delete"]);
    expect(allowed(gated().do(waiver(1), pause))).toEqual(["resume", "waive", "denyWaiver", "delete"]);
    expect(allowed(gated().do(pause))).toEqual(["resume", "delete"]);
    expect(allowed(gated().do(submit(1, false)))).toEqual(["retryPhase", "requestWaiver", "delete"]);
    const denied = gated().do(waiver(1));
    expect(allowed(denied.do(waiverWord(denied, "denyWaiver")))).toEqual(base);
    const waiting = Run.started(structureOf([phaseOf(1, { gate: asking() }), 2])).do(submit(1));
    expect(allowed(waiting)).toEqual(["completePhase", "approve", "deny", "pause", "delete"]);
    const ended = gated().do(waiver(1), { type: "delete" });
    expect(allowed(ended)).toEqual([]);
    expect(isWaiverOpen(ended.state)).toBe(false);
  });

  it("are no more requests after as many as an agent may make", () => {
    const run = gated();
    for (let request = 1; request < REQUESTS_MAX; request += 1) run.do(waiver(1));
    expect(run.state.waiverRequests).toBe(REQUESTS_MAX - 1);
    run.do(waiver(1));
    expect(run.refused(waiver(1))).toMatchObject({
      ...{ code: "NOT_ALLOWED", details: { phase: 1, operation: "requestWaiver" } },
    });
    run.do(waiverWord(run, "denyWaiver"));
    expect(allowed(run)).toEqual(["completePhase", "pause", "delete"]);
  });

  it("are those about tasks where the phase has some", () => {
    expect(allowed(Run.started(structureOf([phaseOf(1, { tasks: [task] }), 2])))).toContain("completeTask");
  });
});

describe("a phase that can't be read or gone back to", () => {
  it("is one before the first of the session, where the readable ones are named", () => {
    const run = Run.started(structureOf([1, 2, 3, 4], { startPhase: 2 })).do(submit(2));
    expect(readingRefusal(run.state, 1, run.structure)).toMatchObject({
      ...{
        code: "PHASE_OUT_OF_RANGE",
        remedy: "Use one of the phases 2, 3.",
        details: { requested: 1, valid: [2, 3] },
      },
    });
    expect(readingRefusal(run.state, 2, run.structure)).toBeUndefined();
    expect(readingRefusal(run.state, 3, run.structure)).toBeUndefined();
    expect(readingRefusal(run.state, 4, run.structure)?.code).toBe("PHASE_LOCKED");
    expect(readingRefusal(run.state, 9, run.structure)).toMatchObject({
      ...{ code: "PHASE_OUT_OF_RANGE", details: { valid: [1, 2, 3, 4] } },
    });
  });

  it("is none of the phases of a completed session that the host reopens", () => {
    const run = Run.started(structureOf([1, 2])).do(submit(1), submit(2));
    expect(rollbackTargets(run.state, run.structure)).toEqual([1, 2]);
    const back = { type: "rollback", to: 2, by: "host" } as const;
    expect(run.refused(back).code).toBe("INVALID_TRANSITION");
    expect(run.refused({ ...back, reopens: false }).code).toBe("INVALID_TRANSITION");
    run.do({ ...back, reopens: true });
    expect(run.log.at(-2)?.event).toEqual({
      ...{ type: "rolled_back", from: 2, to: 2, position: 1, cleared: [2], by: "host" },
    });
    expect(run.state).toMatchObject({ status: "active", phase: 2, completed: [[0, 0]] });
  });

  it("is named with what is possible instead", () => {
    const back = (to: number): SessionCommand => ({ type: "rollback", to, by: "agent" });
    expect(Run.started(plain).refused(back(1))).toMatchObject({ remedy: "Retry phase 1 instead." });
    expect(Run.started(plain).do(submit(1), submit(2)).refused(back(3))).toMatchObject({
      ...{ remedy: "Roll back to an earlier phase: 1, 2.", details: { requested: 3, valid: [1, 2] } },
    });
  });
});

describe("errors of commands that no session can take", () => {
  it("name what to do", () => {
    expect(Run.started(plain).refused({ type: "start", target: "a", options: {} })).toMatchObject({
      ...{ remedy: "Start another session without this id.", details: { field: "session_id" } },
    });
    expect(new Run(plain).refused(pause)).toMatchObject({
      ...{ remedy: "Start a session first.", details: { field: "session_id" } },
    });
    const faulty = { ...pause, note: 5 } as unknown as SessionCommand;
    expect(Run.started(plain).refused(faulty)).toMatchObject({
      ...{ code: "INVALID_INPUT", message: "pause: 'note' is of the wrong type", details: { field: "note" } },
    });
    const deep = { type: "planTicked", ticked: { ticks: [[0, "1"]], unticks: [] } } as unknown as SessionCommand;
    expect(Run.started(plain).refused(deep)).toMatchObject({ details: { field: "ticks.0.1" } });
  });
});

describe("a failed submission", () => {
  const missing = { ...aProblem, problem: "unverified" } as const;
  const result = { verifier: "files", ok: false, message: "no baseline", at: "2026-01-01T00:00:00.000Z" };
  const unrecorded = { ...result, unrecorded: true } as const;
  const failing = (problems: readonly object[], verification?: readonly object[]) =>
    ({ ...submit(1, false), verdict: { passed: false, problems, warnings: [] }, verification }) as SessionCommand;

  it("is no attempt if nothing failed but checks that had nothing to compare with", () => {
    const run = Run.started(plain, { maxAttempts: 1 }).do(failing([missing], [unrecorded, { ...result, ok: true }]));
    expect(last(run)).toMatchObject({ type: "gate_failed", attempt: 1, uncounted: true });
    expect(run.state).toMatchObject({
      status: "active",
      attempts: 0,
      spent: [],
      submission: { version: 2, merge: false },
    });
    expect(run.do(failing([missing], [unrecorded])).state.status).toBe("failed");
  });

  it.each([
    ["another check failed", [missing], [unrecorded, result]],
    ["the gate found something else", [missing, aProblem], [unrecorded]],
    ["no check failed", [missing], [{ ...result, ok: true }]],
    ["no check was run", [missing], undefined],
  ])("is an attempt if %s", (_, problems, verification) => {
    const run = Run.started(plain).do(failing(problems, verification));
    expect(last(run)).not.toHaveProperty("uncounted");
    expect(run.state).toMatchObject({ attempts: 1, spent: [[0, 1]] });
  });
});

describe("a passed submission", () => {
  it("keeps what its claims rest on, and which ticks there were", () => {
    const proofs = [{ field: "tests", proof: "log.txt" }];
    const waived = [{ fields: ["docs"], version: 1, by: "ann", reason: "none", authenticated: false }];
    const run = Run.started(plain).do({ ...submit(1), proofs, waived, stood: ["1.1"], stoodItems: [1] });
    expect(run.log.at(-2)?.event).toMatchObject({
      type: "gate_passed",
      proofs,
      waived,
      stood: ["1.1"],
      stoodItems: [1],
    });
    expect(run.state.withWaivers).toEqual([[0, 0]]);
    const bare = Run.started(plain).do({ ...submit(1), proofs: [], waived: [], stood: [], stoodItems: [] });
    for (const name of ["proofs", "waived", "stood", "stoodItems"])
      expect(bare.log.at(-2)?.event).toHaveProperty(name, undefined);
    expect(bare.state.withWaivers).toBeUndefined();
  });
});

describe("a person's word", () => {
  const signed = { signature: { signedAt: "2026-01-01T00:00:00.000Z", value: "c2ln" }, keyId: "k1" };
  const verification = [{ verifier: "files", ok: true, message: "there", at: "2026-01-01T00:00:00.000Z" }];
  const waiting = () => {
    const run = Run.started(structureOf([phaseOf(1, { gate: asking() }), 2]), { maxAttempts: 1 });
    return run.do({ ...submit(1), verification });
  };

  it("is recorded with its signature and its note", () => {
    const run = waiting();
    run.do({ ...word(run, "approve"), ...signed, note: "fine" } as SessionCommand);
    expect(run.log.at(-3)?.event).toMatchObject({
      type: "approved",
      phase: 1,
      by: "ann",
      asked: 2,
      ...signed,
      note: "fine",
    });
    expect(run.log.at(-2)?.event).toMatchObject({ type: "gate_passed", verification });
  });

  it("fails the attempt if it denies", () => {
    const run = waiting();
    run.do({ ...word(run, "deny"), authenticated: false } as SessionCommand);
    expect(run.types(3)).toEqual(["denied", "gate_failed", "failed"]);
    const message = "ann (not authenticated) denied the approval: not yet";
    expect(run.log.at(-2)?.event).toMatchObject({
      problems: [{ field: "", problem: "denied", message }],
      verification,
    });
  });

  it("on a waiver is recorded in the same way, and marks the last notes as older", () => {
    const make = () => Run.started(structureOf([phaseOf(1, { gate: asks, tasks: [task] }), 2])).do(waiver(1));
    const run = make().do({ type: "completeTask", phase: 1, task: 1, note: "a.ts" }, { ...pause, note: "waiting" });
    run.do(waiverWord(run, "waive", { ...signed, note: "fine" }));
    expect(last(run)).toMatchObject({ type: "waiver_granted", fields: ["tests"], asked: 2, ...signed, note: "fine" });
    expect(run.state).toMatchObject({ status: "paused", note: "waiting", beforeDecision: true });
    expect(run.state).toMatchObject({
      tasks: { last: { note: "a.ts", beforeDecision: true } },
      waived: [{ fields: ["tests"] }],
    });
    const plainly = make();
    plainly.do(waiverWord(plainly, "denyWaiver"));
    expect(plainly.state).not.toHaveProperty("beforeDecision");
    expect(plainly.state.waiver).toEqual({ version: 3, denied: true });
    const quiet = make().do(pause);
    quiet.do(waiverWord(quiet, "waive"));
    expect(quiet.state).not.toHaveProperty("beforeDecision");
    expect(last(quiet)).toMatchObject({ note: undefined });
  });

  it("on another waiver than the open one is refused", () => {
    const run = Run.started(structureOf([phaseOf(1, { gate: asks }), 2]));
    expect(run.refused(waiverWord(run, "waive"))).toMatchObject({ details: { phase: 1, reason: "not_waiting" } });
    run.do(waiver(1));
    const old = waiverWord(run, "waive");
    run.do(waiver(1));
    expect(run.refused(old)).toMatchObject({ details: { phase: 1, reason: "other_request" } });
  });
});

it("stored events and heads are refused if they are of another format", () => {
  const run = Run.started(plain).do({ ...pause, note: "lunch" });
  const head = { ...run.state };
  for (const parts of [
    { status: "?" },
    { position: -1 },
    { total: 0 },
    { spent: [[1]] },
    { waiver: { version: "1" } },
    { beforeDecision: false },
  ]) {
    expect(sessionHeadSchema.safeParse({ ...head, ...parts }).success, JSON.stringify(parts)).toBe(false);
  }
  const awaiting = { version: 1, evidenceHash: 5 };
  expect(sessionHeadSchema.safeParse({ ...head, awaiting }).success).toBe(false);
  expect(sessionEventSchema.safeParse({ type: "paused", note: 1 }).success).toBe(false);
});

it("stored events are read whole", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const snapshots = [{ verifier: "v", check: "c", takenAt: at, value: { inline: 1 } }];
  const verification = [
    { verifier: "v", field: "f", check: "c", ok: false, failed: true, message: "no", ran: "npm test", exit: 1, at },
    { verifier: "v", ok: false, unrecorded: true, message: "no", digest: "ab", output: ["line"], at },
  ];
  const evidence = { payload: "p", characters: 70_000, names: ["a"] };
  const change = { phase: 1, id: "1.1", name: "dig", from: "a", to: "b", behind: true };
  const none = { added: [], removed: [], renamed: [], moved: [], dependencies: [], criteria: [], gate: [], other: [] };
  const counts = { ...Object.fromEntries(PLAN_CHANGE_KINDS.map((kind) => [kind, 0])), added: 1 };
  const changes = { ...none, added: [change], count: 1, counts, takenAway: [] };
  const synced = { type: "plan_synced", structure: plain, position: 0, by: "agent", changes, tasks: [[1, 2]] };
  for (const event of [
    { type: "phase_entered", phase: 1, position: 0, snapshots },
    { type: "gate_failed", phase: 1, attempt: 1, evidence, problems: [aProblem], uncounted: true, verification },
    { ...synced, places: [[1, 2]], operator: "ops", note: "new plan" },
  ]) {
    const stored = JSON.parse(JSON.stringify(event));
    expect(sessionEventSchema.parse(stored)).toEqual(stored);
  }
  const failed = { type: "gate_failed", phase: 1, attempt: 1, evidence, problems: [] };
  for (const parts of [{ failed: false }, { unrecorded: false }, { exit: "1" }]) {
    const wrong = { ...failed, verification: [{ ...verification[0], ...parts }] };
    expect(sessionEventSchema.safeParse(wrong).success, JSON.stringify(parts)).toBe(false);
  }
  expect(sessionEventSchema.safeParse({ ...failed, uncounted: false }).success).toBe(false);
  const still = { ...changes, added: [{ ...change, behind: false }] };
  expect(sessionEventSchema.safeParse({ ...synced, changes: still }).success).toBe(false);
});

describe("a sync with a plan that has changed", () => {
  const list: never[] = [];
  const counts = { added: 0, removed: 0, renamed: 0, moved: 0, dependencies: 0, criteria: 0, gate: 0, other: 0 };
  const changes = {
    ...{ added: list, removed: list, renamed: list, moved: list, dependencies: list, criteria: list },
    ...{ gate: list, other: list, count: 0, counts, takenAway: list },
  };
  const sync = (numbers: number[], places: readonly (readonly [number, number])[], more = {}): SessionCommand => ({
    ...{ type: "syncPlan", structure: structureOf(numbers), by: "agent", changes, places, ...more },
  });
  const tried = () =>
    Run.started(plain).do(submit(1, false), submit(1), submit(2, false), submit(2, false), submit(2), submit(3, false));
  /** Failures at the third phase, after a rollback to the second. */
  const back = () => tried().do({ type: "rollback", to: 2, by: "agent" });

  it("takes failures of phases ahead along to their new places, and no others", () => {
    const run = back();
    expect(run.state.spent).toEqual([[2, 1]]);
    run.do(
      sync(
        [1, 2, 4, 3],
        [
          [1, 1],
          [2, 3],
        ],
        { operator: "ops", note: "new plan" },
      ),
    );
    expect(last(run)).toMatchObject({ type: "plan_synced", places: [[2, 3]], operator: "ops", note: "new plan" });
    expect(run.state).toMatchObject({ spent: [[3, 1]], total: 4, revision: "r1", structureVersion: run.version });
  });

  it("keeps failures of the current phase, also for one that comes in its place", () => {
    const run = Run.started(plain).do(submit(1), submit(2, false));
    run.do(
      sync(
        [1, 2, 3],
        [
          [1, 1],
          [2, 2],
        ],
      ),
    );
    expect(last(run)).toMatchObject({ places: [[1, 1]] });
    expect(run.state.spent).toEqual([[1, 1]]);
    const moved = back()
      .do(submit(2, false), submit(2, false))
      .do(
        sync(
          [1, 2, 3],
          [
            [1, 2],
            [2, 2],
          ],
        ),
      );
    expect(moved.state.spent).toEqual([
      [1, 2],
      [2, 2],
    ]);
    const other = back()
      .do(submit(2, false))
      .do(sync([1, 2, 3], []));
    expect(last(other)).toMatchObject({ places: undefined });
    const apart = back().do(submit(2, false));
    apart.do(
      sync(
        [1, 2, 4, 3],
        [
          [1, 1],
          [2, 3],
        ],
      ),
    );
    expect(apart.state.spent).toEqual([
      [1, 1],
      [3, 1],
    ]);
    expect(other.state.spent).toEqual([[1, 1]]);
  });

  it("forgets failures of a phase ahead that the plan has no more", () => {
    const run = back().do(submit(2, false), sync([1, 2, 4], [[1, 1]]));
    expect(run.state.spent).toEqual([[1, 1]]);
  });

  it("is refused if the phases up to the current one are not the same", () => {
    expect(back().refused(sync([1, 4, 3], []))).toMatchObject({
      ...{ code: "NOT_ALLOWED", details: { phase: 2, operation: "syncPlan" } },
    });
  });

  it("forgets failures ahead in a migration, which does not say which phases are the same", () => {
    const run = back().do({ type: "migrate", structure: structureOf([1, 2, 3]), by: "ops" });
    expect(run.state.spent).toEqual([]);
  });
});

describe("a waiver that can't be asked for", () => {
  const gate = (count: number): GateDefinition => ({
    ...{ kind: "fields", strict: true, allowOverride: false, source: "gate-file" },
    fields: Array.from({ length: count }, (_, index) => ({ name: `f${index + 1}`, type: "boolean", required: true })),
  });
  const session = (count: number) => Run.started(structureOf([phaseOf(1, { gate: gate(count) }), 2]));
  const names = (count: number) => Array.from({ length: count }, (_, index) => `f${index + 1}`);

  it("names the fields that can be waived, up to twenty", () => {
    expect(session(2).refused(waiver(1, ["zzz"]))).toMatchObject({
      ...{ remedy: "Name what can't be met, of: f1, f2.", details: { field: "fields", expected: "f1, f2" } },
    });
    expect(session(20).refused(waiver(1, ["zzz"])).details).toEqual({
      field: "fields",
      expected: names(20).join(", "),
    });
    expect(session(21).refused(waiver(1, ["zzz"])).details).toMatchObject({
      expected: `${names(20).join(", ")}, and 1 more`,
    });
  });

  it("says so if all of it is waived already", () => {
    const run = session(1).do(waiver(1, ["f1"]));
    run.do(waiverWord(run, "waive"));
    const refused = run.refused(waiver(1, ["f1"]));
    expect(refused).toMatchObject({ remedy: "Name the fields that can't be met.", message: '"f1": waived already' });
    expect(refused.details).toEqual({ field: "fields" });
  });

  it("may name fifty fields, and is for the current phase", () => {
    expect(session(51).do(waiver(1, names(50))).state.waiver).toEqual({ version: 2 });
    expect(session(51).refused(waiver(1, names(51))).code).toBe("INVALID_INPUT");
    expect(session(1).refused(waiver(2, ["f1"])).code).toBe("PHASE_LOCKED");
    expect(session(1).refused(waiver(9, ["f1"]))).toMatchObject({
      ...{ code: "PHASE_OUT_OF_RANGE", remedy: "Use one of the phases 1, 2." },
    });
  });
});

describe("a submission whose checks have run", () => {
  const submitted = (head: Run["state"]) =>
    submissionRefusal(head, 1, plain, { maxAttempts: 1, maxAttemptsTotal: 9 }, "the session has failed");

  it("is not counted if the session is no longer active, and is told what to do", () => {
    const failed = Run.started(plain, { maxAttempts: 1 }).do(submit(1, false));
    expect(submitted(failed.state)).toMatchObject({
      message: expect.stringContaining(
        "the session has failed while the checks ran, so the submission was not counted",
      ),
      remedy: expect.not.stringContaining("once the session is resumed"),
      details: { submission: "uncounted", status: "failed" },
    });
    const paused = Run.started(plain).do(pause);
    expect(submitted(paused.state)).toMatchObject({ remedy: expect.stringContaining("once the session is resumed") });
  });

  it("waits for the result of other evidence, or is told that the session has stopped", () => {
    const running = { phase: 1, since: "2026-01-01T00:00:00.000Z", idempotencyKey: "first" };
    const active = Run.started(plain);
    const error = otherIsVerified(active.state, plain, running);
    expect(error).toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringContaining("other evidence for phase 1 is being verified since 2026-01-01T00:00:00.000Z"),
      remedy: expect.stringContaining("the idempotency key first"),
      details: { command: "completePhase", status: "active", submission: "verifying" },
    });
    const others = allowedCommands(active.state, plain).filter((command) => command !== "completePhase");
    expect(error.details.allowed).toEqual(others);
    expect(others.length).toBeGreaterThan(1);
    const paused = otherIsVerified(active.do(pause).state, plain, running);
    expect(paused).toMatchObject({ details: { command: "completePhase", status: "paused" } });
    expect(paused.details).not.toHaveProperty("submission");
  });

  it("is told what is possible now; an error of another kind stays as it is", () => {
    const paused = Run.started(plain).do(pause);
    const then = submitted(paused.state);
    const resumed = paused.do({ type: "resume" }).state;
    expect(asOfNow(then, resumed, plain)).toMatchObject({ details: { status: "active", submission: "uncounted" } });
    const other = new Error("no");
    expect(asOfNow(other, resumed, plain)).toBe(other);
  });
});
