import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { checkLength, PLAN_MAX, PlanReport, planError } from "../../src/plan/plan.js";
import { taskMasterParser } from "../../src/plan/task-master.js";

const PHASE = "## Phase 1: A\n- [ ] **Task 1.1**: b\n";

function refusal(text: string, parse = (source: string): unknown => parsePlan(source, { file: "specs/tasks.md" })) {
  try {
    parse(text);
  } catch (error) {
    if (isPhasegateError(error, "PLAN_PARSE"))
      return { ...error.details, message: error.message, remedy: error.remedy };
    throw error;
  }
  throw new Error("it was read");
}

describe("a report", () => {
  /** Returns a report with so many errors and warnings. */
  const reportOf = (errors: number, warnings: number) => {
    const report = new PlanReport("tasks.md");
    for (let line = 1; line <= errors; line += 1) report.warn("DEPENDENCY_CYCLE", { line }, "a cycle");
    for (let line = 1; line <= warnings; line += 1) report.warn("PHASE_EMPTY", { line, column: 2 }, "no tasks", "Add.");
    return report.sorted();
  };

  it("is in the order of the source", () => {
    const report = new PlanReport("tasks.md");
    report.warn("PHASE_EMPTY", { line: 2, column: 9 }, "c", "Add.");
    report.warn("DEPENDENCY_CYCLE", { line: 10 }, "d");
    report.warn("PHASE_EMPTY", { line: 2, column: 10 }, "e");
    report.warn("PHASE_EMPTY", { line: 2 }, "b");
    report.warn("PHASE_EMPTY", { line: 1, column: 50 }, "a");
    const hint = "Add its tasks, or remove the heading.";
    const [warning, file] = [{ severity: "warning", code: "PHASE_EMPTY" }, "tasks.md"] as const;
    expect(report.sorted()).toStrictEqual([
      { ...warning, hint, message: "a", file, line: 1, column: 50 },
      { ...warning, hint, message: "b", file, line: 2, column: 1 },
      { ...warning, message: "c", hint: "Add.", file, line: 2, column: 9 },
      { ...warning, hint, message: "e", file, line: 2, column: 10 },
      {
        severity: "error",
        code: "DEPENDENCY_CYCLE",
        message: "d",
        hint: "Remove one of these dependencies.",
        file,
        line: 10,
        column: 1,
      },
    ]);
  });

  it.each([
    [1000, 1000, undefined],
    [0, 1001, { severity: "warning", message: "1 more are not listed" }],
    [1000, 1003, { severity: "warning", message: "3 more are not listed" }],
    [1001, 1000, { severity: "error", message: "1 more are not listed" }],
    [1002, 1005, { severity: "error", message: "7 more are not listed" }],
  ])("of %i errors and %i warnings has a thousand of each, and says how many are left", (errors, warnings, last) => {
    const all = reportOf(errors, warnings);
    const listed = Math.min(errors, 1000) + Math.min(warnings, 1000);
    expect(all.slice(listed)).toEqual(
      last === undefined
        ? []
        : [{ ...last, file: "tasks.md", code: "DIAGNOSTICS_MORE", hint: expect.stringContaining("Correct") }],
    );
    expect(all.slice(0, listed).filter(({ severity }) => severity === "error")).toHaveLength(Math.min(errors, 1000));
  });

  it("is not needed for a source that can't be a plan: the error has its place", () => {
    expect(planError({ file: "f", line: 2, column: 3 }, "why", "What to do.")).toMatchObject({
      ...{ code: "PLAN_PARSE", message: "f can't be read as a plan: why", remedy: "What to do." },
      details: { file: "f", line: 2, column: 3 },
    });
    expect(() => checkLength("x".repeat(PLAN_MAX), "f")).not.toThrow();
  });
});

describe("a text that is not a plan", () => {
  it.each([
    [""],
    ["\uFEFF"],
    ["\n\n"],
    ["# Title\n\nSome words.\n"],
    ["- a\n- b\n"],
    ["```\n## Phase 1: A\n- [ ] Task 1.1: b\n```\n"],
  ])("is refused with a hint: %j", (text) => {
    expect(refusal(text)).toEqual({
      file: "specs/tasks.md",
      line: 1,
      message: "specs/tasks.md can't be read as a plan: it has no phase and no task",
      remedy: expect.stringContaining("## Phase 1: Name"),
    });
  });

  it.each([
    ["# A\n## Acceptance Criteria\n- [ ] a\n", 3],
    ["## Phase 1 Exit Gate\n- [ ] a\n", 2],
  ])("is refused with a hint, and the first of its checkboxes: %j", (text, line) => {
    expect(refusal(text)).toEqual({
      ...{ file: "specs/tasks.md", line },
      message: "specs/tasks.md can't be read as a plan: it has checkboxes, but no heading above them is a phase",
      remedy: "Write '## Phase 1: Name' above the tasks of each phase.",
    });
  });

  it("exceeds 5 MiB", () => {
    const most = 5 * 1024 * 1024;
    expect(refusal(" ".repeat(most + 1))).toMatchObject({ line: 1, message: expect.stringContaining(`${most}`) });
    expect(refusal(" ".repeat(most + 1), (text) => taskMasterParser.parse(text, "f"))).toMatchObject({
      ...{ line: 1, message: expect.stringContaining(`${most}`) },
    });
  });

  it("is read however long the text between two headings is", () => {
    const long = `${"words ".repeat(20)}\n`.repeat(600);
    expect(parsePlan(`${PHASE}\n${long}\n- [ ] **Task 1.2**: c\n`).plan.phases[0]?.tasks).toHaveLength(2);
  });

  it("is nested too deep: each marker is a level, and every two columns before one", () => {
    for (const deep of [
      "> ".repeat(26),
      "- ".repeat(26),
      "1. ".repeat(26),
      `${" ".repeat(50)}- `,
      `>${"\t".repeat(12)}- `,
    ]) {
      expect(refusal(`${PHASE}${deep}a\n`), deep).toMatchObject({
        ...{ line: 3, message: expect.stringContaining("nested more than 25 levels deep") },
      });
    }
    for (const line of [
      ...["- ".repeat(25), "> ".repeat(25), `${" ".repeat(48)}- `, `${"\t".repeat(30)}a - `],
      ...[`a ${"- ".repeat(60)}`, "-".repeat(60), "1.".repeat(60)],
    ])
      expect(parsePlan(`${PHASE}${line}a\n`).plan.phases).toHaveLength(1);
  });
});
