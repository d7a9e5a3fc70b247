import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionCommand } from "../../../src/phased/state/commands.js";
import { comparePhases } from "../../../src/phased/state/compare-phases.js";
import { artifacts, gateFailures, phaseHistory } from "../../../src/phased/state/history.js";
import { acceptRefusal, differenceOf, moveTo } from "../../../src/phased/state/migration.js";
import { inRanges } from "../../../src/phased/state/ranges.js";
import type { PhaseDefinition, WorkflowStructure } from "../../../src/workflow/structure.js";
import { howOften } from "../../support/how-often.js";
import { asking, phaseOf, Run, structureOf, submit } from "./run.js";

type Part = string | readonly [name: string, parts: Partial<PhaseDefinition>];
/** Returns a structure with phases of these names, numbered from 1. */
function all(...parts: readonly Part[]): WorkflowStructure {
  const phases = parts.map((part, index) => {
    const [name, more] = typeof part === "string" ? [part, {}] : part;
    return phaseOf(index + 1, { name, ...more });
  });
  return structureOf(phases, {
    revision: `r of ${parts.map((part) => (typeof part === "string" ? part : part[0])).join()}`,
  });
}

const ask = (structure: WorkflowStructure, accept: Record<string, string> = {}): SessionCommand => {
  return { type: "migrate", structure, by: "ann", accept: new Map(Object.entries(accept)) };
};
const more: Part = ["B", { tasks: [{ number: 1, name: "More" }] }];

/** Returns a session on A, B, C, D that has passed A and B, with an artifact of each, and has failed once at C. */
const inC = (maxAttempts = 3) =>
  Run.started(all("A", "B", "C", "D"), { maxAttempts }).do(submit(1), submit(2), submit(3, false));

