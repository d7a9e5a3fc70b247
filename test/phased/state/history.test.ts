import { describe, expect, it } from "vitest";
import type { CommandOf } from "../../../src/phased/state/commands.js";
import type { PlanChanges, SessionEvent } from "../../../src/phased/state/events.js";
import {
  artifactNames,
  artifacts,
  gateFailures,
  isAttemptAt,
  phaseHistory,
  type RecordedEvent,
  secondsBetween,
  submittedAttempts,
} from "../../../src/phased/state/history.js";
import type { GateDefinition, WorkflowStructure } from "../../../src/workflow/structure.js";
import { aProblem, asking, phaseOf, Run, structureOf, submit, waiver, waiverWord, word } from "./run.js";

const gate = { kind: "open", allowOverride: true } as const;
const structure = structureOf([1, 2, 3].map((number) => phaseOf(number, { skippable: true, gate })));
const retry = { type: "retryPhase", resetEvidence: false, by: "agent" } as const;
const host = { by: "ann", reason: "because" } as const;

/** Returns phase, attempt and status of each attempt. */
const tries = (run: Run) => phaseHistory(run.log).map(({ phase, attempt, status }) => `${phase}.${attempt} ${status}`);

/** Returns a sync with a plan whose changes are none of those that are counted. */
function synced(to: WorkflowStructure): CommandOf<"syncPlan"> {
  const changes: PlanChanges = {
    ...{ added: [], removed: [], renamed: [], moved: [], dependencies: [], criteria: [], gate: [], other: [] },
    ...{ count: 0, takenAway: [] },
    counts: { added: 0, removed: 0, renamed: 0, moved: 0, dependencies: 0, criteria: 0, gate: 0, other: 0 },
  };
  return { type: "syncPlan", structure: to, by: "host", changes, places: [] };
}

/** Counts the comparisons of phases while the history of the given number of rollbacks is read. */
function comparisonsOf(rollbacks: number): number {
  let compared = 0;
  class Counted extends Number {
    override valueOf(): number {
      compared += 1;
      return super.valueOf();
    }
  }
  // A number for the compiler: values from JSON may be of any type.
  const counted = (number: number): number => Object.assign(JSON.parse("{}"), { number: new Counted(number) }).number;
  const log: RecordedEvent[] = [];
  const add = (event: SessionEvent) => log.push({ event, at: "2026-01-01T00:00:00.000Z", version: log.length + 1 });
  const [one, two] = [counted(1), counted(2)];
  for (let round = 0; round < rollbacks; round += 1) {
    add({ type: "phase_entered", phase: one, position: 0 });
    add({ type: "gate_passed", phase: one, position: 0, attempt: 1, evidence: { inline: {} } });
    add({ type: "phase_entered", phase: two, position: 1 });
    add({ type: "rolled_back", from: two, to: one, position: 0, cleared: [1], by: "host" });
  }
  expect(phaseHistory(log)).toHaveLength(2 * rollbacks);
  return compared;
}

