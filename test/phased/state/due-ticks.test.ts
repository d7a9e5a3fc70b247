import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionCommand } from "../../../src/phased/state/commands.js";
import type { PlanChanges } from "../../../src/phased/state/events.js";
import { joinRanges, numbersIn, type Ranges } from "../../../src/phased/state/ranges.js";
import { transition } from "../../../src/phased/state/transition.js";
import type { PlanGate, WorkflowStructure } from "../../../src/workflow/structure.js";
import { phaseOf, Run, structureOf, submit } from "./run.js";

const gate: PlanGate = { kind: "plan", allowOverride: false, tasks: [], items: [] };
const planned = (number: number) => phaseOf(number, { gate, plan: { number } });
const plan = { path: "tasks.md", hash: "1", dialect: "praxis-os", shift: 0, ticked: true };
/** One static phase, and three of a plan. */
const structure = structureOf([0, planned(1), planned(2), planned(3)], { plan });

const none: PlanChanges = {
  ...{ added: [], removed: [], renamed: [], moved: [], dependencies: [], criteria: [], gate: [], other: [] },
  count: 0,
  takenAway: [],
  counts: { added: 0, removed: 0, renamed: 0, moved: 0, dependencies: 0, criteria: 0, gate: 0, other: 0 },
};
const written = (ticks: Ranges, unticks: Ranges = []): SessionCommand => ({
  type: "planTicked",
  ticked: { ticks, unticks, ticked: [], unticked: [], missing: [] },
});
const rollback = (to: number): SessionCommand => ({ type: "rollback", to, by: "agent" });
const sync = (to: WorkflowStructure): SessionCommand => ({
  type: "syncPlan",
  structure: to,
  by: "agent",
  changes: none,
  places: [],
});

describe("due ticks of a plan", () => {
  it("are added for each phase that passes, until they are written", () => {
    const run = Run.started(structure).do(submit(0));
    expect(run.state.due).toBeUndefined();
    run.do(submit(1), submit(2));
    expect(run.state.due).toEqual({ tick: [[1, 2]], untick: [] });
    run.do(written([[1, 1]]));
    expect(run.state.due).toEqual({ tick: [[2, 2]], untick: [] });
    run.do(written([[2, 2]]));
    expect(run.state.due).toBeUndefined();
  });

  it("are empty for a source that is never written, and for phases outside of a plan", () => {
    const unwritten = structureOf(structure.phases, { plan: { ...plan, ticked: false } });
    expect(Run.started(unwritten).do(submit(0), submit(1), rollback(0)).state.due).toBeUndefined();
    expect(Run.started(structureOf([0, 1])).do(submit(0)).state.due).toBeUndefined();
  });

  it("stay after a rollback that reaches no phase of the plan", () => {
    const run = Run.started(structureOf([planned(1), 2, 3], { plan })).do(submit(1), submit(2), rollback(2));
    expect(run.state.due).toEqual({ tick: [[0, 0]], untick: [] });
  });

  it("become removals from the first phase on", () => {
    const whole = structureOf([planned(1), planned(2)], { plan });
    expect(Run.started(whole).do(submit(1), rollback(1)).state.due).toEqual({ tick: [], untick: [[0, 0]] });
  });

  it("become removals after a rollback, written or not", () => {
    const run = Run.started(structure).do(submit(0), submit(1), submit(2), written([[1, 1]]), rollback(1));
    expect(run.state.due).toEqual({ tick: [], untick: [[1, 2]] });
    run.do(written([], [[1, 2]]));
    expect(run.state.due).toBeUndefined();
    run.do(submit(1), submit(2), written([[1, 2]]), rollback(2));
    expect(run.state.due).toEqual({ tick: [], untick: [[2, 2]] });
    expect(run.log.at(-2)?.event).toMatchObject({ type: "rolled_back", unticksFrom: 2 });
    run.do(written([], [[2, 2]]), rollback(1), submit(1), written([[1, 1]]), rollback(0), submit(0));
    expect(run.state.due).toEqual({ tick: [], untick: [[1, 1]] });
  });

  it("contain both for a phase that passes again before its ticks were removed", () => {
    const run = Run.started(structure).do(submit(0), submit(1), rollback(1), submit(1));
    expect(run.state.due).toEqual({ tick: [[1, 1]], untick: [[1, 1]] });
    run.do(written([[1, 1]], [[1, 1]]));
    expect(run.state.due).toBeUndefined();
  });

  it("are reversed if the session was rolled back or passed again while they were written", () => {
    const back = Run.started(structure).do(submit(0), submit(1), rollback(1), written([], [[1, 1]]), written([[1, 1]]));
    expect(back.state.due).toEqual({ tick: [], untick: [[1, 1]] });
    const forth = Run.started(structure).do(submit(0), submit(1), written([[1, 1]]), written([], [[1, 1]]));
    expect(forth.state.due).toEqual({ tick: [[1, 1]], untick: [] });
  });

  it("stay due through all other commands, and are written for a completed session too", () => {
    const run = Run.started(structure).do(
      submit(0),
      submit(1),
      { type: "pause" },
      { type: "resume" },
      submit(2, false),
    );
    expect(run.state.due).toEqual({ tick: [[1, 1]], untick: [] });
    run.do(submit(2), submit(3), written([[1, 3]]));
    expect(run.state).toMatchObject({ status: "completed", due: undefined });
  });

  it("are dropped when the session is deleted", () => {
    expect(Run.started(structure).do(submit(0), submit(1), { type: "delete" }).state.due).toBeUndefined();
  });

  it("are empty after all of them were written, in any sequence of commands", () => {
    const step = fc.oneof(
      fc.constant("pass"),
      fc.constant("fail"),
      fc.constant("write"),
      fc.nat({ max: 3 }).map((to) => rollback(to)),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const run = Run.started(structure, { maxAttempts: 100, maxAttemptsTotal: 100 });
        /** Returns the places whose tasks are ticked in a file that is written according to the head. */
        const file = new Set<number>();
        const write = () => {
          const { due } = run.state;
          if (due === undefined) return;
          for (const place of numbersIn(due.untick)) file.delete(place);
          for (const place of numbersIn(due.tick)) file.add(place);
          run.do(written(due.tick, due.untick));
        };
        for (const drawn of steps) {
          if (drawn === "write") write();
          else if (typeof drawn === "string") run.ask(submit(run.state.phase, drawn === "pass"));
          else run.ask(drawn);
        }
        write();
        expect(run.state.due).toBeUndefined();
        expect([...file].sort()).toEqual(numbersIn(run.state.completed).filter((place) => place > 0));
      }),
    );
  });

  it("are computed without changing the previous head", () => {
    const run = Run.started(structure).do(submit(0), submit(1));
    const before = structuredClone(run.state);
    const context = { structure, limits: run.limits, at: "2026-01-01T00:00:00.000Z", version: 9 };
    const [one, other] = [1, 2].map(() => transition(run.state, { command: rollback(1), ...context }, context));
    expect(one).toEqual(other);
    expect(run.state).toEqual(before);
  });
});

