import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import type { Plan, PlanReading, PlanTask } from "../../src/plan/plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { howOften } from "../support/how-often.js";
import { accounted, lostCheckboxes, placedCheckboxes } from "./found-checkboxes.js";
import { arbitraryPlan } from "./random-plans.js";

const RUNS = Number(process.env.PHASEGATE_PROPERTY_RUNS ?? howOften(50, 20_000));
const LIMIT = { timeout: Math.max(20_000, RUNS * 40) };

/** Returns a reading, or undefined if the text is refused as not a plan. */
function read(text: string): PlanReading | undefined {
  try {
    return parsePlan(text);
  } catch (error) {
    if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
    expect(error.details).toMatchObject({ file: "tasks.md", line: expect.any(Number) });
    expect(error.remedy).not.toBe("");
    return undefined;
  }
}

function tasksOf({ phases }: Plan): readonly PlanTask[] {
  return phases.flatMap((phase) => phase.tasks);
}

/** Returns what a tick must not change: everything except states and positions. */
function shape(plan: Plan, but: ReadonlySet<string>) {
  return plan.phases.map(({ number, name, tasks, validationGate }) => ({
    number,
    name,
    gate: validationGate.map(({ text, checked }) => ({ text, checked })),
    tasks: tasks.map(({ id, name: task, state, acceptanceCriteria, dependencies }) => ({
      id,
      task,
      dependencies,
      state: but.has(id) ? "" : state,
      criteria: acceptanceCriteria.map(({ text, checked }) => ({ text, checked })),
    })),
  }));
}

/** Checks that line, column and offset of a position agree. */
function agrees(text: string, { line, column, offset }: { line: number; column: number; offset: number }): void {
  const before = text.slice(0, offset);
  const lines = before.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  expect({ line, column }).toEqual({ line: lines.length, column: (lines.at(-1) ?? "").length + 1 });
}

describe("parsePlan, on random plans", () => {
  it("places or reports every checkbox once", LIMIT, () => {
    fc.assert(
      fc.property(arbitraryPlan, (text) => {
        const reading = read(text);
        if (reading === undefined) return;
        const found = accounted(reading);
        expect(new Set(found).size).toBe(found.length);
        for (const { line, text: lost } of lostCheckboxes(text, reading)) expect.fail(`lost: line ${line}: ${lost}`);
      }),
      { numRuns: RUNS },
    );
  });

  it("returns valid positions, ids and dependencies", LIMIT, () => {
    fc.assert(
      fc.property(arbitraryPlan, (text) => {
        const reading = read(text);
        if (reading === undefined) return;
        const { plan } = reading;
        const tasks = tasksOf(plan);
        const ids = new Set(tasks.map(({ id }) => id));
        expect(ids.size).toBe(tasks.length);
        expect(plan.phases.length).toBeGreaterThan(0);
        const numbers = plan.phases.map(({ number }) => number);
        expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
        for (const { mark, position } of placedCheckboxes(plan)) {
          agrees(text, position);
          if (mark !== "") expect(text.slice(position.offset).startsWith(mark)).toBe(true);
          else expect(text.charAt(position.offset)).toMatch(/[^\S\r\n]|\]|\\/);
        }
        for (const { position } of [...plan.phases, ...tasks]) agrees(text, position);
        for (const { id, dependencies } of tasks) {
          expect(dependencies.every((needed) => ids.has(needed) && needed !== id)).toBe(true);
        }
        const { order, waves, cycles } = planOrder(plan);
        expect(waves.flat()).toEqual(order);
        expect([...order, ...cycles].sort()).toEqual([...ids].sort());
      }),
      { numRuns: RUNS },
    );
  });

  it("ticks by changing one character, which changes only that state, and unticks", LIMIT, () => {
    fc.assert(
      fc.property(arbitraryPlan, fc.nat(), (text, pick) => {
        const reading = read(text);
        const plan = reading?.plan;
        const open = plan === undefined ? [] : tasksOf(plan).filter(({ checkbox }) => checkbox?.mark === "");
        const task = open[pick % Math.max(open.length, 1)];
        if (plan === undefined || task?.checkbox === undefined) return;
        const { offset } = task.checkbox.position;
        const ticked = tickTask(text, plan, task.id);
        const there = text.charAt(offset) === "]" ? 0 : 1;
        const [before, after] = [text.slice(0, offset), text.slice(offset + there)];
        // A status line says in words what its box says: the words change with it.
        const isStatus = /status\W*$/i.test(before.slice(0, -1));
        const words = isStatus ? after.replace(/^\][^\n]*/, ticked.slice(offset + 1).split("\n")[0] ?? "") : after;
        expect(ticked).toBe(`${before}x${words}`);
        const again = parsePlan(ticked).plan;
        expect(tasksOf(again).find(({ id }) => id === task.id)?.state).toBe("done");
        // A task that says done counts as open until the last box inside it is ticked.
        const held = reading?.diagnostics.filter(({ code }) => code === "TASK_TICKED_OPEN").map(({ line }) => line);
        const owners = tasksOf(plan).filter(({ position }) => held?.includes(position.line));
        // So does a title without a box, whose state is that of the boxes below it.
        const titles = tasksOf(plan).filter(({ checkbox }) => checkbox === undefined);
        const but = new Set([task, ...owners, ...titles].map(({ id }) => id));
        expect(shape(again, but)).toEqual(shape(plan, but));
        if (there === 1) expect(tickTask(ticked, again, task.id, { done: false })).toBe(spaced(text, offset));
      }),
      { numRuns: RUNS },
    );
  });
});

/** An untick writes a space, even if there was a tab. */
function spaced(text: string, offset: number): string {
  return `${text.slice(0, offset)} ${text.slice(offset + 1)}`;
}
