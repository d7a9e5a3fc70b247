import { parsePlan, planToMarkdown } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

/** Returns the states of two tasks with the marks `!` and `^`, and the number of checkboxes without a place. */
function read(legend: string, title = "## Legend"): string {
  const { plan, diagnostics } = parsePlan(`# P\n\n${title}\n\n${legend}\n\n## Phase 1: A\n- [!] 1.1 X\n- [^] 1.2 Y\n`);
  const states = plan.phases.flatMap(({ tasks }) => tasks.map(({ state }) => state));
  return `${states.join(" ")} ${diagnostics.filter(({ code }) => code === "CHECKBOX_UNPLACED").length}`;
}

const KNOWN = "blocked in_progress 0";
const UNKNOWN = "pending pending";
const LIST = "- [!] blocked\n- [^] in progress";

describe("a list that explains marks", () => {
  it.each([
    LIST,
    "- [ ] pending\n- [!] blocked\n- [^] in progress",
    "These are used.\n\n- [!] blocked\n- [^] in progress",
    "- [!] blocked: waits\n- [^] in progress: begun",
    "- [!] blocked (by others)\n- [^] in progress – begun",
    "- [!] blocked ❌\n- [^] in progress = begun",
    "- [!] blocked ❌ – waits\n- [^] in progress",
    "- [!] blocked\n  by others\n- [^] in progress",
    "- [!] blocked\n\n  Others must act.\n\n- [^] in progress",
  ])("is read: %j", (list) => {
    expect(read(list)).toBe(KNOWN);
  });

  it.each([
    ["- [!] blocked", 1],
    ["- [!] blocked\n- [!] done", 2],
    ["- [!] blocked\n  - [^] in progress", 2],
    ["- [!] blocked by others\n- [^] in progress", 2],
    ["- [!] blocked by others: wait\n- [^] in progress", 2],
    ["- [!] blocked 2x\n- [^] in progress", 2],
    ["- [!] blocked\n- words\n- [^] in progress", 2],
    ["- [!] blocked\n\n## More\n\n- [^] in progress", 2],
    ["- [!] the build\n- [^] the tests", 2],
  ])("is none if it may be something else: %j", (list, unplaced) => {
    expect(read(list)).toBe(`${UNKNOWN} ${unplaced}`);
  });

  it.each([
    ...["## Key", "## Marker", "## Markers", "## Notation", "## Symbol", "## Symbols", "## Status values"],
    ...["## Statuses codes", "## Leyenda", "## Legenda", "## Légende", "## Легенда", "**Legend**:", "- **Key:**"],
  ])("stands below a title or label: %s", (title) => {
    expect(read(LIST, title)).toBe(KNOWN);
  });

  it.each(["## Keyboard", "## Symbolic", "## Other", "## Legend\n\n## Other", "**Legend:**\n\n**Other:**"])(
    "does not stand below another one: %j",
    (title) => expect(read(LIST, title)).toBe(`${UNKNOWN} 2`),
  );

  it("is no list of tasks, and makes no phase", () => {
    expect(outline("# Legend\n- [ ] pending\n- [x] done\n\n# Tasks\n- [ ] X\n")).toEqual([
      "1 Tasks @5",
      "[ ] 1.1 X @6",
    ]);
    expect(() => outline("# Legend\n- [ ] pending\n- [x] done\n")).toThrowError("no heading above them is a phase");
    const text = `## Phase 1: A\n- [!] 1.1 X\n\n**Key:**\n\n${LIST}\n\n- [^] 1.2 Y\n`;
    expect(outline(text)).toEqual(["1 A @1", "[!] 1.1 X @2", "[-] 1.2 Y @9"]);
  });

  it("may stand at the end", () => {
    expect(outline(`## Phase 1: A\n- [!] 1.1 X\n## Legend\n${LIST}\n`)).toEqual(["1 A @1", "[!] 1.1 X @2"]);
  });
});