describe("phaseHistory", () => {
  it("contains each attempt with its times, and the current one without an end", () => {
    const run = Run.started(structure).wait(9).do(submit(1, false)).wait(89).do(submit(1));
    expect(phaseHistory(run.log)).toEqual([
      {
        ...{ phase: 1, attempt: 1, status: "failed", problems: [aProblem], durationSeconds: 10 },
        ...{ startedAt: "2026-01-01T00:00:01.000Z", completedAt: "2026-01-01T00:00:11.000Z" },
      },
      {
        ...{ phase: 1, attempt: 2, status: "completed", durationSeconds: 90 },
        ...{ startedAt: "2026-01-01T00:00:11.000Z", completedAt: "2026-01-01T00:01:41.000Z" },
      },
      { phase: 2, attempt: 1, status: "active", startedAt: "2026-01-01T00:01:41.000Z" },
    ]);
  });

  it("is empty before the first event, and ends with the workflow", () => {
    expect(phaseHistory([])).toEqual([]);
    const run = Run.started(structure).do(submit(1), submit(2), submit(3));
    expect(tries(run)).toEqual(["1.1 completed", "2.1 completed", "3.1 completed"]);
  });

  it("needs time proportional to the length of the history, for any number of rollbacks", () => {
    const few = comparisonsOf(500);
    expect(few).toBeGreaterThan(0);
    expect(comparisonsOf(2000)).toBeLessThan(few * 5);
  });

  it("continues counting after a retry, and has no current attempt while the session is failed", () => {
    const run = Run.started(structure, { maxAttempts: 2 }).do(submit(1, false), submit(1, false));
    expect(tries(run)).toEqual(["1.1 failed", "1.2 failed"]);
    run.wait(60).do({ ...retry, phase: 1 });
    expect(tries(run)).toEqual(["1.1 failed", "1.2 failed", "1.3 active"]);
    expect(phaseHistory(run.log)[2]?.startedAt).toBe("2026-01-01T00:01:04.000Z");
    run.do(submit(1));
    expect(tries(run)).toEqual(["1.1 failed", "1.2 failed", "1.3 completed", "2.1 active"]);
  });

  it("starts another attempt on a retry before the session has failed", () => {
    const run = Run.started(structure)
      .do(submit(1, false))
      .wait(10)
      .do({ ...retry, phase: 1 });
    expect(phaseHistory(run.log)[1]).toEqual({
      ...{ phase: 1, attempt: 2, status: "active", startedAt: "2026-01-01T00:00:13.000Z" },
    });
  });

  it("marks attempts that a rollback revokes, the current one included, and keeps failed ones", () => {
    const run = Run.started(structure).do(submit(1), submit(2, false), submit(2), submit(3, false));
    run.do({ type: "rollback", to: 2, by: "agent" });
    expect(tries(run)).toEqual([
      ...["1.1 completed", "2.1 failed", "2.2 rolled_back", "3.1 failed", "3.2 rolled_back"],
      "2.1 active",
    ]);
    run.do(submit(2));
    expect(tries(run).slice(-2)).toEqual(["2.1 completed", "3.1 active"]);
  });

  it("marks skipped and overridden phases as rolled back, too; a failed session has no attempt to mark", () => {
    const run = Run.started(structure, { maxAttempts: 1 });
    run.do({ type: "skipPhase", phase: 1, ...host }, { type: "overrideGate", phase: 2, ...host }, submit(3, false));
    expect(tries(run)).toEqual(["1.1 skipped", "2.1 overridden", "3.1 failed"]);
    run.do({ type: "rollback", to: 1, by: "host" });
    expect(tries(run)).toEqual(["1.1 rolled_back", "2.1 rolled_back", "3.1 failed", "1.1 active"]);
  });

  it("shows how the host moved a failed session on", () => {
    for (const [type, status] of [
      ["overrideGate", "overridden"],
      ["skipPhase", "skipped"],
    ] as const) {
      const run = Run.started(structure, { maxAttempts: 1 }).do(submit(1, false), { type, phase: 1, ...host });
      expect(tries(run)).toEqual(["1.1 failed", `1.2 ${status}`, "2.1 active"]);
      expect(phaseHistory(run.log)[1]).toMatchObject({ startedAt: "2026-01-01T00:00:03.000Z", durationSeconds: 0 });
    }
  });

  it("contains nothing for pauses, migrations and deletions", () => {
    const run = Run.started(structure).do({ type: "pause" }, { type: "resume" });
    run.do({ type: "migrate", structure, by: "ann" }, { type: "delete" });
    expect(tries(run)).toEqual(["1.1 active"]);
  });

  it("can be read from a log without its start", () => {
    const at = "2026-01-01T00:00:00.000Z";
    const evidence = { inline: {} };
    const recorded = (event: SessionEvent): RecordedEvent => ({ event, at, version: 9 });
    const failed = recorded({ type: "gate_failed", phase: 4, attempt: 2, evidence, problems: [] });
    const retried = recorded({ type: "retried", phase: 7, resetEvidence: true, by: "host" });
    const passed = recorded({ type: "gate_passed", phase: 4, position: 3, attempt: 2, evidence });
    const history = (...events: RecordedEvent[]) => phaseHistory(events);
    expect(history(passed)).toEqual([]);
    expect(history(failed)).toMatchObject([{ phase: 4, attempt: 3, status: "active" }]);
    expect(history(retried)).toMatchObject([{ phase: 7, attempt: 1, status: "active" }]);
  });
});