describe("a migrated session", () => {
  it("goes on in its phase under another number, with its attempts, failures and artifacts", () => {
    const run = inC();
    const { attempts, submission, phaseStartedAt } = run.state;
    run.do(ask(all("A", ["N", {}], "B", "C", "D"), { N: "done elsewhere" }));
    expect(run.state).toMatchObject({
      ...{
        status: "active",
        phase: 4,
        position: 3,
        total: 5,
        completed: [
          [0, 0],
          [2, 2],
        ],
        skipped: [[1, 1]],
      },
      ...{ attempts, submission, phaseStartedAt, spent: [[3, 1]] },
    });
    expect(run.types(2)).toEqual(["migrated", "phase_skipped"]);
    expect([...artifacts(run.log)].map(([number, { phase, evidence }]) => [number, phase, evidence])).toEqual([
      [1, 1, { inline: { phase: 1 } }],
      [3, 3, { inline: { phase: 2 } }],
    ]);
    expect(phaseHistory(run.log).map(({ phase, status, attempt, by }) => [phase, status, attempt, by])).toEqual([
      [1, "completed", 1, undefined],
      [3, "completed", 1, undefined],
      [4, "failed", 1, undefined],
      [2, "skipped", 1, "ann"],
      [4, "active", 2, undefined],
    ]);
    run.do(submit(4), submit(5));
    expect(run.state).toMatchObject({
      status: "completed",
      completed: [
        [0, 0],
        [2, 4],
      ],
    });
  });

  it("returns to the first new phase, and does again what comes after it", () => {
    const run = inC();
    run.do(ask(all("A", "N", "B", "C", "D")));
    expect(run.state).toMatchObject({ phase: 2, position: 1, completed: [[0, 0]], attempts: 0, spent: [] });
    expect(run.state.submission).toBeUndefined();
    expect([...artifacts(run.log).keys()]).toEqual([1]);
    expect(phaseHistory(run.log).map(({ phase, status }) => [phase, status])).toEqual([
      [1, "completed"],
      [3, "rolled_back"],
      [4, "failed"],
      [4, "rolled_back"],
      [2, "active"],
    ]);
    for (const phase of [3, 4, 5]) expect(run.refused(submit(phase)).code).toBe("PHASE_LOCKED");
    run.do(submit(2), submit(3), submit(4), submit(5));
    expect(run.state.status).toBe("completed");
  });

  it("does not skip a phase that was put in front of all others with their numbers", () => {
    const run = inC();
    run.do(ask(all("N", "A", "B", "C", "D")));
    expect(run.state).toMatchObject({ phase: 1, completed: [], skipped: [] });
    expect([...artifacts(run.log)]).toEqual([]);
  });

  it("begins its phase anew if that has changed, and goes to the next one if it is gone and that is accepted", () => {
    const changed = inC();
    changed.do(ask(all("A", "B", ["C", { gate: { kind: "open", allowOverride: true } }], "D")));
    expect(changed.state).toMatchObject({ phase: 3, completed: [[0, 1]], attempts: 0, spent: [] });
    const gone = inC();
    expect(gone.refused(ask(all("A", "B", "D"))).message).toBe("revision r of A,B,D of demo differs: C is gone");
    gone.do(ask(all("A", "B", "D"), { C: "merged into D" }));
    expect(gone.state).toMatchObject({ phase: 3, position: 2, completed: [[0, 1]] });
    expect(phaseHistory(gone.log).slice(2)).toMatchObject([
      { phase: 3, gone: "C", status: "failed" },
      {
        phase: 3,
        gone: "C",
        status: "rolled_back",
        notes: [{ by: "ann", note: "accepted that C is gone: merged into D" }],
      },
      { phase: 3, status: "active" },
    ]);
  });

  it("does not stay in front of a phase that it has completed and that comes later now", () => {
    const run = inC().do(ask(all("A", "C", "B", "D")));
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]], attempts: 1 });
    run.do(submit(2));
    expect(run.state.phase).toBe(3);
  });

  it("keeps the attempts at a phase that is gone through a further migration that moves phases", () => {
    const run = inC().do(ask(all("A", "B", "D"), { C: "merged into D" }));
    run.do(ask(all("N", "A", "B", "D"), { N: "done elsewhere" }));
    const gone = phaseHistory(run.log).filter((attempt) => attempt.gone !== undefined);
    expect(gone.map((attempt) => [attempt.gone, attempt.phase, attempt.status])).toEqual([
      ["C", 3, "failed"],
      ["C", 3, "rolled_back"],
    ]);
  });

  it("begins the attempts at a phase with 1, whatever was tried under its number before", () => {
    const attempts = (run: Run) =>
      phaseHistory(run.log).map(({ phase, gone, attempt, status }) => `${gone ?? phase}.${attempt} ${status}`);
    const before = inC().do(ask(all("A", "N", "B", "C", "D"), { N: "done elsewhere" }));
    expect(attempts(before)).toContain("2.1 skipped");
    const gone = inC().do(ask(all("A", "B", "D"), { C: "merged into D" }));
    gone.do(ask(all("A", "B", "N", "D"), { N: "done elsewhere" }));
    expect(attempts(gone)).toEqual([
      ...["1.1 completed", "2.1 completed", "C.1 failed", "C.2 rolled_back", "3.1 skipped", "4.1 active"],
    ]);
    expect(gateFailures(gone.log)).toMatchObject([{ phase: 3, gone: "C", attempt: 1 }]);
  });

  it("continues the count of attempts at a phase that has moved, also where the session has failed there", () => {
    const run = inC(1).do(ask(all("A", "N", "B", "C", "D"), { N: "done elsewhere" }));
    run.do({ type: "retryPhase", phase: 4, resetEvidence: false, by: "agent" });
    expect(phaseHistory(run.log).map(({ phase, attempt, status }) => [phase, attempt, status])).toEqual([
      ...[
        [1, 1, "completed"],
        [3, 1, "completed"],
        [4, 1, "failed"],
        [2, 1, "skipped"],
      ],
      [4, 2, "active"],
    ]);
  });

  it("has no attempt that ends, if the session has failed and another phase comes next", () => {
    const run = inC(1).do(ask(all("A", "B", "D"), { C: "merged into D" }));
    expect(phaseHistory(run.log).slice(2)).toMatchObject([
      { gone: "C", attempt: 1, status: "failed" },
      { phase: 3, attempt: 1, status: "active" },
    ]);
    expect(phaseHistory(run.log)).toHaveLength(4);
  });

  it("is rolled back from a phase on, with those that were skipped among them", () => {
    const moved = () => {
      const run = Run.started(all("A", "B", "C", "D")).do(submit(1), submit(2), submit(3));
      return run.do(ask(all("A", "B", "N", "C", "D"), { N: "done elsewhere" }));
    };
    const statuses = (to: number) => {
      const run = moved().do({ type: "rollback", to, by: "agent" });
      const done = phaseHistory(run.log).slice(0, -2);
      return Object.fromEntries(done.map(({ phase, status }) => [phase, status]));
    };
    expect(statuses(4)).toEqual({ 1: "completed", 2: "completed", 3: "skipped", 4: "rolled_back" });
    expect(statuses(3)).toEqual({ 1: "completed", 2: "completed", 3: "rolled_back", 4: "rolled_back" });
    expect(statuses(2)).toEqual({ 1: "completed", 2: "rolled_back", 3: "rolled_back", 4: "rolled_back" });
  });

  it("shows the attempts at phases that were rolled back, and come later, where those phases are now", () => {
    const run = inC().do({ type: "rollback", to: 1, by: "agent" }, ask(all("A", "N", "C", "B")));
    const shown = () => phaseHistory(run.log).map(({ phase, gone, status }) => [gone ?? phase, status]);
    const rolledBack = [
      [1, "rolled_back"],
      [4, "rolled_back"],
      [3, "failed"],
      [3, "rolled_back"],
      [1, "active"],
    ];
    expect(shown()).toEqual(rolledBack);
    run.do(ask(all("A", "N")));
    expect(shown()).toEqual([
      ...[
        [1, "rolled_back"],
        ["B", "rolled_back"],
        ["C", "failed"],
        ["C", "rolled_back"],
        [1, "active"],
      ],
    ]);
  });

  it("needs an accepted reason for each phase behind it that is gone or has changed", () => {
    const run = inC();
    const after = all(more, "C", "D");
    const refused = run.refused(ask(after));
    expect(refused).toMatchObject({
      code: "NOT_ALLOWED",
      message: "revision r of B,C,D of demo differs: B has other tasks; A is gone",
      remedy: expect.stringContaining("B, A"),
      details: {
        ...{ phase: 3, operation: "migrate" },
        phases: [
          { name: "B", is: "changed", was: 2, will: 1, what: ["tasks"] },
          { name: "C", is: "moved", was: 3, will: 2 },
          { name: "A", is: "gone", was: 1 },
        ],
      },
    });
    expect(run.refused(ask(after, { A: "not needed" })).message).toContain("differs: B has other tasks");
    run.do(ask(after, { A: "not needed", B: "the tasks were done" }));
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]], attempts: 1 });
    expect(run.log.at(-1)?.event).toMatchObject({
      accepted: [
        { name: "B", is: "changed", what: ["tasks"], reason: "the tasks were done" },
        { name: "A", is: "gone", reason: "not needed" },
      ],
    });
    expect([...artifacts(run.log).keys()]).toEqual([1]);
  });

  const numbered = (...numbers: number[]) =>
    structureOf(["A", "B", "C", "D"].map((name, index) => phaseOf(numbers[index] ?? 0, { name })));
  it.each<[string, WorkflowStructure, Record<string, string>, object]>([
    ["nothing differs up to its phase", all("A", "B", "C", "X", "Y"), {}, { isInPlace: true, place: 2 }],
    ["a changed phase counts as done", all("A", more, "C", "D"), { B: "done" }, { isInPlace: true, place: 2 }],
    ["phases behind it have changed places", all("B", "A", "C", "D"), {}, { isInPlace: false, place: 2 }],
    ["phases have other numbers", numbered(1, 2, 4, 5), {}, { isInPlace: false, place: 2 }],
    ["one before it has another number", numbered(0, 2, 3, 4), {}, { isInPlace: false, place: 2 }],
    ["there is a phase more", all("A", "N", "B", "C"), { N: "done" }, { isInPlace: false, place: 3 }],
    ["there is a phase less", all("B", "C", "D"), { A: "done" }, { isInPlace: false, place: 1 }],
    ["its own phase has changed", all("A", "B", ["C", more[1]], "D"), {}, { isInPlace: false, staysInPhase: false }],
  ])("stays in place only if all up to its phase do: %s", (_, after, accept, expected) => {
    const given = { before: all("A", "B", "C", "D"), after, by: "ann", accept: new Map(Object.entries(accept)) };
    expect(moveTo(inC().state, given)).toMatchObject({ needsAccept: [], staysInPhase: true, ...expected });
  });

  it("stays in place also where sessions do not begin with the first phase", () => {
    const before = { ...all("A", "B", "C", "D"), startPhase: 2 };
    const run = Run.started(before).do(submit(2));
    expect(moveTo(run.state, { before, after: before, by: "ann" })).toMatchObject({
      isInPlace: true,
      places: { length: 2 },
    });
    const after = all("A", "B", "C", "D");
    expect(moveTo(run.state, { before, after, by: "ann", accept: new Map([["A", "done"]]) })).toMatchObject({
      place: 2,
    });
  });

  it("is told which names it can accept, and that each needs a reason", () => {
    const phases = comparePhases(all("A", "B", "C", "D"), all(more, "C", "D"), 2);
    const refusal = (accept: Record<string, string>, of = phases) => acceptRefusal(new Map(Object.entries(accept)), of);
    expect(refusal({ A: "done", B: "done" })).toBeUndefined();
    expect(refusal({ C: "done" })).toMatchObject({
      code: "INVALID_INPUT",
      details: { field: "accept", expected: expect.stringMatching(/B.*A/) },
    });
    expect(refusal({ A: " " })).toMatchObject({ details: { field: "accept", expected: "a reason for each name" } });
    const same = comparePhases(all("A", "B"), all("A", "B"), 1);
    expect(refusal({ A: "done" }, same)).toMatchObject({ details: { expected: "nothing: no phase differs" } });
  });

  it("keeps the failures at a phase that is gone, under its old number", () => {
    const run = inC().do(ask(all("A", "B", "D"), { C: "not needed" }));
    expect(gateFailures(run.log)).toMatchObject([{ phase: 3, attempt: 1, gone: expect.anything() }]);
  });

  it("keeps what was waived in the phases that stay done", () => {
    const waived = [{ fields: ["done"], version: 1, by: "ann", reason: "none", authenticated: false }];
    const run = Run.started(all("A", "B", "C")).do({ ...submit(1), waived });
    run.do(ask(all(["N", {}], "A", "B", "C"), { N: "done elsewhere" }));
    expect(run.state).toMatchObject({ phase: 3, completed: [[1, 1]], withWaivers: [[1, 1]] });
  });

  it("on a plan stays in place: its static phases must be the same", () => {
    const plan = { path: "tasks.md", hash: "1", dialect: "kiro", shift: 1, ticked: true };
    const onPlan = (...statics: Part[]) => {
      const structure = all(...statics, ["B", { plan: { number: 1 } }]);
      return { ...structure, plan };
    };
    const run = Run.started(onPlan("A")).do(submit(1));
    const pinnedTwice = onPlan("A", "N");
    const numbers = [1, 2, 2];
    const phases = pinnedTwice.phases.map((phase, place) => ({ ...phase, number: numbers[place] ?? 0 }));
    expect(run.refused(ask({ ...pinnedTwice, phases }))).toMatchObject({
      message: expect.stringContaining("is not the same up to phase 2: N is new"),
    });
    expect(run.refused(ask(onPlan(["A", { tasks: [{ number: 1, name: "More" }] }])))).toMatchObject({
      message: expect.stringContaining("is not the same up to phase 2: A has other tasks"),
    });
    run.do(ask(onPlan("A")));
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]] });
  });

  it("has words for each kind of difference", () => {
    const words = (["same", "new", "gone"] as const).map((is) => differenceOf({ name: "A", is }));
    const others = [
      differenceOf({ name: "A", is: "moved", was: 1, will: 2 }),
      differenceOf({ name: "A", is: "changed", what: ["gate", "tasks"] }),
      differenceOf({ name: "A", is: "changed" }),
    ];
    expect([...words, ...others]).toEqual([
      ...["is the same", "is new", "is gone", "is phase 2, not 1", "has another gate and other tasks", "has "],
    ]);
  });

  it("has nothing to accept where nothing differs", () => {
    expect(inC().refused(ask(all("A", "B", "C", "D"), { X: "why" }))).toMatchObject({
      remedy: "Accept nothing: no phase differs.",
    });
  });

  it("names a few of many differences", () => {
    const names = Array.from({ length: 25 }, (_, index) => `P${index + 1}`);
    const run = Run.started(all(...names, "Last"));
    for (const [index] of names.entries()) run.do(submit(index + 1));
    expect(run.refused(ask(all("Last"))).message).toMatch(/P1 is gone; .*P20 is gone; …$/);
  });

  it("does a changed phase again, without a reason, if a new one comes before it", () => {
    const run = inC().do(ask(all("A", "N", more, "C", "D")));
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]] });
  });

  it.each([
    ["a name of no difference", { X: "why" }, 'accept: "X" is not among the differences'],
    ["the name of a phase that is the same", { B: "why" }, 'accept: "B" is not among the differences'],
    ["the name of a phase ahead", { Z: "why" }, 'accept: "Z" is not among the differences'],
    ["a blank reason", { A: " " }, 'accept: "A" has no reason'],
    ["a reason that is too long", { A: "x".repeat(2001) }, "'reason' is longer than 2000 characters"],
  ])("is refused with %s", (_, accept, message) => {
    const refused = inC().refused(ask(all("B", "C", "D", "Z"), { A: "gone", ...accept }));
    expect(refused).toMatchObject({ code: "INVALID_INPUT", message });
  });

  it("skips new phases whose rule holds, and stays where it is", () => {
    const run = inC();
    run.skips = (position) => (position === 0 ? { reason: "no docs", rule: "true" } : undefined);
    run.do(ask(all("N", "A", "B", "C", "D")));
    expect(run.state).toMatchObject({ phase: 4, completed: [[1, 2]], skipped: [[0, 0]], attempts: 1 });
    expect(run.log.at(-1)?.event).toMatchObject({ type: "phase_skipped", by: "skip_when", rule: "true", phase: 1 });
  });

  it("is not completed by it, also not by rules", () => {
    const run = inC();
    const refused = run.refused(ask(all("A", "B"), { C: "gone" }));
    expect(refused.message).toBe("revision r of A,B of demo has nothing left to do for this session");
    run.skips = () => ({ reason: "r", rule: "true" });
    expect(run.refused(ask(all("A", "B", "X"), { C: "gone" })).code).toBe("NOT_ALLOWED");
  });

  it("keeps its status where it goes on in its phase; otherwise it is active, or stays paused", () => {
    const paused = inC().do({ type: "pause", note: "for lunch" });
    const failed = inC(1);
    for (const [run, status] of [
      [paused, "paused"],
      [failed, "failed"],
    ] as const) {
      run.do(ask(all("A", "B", "C", "E")));
      expect(run.state).toMatchObject({ status, phase: 3, attempts: 1 });
      run.do(ask(all("A", "X", "B", "C", "E"), { X: "not needed" }));
      expect(run.state).toMatchObject({ status, phase: 4, attempts: 1, skipped: [[1, 1]] });
    }
    paused.do(ask(all("N", "A", "X", "B", "C", "E")));
    expect(paused.state).toMatchObject({ status: "paused", phase: 1, note: "for lunch", completed: [] });
    paused.do({ type: "resume" }, submit(1));
    expect(paused.state).toMatchObject({ status: "active", phase: 2 });
    failed.do(ask(all("N", "A", "X", "B", "C", "E")));
    expect(failed.state).toMatchObject({ status: "active", phase: 1, attempts: 0, spent: [] });
  });

  it("withdraws an approval that is awaited, and can be rolled back by its new numbers", () => {
    const gate = asking();
    const run = Run.started(all("A", ["B", { gate }], "C")).do(submit(1), submit(2));
    expect(run.state.awaiting).toBeDefined();
    run.do(ask(all("A", "N", ["B", { gate }], "C"), { N: "no" }));
    expect(run.state.awaiting).toBeUndefined();
    run.do({ type: "rollback", to: 2, by: "agent" });
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]], skipped: [] });
    expect(phaseHistory(run.log).map(({ phase, status }) => [phase, status])).toEqual([
      [1, "completed"],
      [2, "rolled_back"],
      [3, "rolled_back"],
      [2, "active"],
    ]);
  });
});

