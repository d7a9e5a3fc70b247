import { expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

const PHASE = "## Phase 1: A\n- [ ] **Task 1.1**: b\n";

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

it("reads 5 MiB", { timeout: 60_000 }, () => {
  const line = `${"x".repeat(1023)}\n`;
  expect(parsePlan(PHASE + line.repeat(5100)).plan.phases).toHaveLength(1);
  expect(parsePlan(`${PHASE}\n\`\`\`\n${line.repeat(5100)}\`\`\`\n`).plan.phases).toHaveLength(1);
});

it("reads a hundred phases of twenty tasks each, however short their lines are", { timeout: 60_000 }, () => {
  const task = (phase: number, number: number) =>
    `- [ ] **Task ${phase}.${number}**: Build it\n${"  - [ ] a\n".repeat(17)}`;
  const phases = Array.from({ length: 100 }, (_, phase) => {
    const tasks = Array.from({ length: 20 }, (_, number) => task(phase + 1, number + 1));
    return `## Phase ${phase + 1}: Part ${phase + 1}\n\n${tasks.join("")}\n`;
  });
  const text = phases.join("");
  expect(text.length).toBeGreaterThan(400_000);
  const { plan } = parsePlan(text);
  expect(plan.phases.map(({ tasks }) => tasks.length)).toEqual(Array.from({ length: 100 }, () => 20));
});