describe("secondsBetween", () => {
  it("rounds, and is never negative", () => {
    const at = (milliseconds: number) => new Date(milliseconds).toISOString();
    expect(secondsBetween(at(0), at(1499))).toBe(1);
    expect(secondsBetween(at(0), at(1500))).toBe(2);
    expect(secondsBetween(at(5000), at(0))).toBe(0);
  });
});

describe("gateFailures", () => {
  it("returns each refusal of a gate, oldest first, with the attempts of the history", () => {
    const run = Run.started(structure, { maxAttempts: 2 }).do(submit(1, false), submit(1, false));
    run.do({ ...retry, phase: 1 }, submit(1, false), submit(1), submit(2, false));
    expect(gateFailures(run.log).map(({ phase, attempt, at }) => [phase, attempt, at.slice(17, 19)])).toEqual([
      [1, 1, "02"],
      [1, 2, "03"],
      [1, 3, "05"],
      [2, 1, "07"],
    ]);
    expect(gateFailures(run.log)[0]?.problems).toEqual([aProblem]);
  });

  it("keeps those before a rollback", () => {
    const run = Run.started(structure).do(submit(1), submit(2, false), { type: "rollback", to: 1, by: "agent" });
    expect(gateFailures(run.log)).toHaveLength(1);
  });
});

describe("artifacts", () => {
  const phases = (run: Run) => [...artifacts(run.log).keys()];

  it("are the evidence that passed the gate, with an output if there is one", () => {
    const run = Run.started(structure).do(submit(1, false), submit(1));
    const verdict = { passed: true, warnings: [] } as const;
    run.do({ type: "completePhase", phase: 2, evidence: { inline: { b: 2 } }, verdict, output: { inline: { c: 3 } } });
    expect([...artifacts(run.log).values()]).toEqual([
      { phase: 1, position: 0, at: "2026-01-01T00:00:03.000Z", version: 3, evidence: { inline: { phase: 1 } } },
      {
        ...{ phase: 2, position: 1, at: "2026-01-01T00:00:04.000Z", version: 4, evidence: { inline: { b: 2 } } },
        output: { inline: { c: 3 } },
      },
    ]);
  });

  it("have names: the keys of the output if there is one, or those stored with a payload", () => {
    const verdict = { passed: true, warnings: [] } as const;
    const run = Run.started(structure).do(submit(1));
    run.do({ type: "completePhase", phase: 2, evidence: { inline: { b: 2 } }, verdict, output: { inline: [3] } });
    const evidence = { payload: "abc", characters: 70_000, names: ["large"] };
    run.do({ type: "completePhase", phase: 3, evidence, verdict });
    const names = [...artifactNames(run.log, new Map())].map(([phase, { names: found }]) => [phase, found]);
    expect(names).toEqual([
      [1, ["phase"]],
      [2, []],
      [3, ["large"]],
    ]);
  });

  it("do not exist for phases that the host overrode or skipped", () => {
    const run = Run.started(structure);
    run.do({ type: "overrideGate", phase: 1, ...host }, { type: "skipPhase", phase: 2, ...host }, submit(3));
    expect(phases(run)).toEqual([3]);
  });

  it("are removed by a rollback, and replaced by the next pass", () => {
    const run = Run.started(structure).do(submit(1), submit(2), { type: "rollback", to: 2, by: "agent" });
    expect(phases(run)).toEqual([1]);
    run.do(submit(2));
    expect(artifacts(run.log).get(2)?.version).toBe(5);
    run.do({ type: "rollback", to: 1, by: "agent" });
    expect(phases(run)).toEqual([]);
  });
});

describe("artifacts of a session that stays in its place", () => {
  it.each<[string, CommandOf<"migrate"> | CommandOf<"syncPlan">]>([
    ["a migration", { type: "migrate", structure, by: "ann" }],
    ["a sync with its plan", { ...synced(structure), places: [[1, 1]] }],
  ])("are kept through %s", (_, command) => {
    const run = Run.started(structure).do(submit(1), submit(2, false));
    const before = artifacts(run.log);
    expect([...before.keys()]).toEqual([1]);
    expect(artifacts(run.do(command).log)).toEqual(before);
  });
});

