import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

const read = (text: string) => {
  const { plan, diagnostics } = parsePlan(text);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  return { states: tasks.map(({ id, state }) => `${id} ${state}`), codes: diagnostics.map(({ code }) => code) };
};

describe("a word for done with a limit", () => {
  it.each([
    "Done: except for the tests",
    "Done by Friday",
    "Done - tests missing",
    "Done, with errors",
    "Complete = false",
    "Done in theory",
    "[x] Pending",
    "[x] Not started [ ] Done",
  ])("is no tick: %j", (status) => {
    expect(read(`## Phase 1: A\n\n### Task 1.1: Parser\n**Status**: ${status}\n`).states).toEqual(["1.1 pending"]);
  });

  it.each(["Done", "✅ Done 2026-01-02", "Done on 2026-01-02", "DONE (by Ann)", "[x] Done"])(
    "but %j is one",
    (status) => {
      expect(read(`## Phase 1: A\n\n### Task 1.1: Parser\n**Status**: ${status}\n`).states).toEqual(["1.1 done"]);
    },
  );
});

describe("a list of tasks whose names are states", () => {
  const list = "- [x] Done\n- [ ] Pending\n";

  it("holds tasks", () => {
    expect(read(`## Phase 1: Labels\n\n${list}`).states).toEqual(["1.1 done", "1.2 pending"]);
  });

  it.each(["## Legend", "**Key:**", "## Status values", "## 凡例"])("is a legend below %j", (title) => {
    const { states, codes } = read(`${title}\n\n${list}\n## Phase 1: A\n- [ ] 1.1 Parser\n`);
    expect(states).toEqual(["1.1 pending"]);
    expect(codes).toEqual([]);
  });
});

it("a box that repeats an id with another name is named, and not the task's", () => {
  const plan = "## Phase 1: A\n\n### Task 1.1: Parser\n\nText.\n\n## Overview\n\n- [x] Task 1.1: Deploy the site\n";
  expect(read(plan)).toEqual({ states: ["1.1 pending"], codes: ["CHECKBOX_REPEATED"] });
});

it("one task may name another a thousand times, in linear time", () => {
  const text = `## Phase 1: A\n- [ ] T001 Parser\n- [ ] T002 Printer (depends on ${"T001, ".repeat(20_000)}T001)\n`;
  expect(parsePlan(text).plan.phases[0]?.tasks[1]?.dependencies).toEqual(["T001"]);
});

it.each(["[-]", "［-］", String.raw`\[-\]`, "☐"])("a sentence about %s has no checkbox", (sign) => {
  expect(read(`Change the sign to ${sign} first.\n\n## Phase 1: A\n- [ ] 1.1 Parser\n`).codes).toEqual([]);
});