const NAMES = ["A", "B", "C", "D", "E", "F"];
const GATES: readonly Partial<PhaseDefinition>[] = [{}, { gate: asking(true) }, { tasks: [{ number: 1, name: "t" }] }];
const drafts = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.nat({ max: 2 })), {
    minLength: 1,
    maxLength: 6,
    selector: ([name]) => name,
  })
  .chain((phases) =>
    fc.tuple(
      fc.constant(phases),
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 6, maxLength: 6 }),
      fc.nat({ max: 5 }),
    ),
  )
  .map(([phases, gaps, start]) => {
    let number = 0;
    const numbered = phases.map(([name, gate], index) => {
      number += gaps[index] ?? 1;
      return phaseOf(number, { name, skippable: true, ...GATES[gate] });
    });
    return structureOf(numbered, { startPhase: numbered[start < numbered.length ? start : 0]?.number ?? 0 });
  });

describe("any migration", () => {
  const asText = ({ name, gate, tasks }: PhaseDefinition) => JSON.stringify([name, gate, tasks]);

  it("counts as completed only what was completed as the same phase, or was accepted by name", () => {
    let moved = 0;
    const steps = fc.array(fc.constantFrom("pass", "pass", "skip", "fail"), { maxLength: 6 });
    const accepts = fc.oneof(fc.constant(NAMES), fc.subarray(NAMES));
    const later = fc.array(fc.tuple(drafts, accepts), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(drafts, steps, later, (first, worked, migrations) => {
        const run = Run.started(first, { maxAttempts: 9 });
        for (const step of worked) {
          const { phase, status } = run.state;
          if (status === "completed") return;
          if (step === "skip") run.ask({ type: "skipPhase", phase, by: "ann", reason: "r" });
          else if (step === "fail") run.ask(submit(phase, false));
          else run.ask({ type: "overrideGate", phase, by: "ann", reason: "r" }) ?? run.ask(submit(phase));
        }
        for (const [after, names] of migrations) {
          const { structure: before, state: head } = run;
          if (head.status === "completed") return;
          const differing = comparePhases(before, after, head.position).filter(
            ({ is }) => is !== "same" && is !== "moved",
          );
          const accepted = names.filter((name) => differing.some((one) => one.name === name));
          const done = before.phases.filter((_, at) => inRanges(head.completed, at) || inRanges(head.skipped, at));
          const asDone = (phase: PhaseDefinition) => done.some((one) => asText(one) === asText(phase));
          if (run.ask(ask(after, Object.fromEntries(accepted.map((name) => [name, "seen"])))) !== undefined) continue;
          moved += 1;
          const { completed, skipped, position } = run.state;
          for (const [at, phase] of run.structure.phases.entries()) {
            const [isCompleted, isSkipped] = [inRanges(completed, at), inRanges(skipped, at)];
            const isAccepted = accepted.includes(phase.name);
            if (isCompleted)
              expect(asDone(phase) || (isAccepted && done.some(({ name }) => name === phase.name))).toBe(true);
            if (isSkipped) expect(asDone(phase) || isAccepted).toBe(true);
            if (phase.number >= after.startPhase) expect(isCompleted || isSkipped).toBe(at < position);
          }
          const numbers = run.structure.phases.map(({ number }) => number);
          for (const [number, { position: at }] of artifacts(run.log)) {
            expect(numbers[at]).toBe(number);
            expect(inRanges(completed, at)).toBe(true);
          }
        }
      }),
      { numRuns: howOften(500, 3_000) },
    );
    expect(moved).toBeGreaterThan(100);
  });
});
