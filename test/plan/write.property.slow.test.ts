import fc from "fast-check";
import { parsePlan, planToMarkdown } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import type { Plan, PlanItem, PlanPhase, PlanTask, TaskState } from "../../src/plan/plan.js";
import { howOften } from "../support/how-often.js";

const position = { line: 1, column: 1, offset: 0 };
const STATES: readonly TaskState[] = ["pending", "in_progress", "queued", "blocked", "done", "dropped"];

/** Texts without a meaning of their own, as names mostly are. */
const usual = fc
  .array(
    fc.constantFrom(
      ...'the reader of plans Ünïcode 读取器 🎯 `a[0]` (see b) x_y *very* <T> "q" 50% a|b [link](u) C++'.split(" "),
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((words) => `Write ${words.join(" ")} now`);

/** The same for phases, whose names lose the addresses of links. */
const usualName = usual.map((text) => text.replaceAll("[link](u)", "link"));

/** Texts that may have a meaning, or can't be said in a line. */
const odd = fc.oneof(
  fc.string({ maxLength: 12, unit: fc.constantFrom(..."ab1. []*`~_-#|:()\\\n\r\t<>!x") }),
  fc.constantFrom(
    "**bold**",
    "[x] ticked",
    "a\nb",
    "Name (2 hours)",
    "~~struck~~",
    "[P] name",
    "",
    " a ",
    "Task 1.1: b",
    "- [ ] c",
  ),
  fc.constantFrom(
    "Status: done",
    "**Dependencies**: Task 1.1",
    "`open",
    "<!-- c -->",
    "depends on 1.1",
    "```",
    "## Phase 9: X",
  ),
);

function items(text: fc.Arbitrary<string>): fc.Arbitrary<PlanItem[]> {
  const item = fc.record(
    {
      ...{ text, checked: fc.boolean(), hasBox: fc.boolean(), dropped: fc.constant<true>(true) },
      details: fc.array(text, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ["text", "checked", "hasBox"] },
  );
  return fc.array(
    item.map(({ hasBox, checked, ...rest }) => ({
      // What is ticked is done, so that it can't be dropped.
      ...{ ...rest, checked: hasBox && checked && !rest.dropped, position },
      ...(hasBox ? { checkbox: { mark: "", position } } : {}),
    })),
    { maxLength: 3 },
  );
}

/** Plans whose tasks have ids of one form. */
function plans(
  text: fc.Arbitrary<string>,
  phaseName: fc.Arbitrary<string>,
  idOf: (phase: number, index: number) => string,
): fc.Arbitrary<Plan> {
  const task = fc.record(
    {
      name: text,
      description: fc.array(text, { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n\n")),
      estimatedTime: fc.constantFrom("2 hours", "1-2 days"),
      earlier: fc.array(fc.nat(), { maxLength: 2 }),
      acceptanceCriteria: items(text),
      state: fc.constantFrom(...STATES),
      optional: fc.boolean(),
      parallel: fc.boolean(),
      story: fc.constantFrom("US1", "US12"),
      requirements: fc.uniqueArray(fc.constantFrom("FR-001", "1.2", "US-3")),
      files: fc.uniqueArray(fc.constantFrom("src/a.ts", "docs/b c.md", "README.md")),
    },
    {
      requiredKeys: ["name", "earlier", "acceptanceCriteria", "state", "optional", "parallel", "requirements", "files"],
    },
  );
  const phase = fc.record(
    {
      name: phaseName,
      goal: text,
      estimatedDuration: fc.constantFrom("1 week", "2-3 days"),
      tasks: fc.array(task, { minLength: 1, maxLength: 3 }),
      validationGate: items(text),
    },
    { requiredKeys: ["name", "tasks", "validationGate"] },
  );
  return fc.array(phase, { minLength: 1, maxLength: 3 }).map((drafts) => {
    const ids: string[] = [];
    const phases = drafts.map(({ tasks, ...rest }, at): PlanPhase => {
      const own = tasks.map(({ earlier, ...fields }, index): PlanTask => {
        const id = idOf(at + 1, index);
        const dependencies = [...new Set(earlier.flatMap((pick) => ids[pick % Math.max(ids.length, 1)] ?? []))];
        ids.push(id);
        return { ...fields, id, dependencies, position };
      });
      return { ...rest, number: at + 1, tasks: own, position };
    });
    return { dialect: "any", phases };
  });
}

/** Returns what a plan says, without positions, marks and the order of ids. */
function said({ phases }: Plan): unknown {
  const text = JSON.stringify(phases, (key, value: unknown) => {
    if (key === "position") return undefined;
    if (key === "checkbox") return true;
    return (key === "dependencies" || key === "files") && Array.isArray(value) ? [...value].sort() : value;
  });
  const parsed: unknown = JSON.parse(text, (_, value) => {
    if (typeof value === "object" && value !== null && "acceptanceCriteria" in value) delete value.checkbox;
    return value;
  });
  return parsed;
}

const FORMS: readonly (readonly [string, (phase: number, index: number) => string])[] = [
  ["praxis-os", (phase, index) => `${phase}.${index + 1}`],
  ["praxis-os", (phase, index) => `T-${phase}0${index}`],
  ["plain", (phase, index) => `${phase}.${index + 1}`],
  ["spec-kit", (phase, index) => `T${phase}0${index}`],
  ["openspec", (phase, index) => `${phase}.${index + 1}`],
  ["kiro", (phase, index) => `${phase}.${index + 1}`],
];

const anyText = fc.oneof({ weight: 9, arbitrary: usual }, odd);

describe("planToMarkdown", () => {
  it.each(FORMS)("writes a plan of usual texts that reads back the same: %s", (dialect, idOf) => {
    fc.assert(
      fc.property(plans(usual, usualName, idOf), (plan) => {
        const text = planToMarkdown(plan, { dialect });
        expect(said(parsePlan(text, { dialect }).plan)).toEqual(said(plan));
      }),
      { numRuns: howOften(15, 500) },
    );
  });

  it("writes a plan of any texts that reads back the same, or refuses it and names the part", () => {
    let written = 0;
    fc.assert(
      fc.property(
        plans(anyText, anyText, (phase, index) => `${phase}.${index + 1}`),
        (plan) => {
          let text: string;
          try {
            text = planToMarkdown(plan);
          } catch (error) {
            if (!isPhasegateError(error, "INVALID_INPUT")) throw error;
            expect(error.message).toMatch(/^a praxis-os tasks\.md can't say the \w+ of .+: it would be read as /s);
            return;
          }
          written += 1;
          expect(said(parsePlan(text).plan)).toEqual(said(plan));
        },
      ),
      { numRuns: howOften(100, 1_000) },
    );
    expect(written).toBeGreaterThan(5);
  });
});