describe("a plan sync", () => {
  it("replaces the structure from its commit on, and keeps completed phases and attempts", () => {
    const longer = structureOf([...structure.phases, planned(5)], { plan: { ...plan, hash: "2" } });
    const run = Run.started(structure).do(submit(0), submit(1), submit(2, false), sync(longer));
    expect(run.state).toMatchObject({
      structureVersion: 5,
      total: 5,
      position: 2,
      phase: 2,
      attempts: 1,
      spent: [[2, 1]],
    });
    expect(run.types(1)).toEqual(["plan_synced"]);
    expect(run.state.due).toEqual({ tick: [[1, 1]], untick: [] });
  });

  it("is refused if a phase up to the current one is missing, and for a completed session", () => {
    const run = Run.started(structure).do(submit(0), submit(1));
    expect(run.refused(sync(structureOf([0, planned(2), planned(3)], { plan })))).toMatchObject({
      code: "NOT_ALLOWED",
      details: { operation: "syncPlan" },
    });
    run.do(submit(2), submit(3));
    expect(run.refused(sync(structure)).code).toBe("INVALID_TRANSITION");
  });
});

describe("joinRanges", () => {
  it("returns the places of both ranges that pass a test", () => {
    expect(
      joinRanges(
        [[1, 3]],
        [
          [3, 5],
          [8, 8],
        ],
        () => true,
      ),
    ).toEqual([
      [1, 5],
      [8, 8],
    ]);
    expect(joinRanges([[1, 3]], [[5, 5]], (place) => place !== 2)).toEqual([
      [1, 1],
      [3, 3],
      [5, 5],
    ]);
    expect(
      numbersIn([
        [1, 2],
        [4, 4],
      ]),
    ).toEqual([1, 2, 4]);
  });
});