describe("a line that explains marks", () => {
  it.each([
    "`[!]` = blocked · `[^]`: in progress",
    "[] pending, [!] blocked, [^] in progress",
    "[!]=blocked [^]=in progress",
    "[!]:blocked,[^]:  in progress",
    "[!] -- blocked, [^] == in progress",
    "[!]  blocked, [^] →  in progress",
    "[!] blocked | [^] in progress",
    "[!] blocked | [^] in progress |",
    "- [!] = blocked, [^] = in progress",
    "- [!] – blocked, [^] – in progress",
  ])("is read anywhere: %s", (line) => {
    expect(read(line, "## Notes")).toBe(KNOWN);
  });

  it.each([
    ["| [!] blocked | [^] in progress |", 2],
    ["  | [!] blocked | [^] in progress", 2],
    ["See [!] blocked", 1],
    ["See [!] here and [^] there", 2],
  ])("is none in a table, or with one state: %s", (line, unplaced) => {
    expect(read(line, "## Notes")).toBe(`${UNKNOWN} ${unplaced}`);
  });

  it("needs two marks, of which one may be empty", () => {
    expect(read("[] pending, [!] blocked", "## Notes")).toBe("blocked pending 0");
  });

  it("is no task, also as an item of a phase", () => {
    const text = "## Phase 1: A\n- [!] 1.1 X\n- [^] = in progress, [!] = blocked\n";
    expect(outline(text)).toEqual(["1 A @1", "[!] 1.1 X @2"]);
  });

  it("is no task that speaks of marks", () => {
    expect(outline("## Phase 1: A\n- [x] Explain - [ ] pending, [!] blocked\n")).toContain(
      "[x] 1.1 Explain - [ ] pending, [!] blocked @2",
    );
  });
});

describe("a mark without a legend", () => {
  it.each([
    ["-", "in_progress"],
    ["/", "in_progress"],
    [">", "in_progress"],
    ["n/a", "dropped"],
    ["N/A", "dropped"],
    ["~", "queued"],
    ["☐", "pending"],
  ])("has a usual meaning: %s", (mark, state) => {
    expect(parsePlan(`## Phase 1: A\n- [${mark}] 1.1 X\n`).plan.phases[0]?.tasks[0]?.state).toBe(state);
  });
});

describe("a dialect", () => {
  const ids = (dialect: string, phase = "## Phase 1: A") => {
    const text = `${phase}\n- [ ] T001 X\n- [ ] 1.2 Y\n- [ ] Task 3: Z\n`;
    return parsePlan(text, { dialect }).plan.phases[0]?.tasks.map(({ id, name }) => `${id} ${name}`);
  };

  it.each([
    ["plain", ["T001 X", "1.2 Y", "3 Z"]],
    ["kiro", ["T001 X", "1.2 Y", "3 Z"]],
    ["spec-kit", ["T001 X", "1.2 Y", "3 Z"]],
    ["praxis-os", ["1.1 T001 X", "1.2 Y", "3 Z"]],
  ])("has its forms of ids: %s", (dialect, expected) => {
    expect(ids(dialect)).toEqual(expected);
  });

  it("epics has all forms of ids", () => {
    expect(ids("epics", "## Epic 1: A")).toEqual(["T001 X", "1.2 Y", "3 Z"]);
  });

  it.each([
    ["## Epic 1: A\n### Story 1.1: B\n", "epics"],
    ["See epic 1 and\nuser story 1.\n\n- [ ] 1. X\n", "openspec"],
    ["We have epic 1. The story 1 is told.\n\n- [ ] 1. X\n", "openspec"],
    ["## Epic 1: A\n### Story 1.1: B\n## Phase 1: C\n- [ ] 1. X\n", "openspec"],
  ])("is recognized by its titles: %j", (text, dialect) => {
    expect(parsePlan(`# P\n- [ ] X\n${text}`).plan.dialect).toBe(dialect);
  });

  it("that is unknown is refused, with the one that is meant", () => {
    const refused = (words: string) => expect.objectContaining({ remedy: expect.stringMatching(words) });
    expect(() => parsePlan("", { dialect: "speckit" })).toThrowError(
      refused("^Did you mean 'spec-kit'\\? There are bmad, "),
    );
    expect(() => parsePlan("", { dialect: "none of them" })).toThrowError(refused("^Use bmad, "));
    expect(() => planToMarkdown({ dialect: "", phases: [] }, { dialect: "" })).toThrowError(refused("^Use bmad, "));
  });
});
