import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
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

it("lists a thousand problems of a kind, and counts the others", () => {
  const stray = Array.from({ length: 1500 }, (_, at) => `Some words [ ] and ${at}.\n\n`).join("");
  const circle = Array.from(
    { length: 3 },
    (_, at) => `- [ ] **Task 1.${at + 2}**: c\n  - Dependencies: Task 1.${at + 2}\n`,
  );
  const { diagnostics } = parsePlan(`${PHASE}${circle.join("")}\n${stray}`, { file: "specs/tasks.md" });
  const last = diagnostics.at(-1);
  expect(last).toMatchObject({ code: "DIAGNOSTICS_MORE", severity: "warning", file: "specs/tasks.md" });
  const listed = diagnostics.slice(0, -1);
  expect(listed.filter(({ severity }) => severity === "warning")).toHaveLength(1000);
  expect(last?.message).toMatch(/^\d+ more are not listed$/);
  expect(Number.parseInt(last?.message ?? "", 10)).toBeGreaterThanOrEqual(500);
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

  it("exceeds 5 MiB", () => {
    const most = 5 * 1024 * 1024;
    expect(refusal(" ".repeat(most + 1))).toMatchObject({ line: 1, message: expect.stringContaining(`${most}`) });
    expect(refusal(" ".repeat(most + 1), (text) => taskMasterParser.parse(text, "f"))).toMatchObject({ line: 1 });
  });

  it("has more than 64 KiB between two headings, code excluded", () => {
    const long = `${"words ".repeat(20)}\n`.repeat(600);
    expect(refusal(`${PHASE}\n## Phase 2: B\n\n${long}`)).toMatchObject({
      line: 4,
      message: expect.stringContaining("between two headings"),
      remedy: "Add headings, or split the file.",
    });
    expect(parsePlan(`${PHASE}\n\`\`\`\n${long}\`\`\`\n`).plan.phases).toHaveLength(1);
  });

  it("is nested too deep in one line", () => {
    expect(refusal(`${PHASE}${"> ".repeat(60)}a\n`)).toMatchObject({
      line: 3,
      message: expect.stringContaining("nested"),
    });
    expect(refusal(`${PHASE}${"- ".repeat(60)}a\n`)).toMatchObject({ line: 3 });
  });
});
