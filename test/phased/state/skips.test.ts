import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { landing, readingRefusal, type SessionCommand } from "../../../src/phased/state/commands.js";
import { sessionEventSchema } from "../../../src/phased/state/events.js";
import { applyEvent, type SessionHead } from "../../../src/phased/state/head.js";
import { phaseHistory } from "../../../src/phased/state/history.js";
import { inRanges, numbersIn } from "../../../src/phased/state/ranges.js";
import type { WorkflowStructure } from "../../../src/workflow/structure.js";
import { asking, phaseOf, Run, structureOf, submit, word } from "./run.js";

const free = { kind: "open", allowOverride: true } as const;
const loose = (count: number) =>
  structureOf(Array.from({ length: count }, (_, index) => phaseOf(index + 1, { skippable: true, gate: free })));
const rollback = (to: number): SessionCommand => ({ type: "rollback", to, by: "agent" });

/** Creates a session that skips the phases at these positions. */
function skipping(structure: WorkflowStructure, ...positions: readonly number[]): Run {
  const run = new Run(structure);
  run.skips = (position) => (positions.includes(position) ? { reason: "no docs", rule: "true" } : undefined);
  return run.do({ type: "start", target: "src/a.ts", options: {} });
}

describe("a phase whose rule holds", () => {
  it("is skipped at the start, with the reason in the log", () => {
    const run = skipping(loose(3), 0, 1);
    expect(run.types(4)).toEqual(["started", "phase_skipped", "phase_skipped", "phase_entered"]);
    expect(run.log[1]?.event).toEqual({
      ...{ type: "phase_skipped", phase: 1, position: 0 },
      ...{ by: "skip_when", reason: "no docs", rule: "true" },
    });
    expect(run.state).toMatchObject({ status: "active", phase: 3, position: 2, skipped: [[0, 1]], completed: [] });
    expect(phaseHistory(run.log)).toMatchObject([
      { phase: 1, status: "skipped", reason: "no docs", by: "skip_when" },
      { phase: 2, status: "skipped" },
      { phase: 3, status: "active" },
    ]);
  });

  it("is skipped after a gate, after an override and after a host's own skip", () => {
    for (const command of [
      submit(1),
      { type: "overrideGate", phase: 1, by: "ann", reason: "seen" },
      { type: "skipPhase", phase: 1, by: "ann", reason: "known" },
    ] as const) {
      const run = skipping(loose(3), 1).do(command);
      expect(run.state).toMatchObject({ phase: 3, position: 2 });
      expect(run.types(2)).toEqual(["phase_skipped", "phase_entered"]);
      // Only a rule's skips name their rule.
      const rules = run.log.flatMap(({ event }) => (event.type === "phase_skipped" ? [event.rule] : []));
      expect(rules).toEqual(command.type === "skipPhase" ? [undefined, "true"] : ["true"]);
    }
  });

  it("is skipped after a person's approval", () => {
    const run = skipping(structureOf([phaseOf(1, { gate: asking() }), 2, 3]), 1).do(submit(1));
    run.do(word(run, "approve"));
    expect(run.types(4)).toEqual(["approved", "gate_passed", "phase_skipped", "phase_entered"]);
    expect(run.state).toMatchObject({ phase: 3 });
  });

  it("completes the workflow if it is the last one, and can be read then", () => {
    const run = skipping(loose(3), 1, 2).do(submit(1));
    expect(run.state).toMatchObject({ status: "completed", phase: 3, position: 2, skipped: [[1, 2]] });
    for (const phase of [1, 2, 3]) expect(readingRefusal(run.state, phase, run.structure)).toBeUndefined();
  });

  it("completes the workflow at once if all are skipped", () => {
    const run = skipping(loose(2), 0, 1);
    expect(run.state).toMatchObject({ status: "completed", phase: 2, position: 1, skipped: [[0, 1]] });
  });

  it("is skipped again after a rollback, also one that goes to it", () => {
    const run = skipping(loose(4), 1).do(submit(1), submit(3), rollback(1));
    expect(run.state).toMatchObject({ phase: 1, skipped: [], completed: [] });
    expect(run.do(submit(1)).state).toMatchObject({ phase: 3, skipped: [[1, 1]] });
    expect(run.do(submit(3), rollback(2)).state).toMatchObject({ phase: 3, completed: [[0, 0]], skipped: [[1, 1]] });
    expect(run.types(3)).toEqual(["rolled_back", "phase_skipped", "phase_entered"]);
  });

  it("stays the current one if the rule of a newer definition holds for it", () => {
    const run = skipping(loose(3)).do(submit(1));
    run.skips = (position) => (position < 3 ? { reason: "new rule", rule: "true" } : undefined);
    run.do({ type: "migrate", structure: loose(3), by: "ann" });
    expect(run.state).toMatchObject({ phase: 2, status: "active", skipped: [] });
    expect(run.do(submit(2)).state).toMatchObject({ status: "completed", completed: [[0, 1]], skipped: [[2, 2]] });
  });

  it("gives a failed session no more attempts in total", () => {
    const run = new Run(loose(3), { maxAttempts: 3, maxAttemptsTotal: 2 });
    run.skips = (position) => (position === 0 ? { reason: "no docs", rule: "true" } : undefined);
    run.do({ type: "start", target: "a", options: {} }, submit(2, false), submit(2, false), rollback(1));
    expect(run.state).toMatchObject({ phase: 2, status: "active", skipped: [[0, 0]] });
    expect(run.refused(submit(2)).code).toBe("ATTEMPTS_EXHAUSTED");
  });
});

describe("landing", () => {
  it("returns the first position that is not skipped, and the number of phases if there is none", () => {
    const skips = (position: number) => (position === 1 || position > 2 ? { reason: "", rule: "" } : undefined);
    const structure = loose(5);
    expect([0, 1, 2, 3, 5].map((position) => landing(position, structure, skips))).toEqual([0, 2, 2, 5, 5]);
    expect(landing(1, structure, undefined)).toBe(1);
  });
});

describe("any session with skipped phases", () => {
  it("enters no phase whose rule holds, skips no other one, and is the fold of its log", () => {
    const steps = fc.array(fc.constantFrom("pass", "fail", "back"), { maxLength: 25 });
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), steps, (skipped, moves) => {
        const run = skipping(loose(skipped.length), ...skipped.flatMap((isSkipped, at) => (isSkipped ? [at] : [])));
        for (const move of moves) {
          const { phase, status, position } = run.state;
          if (move === "back") run.ask(rollback(Math.max(1, phase - 2)));
          else run.ask(submit(phase, move === "pass"));
          if (status === "active") expect(skipped[position]).toBe(false);
        }
        let head: SessionHead | undefined;
        for (const { event, at, version } of run.log) {
          head = applyEvent(head, sessionEventSchema.parse(event), { at, version });
          if (event.type === "phase_entered") expect(skipped[event.position]).toBe(false);
          if (event.type === "phase_skipped") expect(skipped[event.position]).toBe(true);
        }
        expect(head).toEqual(run.state);
        for (const position of numbersIn(run.state.skipped)) {
          expect(skipped[position]).toBe(true);
          expect(inRanges(run.state.completed, position)).toBe(false);
        }
        const isOver = run.state.status === "completed";
        const done = [...numbersIn(run.state.completed), ...numbersIn(run.state.skipped)];
        if (isOver) expect(new Set(done).size).toBe(skipped.length);
      }),
    );
  });
});