describe("a history without its start", () => {
  it("keeps the numbers of attempts through a migration, as the definition before it is not known", () => {
    const at = "2026-01-01T00:00:00.000Z";
    const events = [
      { event: { type: "phase_entered", phase: 1, position: 0 }, at, version: 2 },
      { event: { type: "migrated", structure, position: 1, by: "ann", places: [[0, 1]] }, at, version: 3 },
    ] satisfies RecordedEvent[];
    expect(phaseHistory(events)).toEqual([{ phase: 1, attempt: 1, status: "active", startedAt: at }]);
  });

  it("hides nothing, as only the structure defines what a gate hides", () => {
    const at = "2026-01-01T00:00:00.000Z";
    const events = [
      { event: { type: "phase_entered", phase: 1, position: 0 }, at, version: 2 },
      { event: { type: "phase_skipped", phase: 1, position: 0, by: "ann", reason: "known" }, at, version: 3 },
    ] as const;
    expect(phaseHistory(events)).toEqual([
      {
        ...{ phase: 1, attempt: 1, startedAt: at, completedAt: at, status: "skipped", durationSeconds: 0 },
        ...{ reason: "known", by: "ann" },
      },
    ]);
  });
});

describe("the reveal setting of a gate", () => {
  it("is returned with its attempts and failures", () => {
    const gate = { kind: "schema", allowOverride: false, reveal: "names" } as const;
    const run = Run.started(structureOf([phaseOf(1, { gate }), 2]));
    const verification = [{ verifier: "sure", ok: true, message: "so", at: "2026-01-01T00:00:00.000Z" }];
    run.do({ ...submit(1, false), verification }, { ...submit(1), verification }, submit(2));
    expect(gateFailures(run.log)).toMatchObject([{ phase: 1, reveal: "names", verification }]);
    const [failed, passed, open] = phaseHistory(run.log);
    expect([failed, passed]).toMatchObject([
      { status: "failed", reveal: "names", verification },
      { status: "completed", reveal: "names", verification },
    ]);
    expect(open).toMatchObject({ phase: 2, status: "completed" });
    expect(open?.reveal).toBeUndefined();
  });

  it("is that of the plan that was synced last", () => {
    const gate = { kind: "schema", allowOverride: false } as const;
    const run = Run.started(structureOf([phaseOf(1, { gate }), 2])).do(submit(1, false));
    run.do(synced(structureOf([phaseOf(1, { gate: { ...gate, reveal: "names" } }), 2])), submit(1, false));
    expect(gateFailures(run.log).map(({ reveal }) => reveal)).toEqual([undefined, "names"]);
  });
});

