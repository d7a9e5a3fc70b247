import { describe, expect, it } from "vitest";
import { planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { howOften } from "../support/how-often.js";

const PHASE = "## Phase 1: A\n- [ ] **Task 1.1**: b\n";

/**
 * Far more than any of these takes, and far less than they would take if time grew with the square: texts of half the length
 * get less than half of it.
 */
const GUARD = { timeout: howOften(30_000, 60_000) };

describe("texts that are made to take long", () => {
  const LINE = howOften(15_000, 30_000);
  it.each([
    "[",
    "(",
    "-",
    "*",
    "_",
    "`",
    "@",
    "#",
    "<!--",
    "(AC ",
    "(a",
    "[ ",
    "depends on ",
    "(depends on ",
    "1, ",
    "T001-",
    "phase 1 ",
  ])("are read in linear time: a line of %j", GUARD, (piece) => {
    const long = piece.repeat(LINE / piece.length);
    const text =
      `${PHASE}- [ ] **Task 1.2**: ${long}\n### ${long}\n- **Dependencies**: ${long}\n## Phase 2: ${long}\n`.slice(
        0,
        4 * LINE,
      );
    for (const part of [
      `${PHASE}- [ ] **Task 1.2**: ${long}`,
      `${PHASE}### ${long}`,
      `${PHASE}  - **Dependencies**: ${long}`,
      `${PHASE}**${long}`,
    ]) {
      expect(parsePlan(`${part}\n`).plan.phases[0]?.tasks.length).toBeGreaterThan(0);
    }
    expect(text.length).toBeGreaterThan(LINE);
  });

  it.each([
    ["fences within fences", "```md\n```js\n```\n"],
    ["fences that nothing closes", "- ```md\n"],
    ["one id", "- [ ] **Task 1.1**: a\n"],
    ["one phase", "## Phase 1: A\n- [ ] **Task 1.1**: a\n"],
    ["unplaced checkboxes", "## Risks\n- [ ] x [ ] y [ ] z\n"],
    ["phases without tasks", "## Phase 1: A\n"],
  ])("are read in linear time: many times %s", GUARD, (_, piece) => {
    let text = PHASE;
    for (let part = 0; text.length < howOften(50_000, 100_000); part += 1) text += `${piece.repeat(20)}\n### ${part}\n`;
    expect(parsePlan(text).plan.phases.length).toBeGreaterThan(0);
  });

  it("are read in linear time: a long heading of words that are left out of labels", GUARD, () => {
    const heading = "phase ".repeat(4_000);
    const sections = Array.from({ length: howOften(20, 40) }, (_, part) => `### ${part} ${heading}\n`);
    expect(parsePlan(`${PHASE}${sections.join("")}`).plan.phases).toHaveLength(1);
  });

  it("are read in linear time: each task depends on a phase with as many tasks", GUARD, () => {
    const tasks = (phase: number, rest: string) =>
      Array.from({ length: howOften(6_000, 9_000) }, (_, task) => `### Task ${phase}.${task + 1}: ${rest}\n\n`).join(
        "",
      );
    const depends = tasks(2, "depends on all before it (depends on Phase 1)");
    const text = `## Phase 1: A\n\n${tasks(1, "a name that is as long as usual")}## Phase 2: B\n\n${depends}`;
    const { plan, diagnostics } = parsePlan(text);
    const counts = plan.phases[1]?.tasks.map(({ dependencies }) => dependencies.length) ?? [];
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(500_000);
    expect(counts[0]).toBe(plan.phases[0]?.tasks.length);
    const left = counts.filter((count) => count === 0).length - 1000;
    expect([diagnostics.length, diagnostics.at(-1)?.message]).toEqual([1001, `${left} more are not listed`]);
  });

  it("are read in linear time: blank lines below a deep list", GUARD, () => {
    const list = Array.from({ length: 25 }, (_, depth) => `${"  ".repeat(depth)}- a\n`).join("");
    const text = `${PHASE}${list}${"\n".repeat(howOften(50_000, 300_000))}`;
    expect(parsePlan(text).plan.phases).toHaveLength(1);
  });

  it("have an order, also in a chain of thousands of tasks", () => {
    const tasks = Array.from(
      { length: 4000 },
      (_, n) =>
        `- [ ] **Task 1.${n + 1}**: t${n === 0 ? "" : ` (after 1.${n})`}\n${n % 500 === 499 ? "\n### More\n" : ""}`,
    );
    const { plan } = parsePlan(`## Phase 1: A\n${tasks.join("")}`);
    expect(planOrder(plan).waves).toHaveLength(4000);
  });
});