describe("what is said while an attempt goes on", () => {
  const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z`;
  const task = { number: 1, name: "dig" } as never;
  const asks = { ...asking(), approval: { prompt: "?" } } as GateDefinition;
  const begin = () => Run.started(structureOf([phaseOf(1, { gate: asks, tasks: [task] }), 2]));
  const notesOf = (run: Run) => phaseHistory(run.log).map(({ notes }) => notes);

  it("is part of the attempt, in order", () => {
    const run = begin().do({ type: "completeTask", phase: 1, task: 1, note: "a.ts" }, waiver(1));
    run.do(waiverWord(run, "denyWaiver"), waiver(1));
    run.do(waiverWord(run, "waive"), { type: "pause", operator: "ops" }, { type: "resume", note: "lunch is over" });
    run.do({ type: "completeTask", phase: 1, task: 1, outcome: "given_up", note: "no camera" });
    const word = { by: "ann", authenticated: false };
    expect(notesOf(run)).toEqual([
      [
        { at: at(2), event: "task_completed", task: 1, note: "a.ts" },
        { at: at(3), event: "waiver_requested", fields: ["tests"], note: "there are none" },
        { at: at(4), event: "waiver_denied", ...word, note: "do it by hand" },
        { at: at(5), event: "waiver_requested", fields: ["tests"], note: "there are none" },
        { at: at(6), event: "waiver_granted", ...word, fields: ["tests"] },
        { at: at(7), event: "paused", by: "ops" },
        { at: at(8), event: "resumed", note: "lunch is over" },
        { at: at(9), event: "task_given_up", task: 1, note: "no camera" },
      ],
    ]);
  });

  it("is also why a session is handed over, or moved to another plan", () => {
    const run = begin();
    const sync = synced(run.structure);
    const assign = { type: "assign", owner: { name: "bob" }, by: "otto" } as const;
    run.do(assign, { ...assign, note: "ann is away" }, sync, { ...sync, operator: "ops", note: "new plan" });
    expect(notesOf(run)).toEqual([
      [
        { at: at(2), event: "assigned", by: "otto", note: "to bob" },
        { at: at(3), event: "assigned", by: "otto", note: "to bob: ann is away" },
        { at: at(5), event: "plan_synced", by: "ops", note: "new plan" },
      ],
    ]);
  });

  it("ends with the attempt", () => {
    const run = begin().do(submit(1));
    run.do(word(run, "deny"));
    run.do({ type: "retryPhase", phase: 1, resetEvidence: false, by: "host", operator: "ops" }, submit(1));
    run.do(word(run, "approve"));
    expect(notesOf(run)).toEqual([
      [{ at: at(3), event: "denied", by: "ann", authenticated: true, note: "not yet" }],
      [
        { at: at(4), event: "retried", by: "ops" },
        { at: at(6), event: "approved", by: "ann", authenticated: true },
      ],
      undefined,
    ]);
  });

  it("is nothing if nobody said anything", () => {
    const run = begin().do({ type: "completeTask", phase: 1, task: 1 }, { type: "pause" }, { type: "resume" });
    run.do({ type: "migrate", structure: run.structure, by: "ann" });
    const tasks = { done: [1], givenUp: [] };
    expect(phaseHistory(run.log)).toEqual([{ phase: 1, attempt: 1, status: "active", startedAt: at(1), tasks }]);
  });
});

describe("the tasks of an attempt", () => {
  const task = (number: number) => ({ number, name: `Task ${number}` });
  const tasked = structureOf([1, 2].map((number) => phaseOf(number, { gate, tasks: [task(1), task(2), task(3)] })));
  const note = (number: number, outcome: "done" | "given_up", phase = 1) =>
    ({ type: "completeTask", phase, task: number, outcome, note: "so it is" }) as const;
  const tasksOf = (run: Run) => phaseHistory(run.log).map(({ tasks }) => tasks);

  it("are those that are noted as done or given up when it has ended, except where it has failed", () => {
    const run = Run.started(tasked).do(note(1, "done"), note(2, "done"), submit(1, false), note(2, "given_up"));
    expect(tasksOf(run)).toEqual([undefined, { done: [1], givenUp: [2] }]);
    run.do(submit(1), note(3, "done", 2));
    expect(tasksOf(run)).toEqual([undefined, { done: [1], givenUp: [2] }, { done: [3], givenUp: [] }]);
    run.do({ type: "rollback", to: 1, by: "host" }, note(3, "given_up"));
    expect(tasksOf(run).at(-1)).toEqual({ done: [], givenUp: [3] });
  });

  it("are those that a migration keeps", () => {
    const run = Run.started(tasked).do(note(1, "done"), note(2, "given_up"));
    const [first, second] = tasked.phases;
    if (first === undefined || second === undefined) throw new Error("two phases");
    const moved = [{ ...task(1), textRevision: "new" }, task(2), task(3)];
    const structure = { ...tasked, revision: "r2", phases: [{ ...first, tasks: moved }, second] };
    run.do({ type: "migrate", structure, by: "ann" });
    expect(tasksOf(run)).toEqual([{ done: [], givenUp: [2] }]);
  });
});

describe("a sync with a plan", () => {
  const planned = (...named: (readonly [number: number, name: string])[]) => {
    const phases = named.map(([number, name]) => phaseOf(number, { name, plan: { number } }));
    const plan = { path: "tasks.md", hash: "1", dialect: "kiro", shift: 1, ticked: true };
    return { ...structureOf([1, ...phases]), plan };
  };
  const BEFORE = planned([2, "Parse"], [3, "Print"]);
  const shownOf = (run: Run) => phaseHistory(run.log).map(({ phase, gone, status }) => [phase, gone, status]);
  const rolledBack = () => Run.started(BEFORE).do(submit(1), submit(2), { type: "rollback", to: 1, by: "host" });

  it("gives the attempts that were rolled back the numbers of their phases", () => {
    const run = rolledBack().do(synced(planned([2, "Read"], [3, "Parse"], [4, "Print"])));
    expect(shownOf(run)).toEqual([
      [1, undefined, "rolled_back"],
      [3, undefined, "rolled_back"],
      [4, undefined, "rolled_back"],
      [1, undefined, "active"],
    ]);
  });

  it("keeps the numbers up to the current phase, also where another phase has come before it", () => {
    const run = Run.started(BEFORE).do(submit(1), submit(2, false));
    run.do(synced(planned([2, "Read"], [3, "Parse"], [4, "Print"])));
    expect(tries(run)).toEqual(["1.1 completed", "2.1 failed", "2.2 active"]);
  });

  it("names a phase that is gone, also after a migration whose phase has its number", () => {
    const run = rolledBack().do(synced(planned([2, "Parse"])));
    const expectShown = (parse: number) =>
      expect(shownOf(run).slice(0, 3)).toEqual([
        [1, undefined, "rolled_back"],
        [parse, undefined, "rolled_back"],
        [3, "Print", "rolled_back"],
      ]);
    expectShown(2);
    run.structure = planned([2, "Parse"]);
    const phases = [1, 2, 3, phaseOf(4, { name: "Parse", plan: { number: 2 } })];
    const structure = { ...run.structure, ...structureOf(phases), revision: "r2" };
    run.do({ type: "migrate", structure, by: "ann" });
    expectShown(4);
  });
});

describe("isAttemptAt", () => {
  it.each([
    ["an attempt at the phase", { phase: 2 }, true],
    ["an attempt at another phase", { phase: 1 }, false],
    ["an attempt at a phase of that number that is gone", { phase: 2, gone: "Old" }, false],
    ["an attempt at another phase that is gone", { phase: 1, gone: "Old" }, false],
  ])("tells %s", (_, attempt, isAt) => {
    expect(isAttemptAt(attempt, 2)).toBe(isAt);
  });
});

describe("submittedAttempts", () => {
  const proofs = [{ field: "tests", proof: "log.txt" }];
  const waived = [{ fields: ["docs"], version: 1, by: "ann", reason: "none", authenticated: false }];
  const evidence = { inline: { phase: 1 } };

  it("has the place of what was submitted, with what was waived and what it rests on", () => {
    const run = Run.started(structure).do(submit(1, false), { ...submit(1), proofs, waived });
    const [failed, passed] = submittedAttempts(run.log);
    expect(failed).toMatchObject({ status: "failed", submitted: { evidence, version: 2 } });
    expect(failed).not.toHaveProperty("waived");
    expect(passed).toMatchObject({ status: "completed", proofs, waived, submitted: { evidence, version: 3 } });
    const bare = submittedAttempts(Run.started(structure).do(submit(1)).log);
    expect(bare[0]?.proofs).toBeUndefined();
    expect(bare[0]?.waived).toBeUndefined();
    expect(artifacts(run.log).get(1)).toMatchObject({ waived, evidence });
    expect(artifacts(Run.started(structure).do(submit(1)).log).get(1)?.waived).toBeUndefined();
  });

  it("has the place of what waits for an approval, until it is withdrawn", () => {
    const run = Run.started(structureOf([phaseOf(1, { gate: asking() }), 2])).do(submit(1));
    expect(submittedAttempts(run.log)).toMatchObject([{ status: "active", submitted: { evidence, version: 2 } }]);
    run.do({ type: "migrate", structure: run.structure, by: "ops" });
    expect(submittedAttempts(run.log)[0]).not.toHaveProperty("submitted");
  });
});

describe("a rollback", () => {
  it("marks what was completed from its target on, and leaves what had failed", () => {
    const run = Run.started(structure).do(submit(1, false), submit(1), submit(2), {
      type: "rollback",
      to: 2,
      by: "agent",
    });
    run.do(submit(2), { type: "rollback", to: 1, by: "agent" });
    expect(tries(run)).toEqual([
      ...["1.1 failed", "1.2 rolled_back", "2.1 rolled_back", "3.1 rolled_back", "2.1 rolled_back", "3.1 rolled_back"],
      "1.1 active",
    ]);
    const longer = Run.started(structureOf([1, 2, 3, 4])).do(submit(1), submit(2), submit(3));
    longer.do({ type: "rollback", to: 2, by: "agent" });
    expect(tries(longer)).toEqual([
      ...["1.1 completed", "2.1 rolled_back", "3.1 rolled_back", "4.1 rolled_back"],
      "2.1 active",
    ]);
  });
});
