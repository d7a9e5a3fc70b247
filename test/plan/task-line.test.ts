import { describe, expect, it } from "vitest";
import { checkboxAt, checkboxesIn, isTicked } from "../../src/plan/boxes.js";
import { readDependencies } from "../../src/plan/dependencies.js";
import { codePrefixes, idReader } from "../../src/plan/ids.js";
import {
  bare,
  durationIn,
  filesIn,
  readReferences,
  readTaskLine,
  splitTime,
  withoutComments,
} from "../../src/plan/task-line.js";
import { vocabularyOf } from "../../src/plan/words.js";

const WORDS = vocabularyOf();
const IDS = idReader(WORDS.taskWord, codePrefixes([]));

/** Returns what a text names, in a plan with the task `US1-T03`. */
function named(text: string) {
  const { tasks, phases, unread, unsure, tooLong } = readDependencies(text, WORDS, (word) => word === "US1-T03");
  return {
    ...{ tasks, phases },
    ...(unread !== undefined && { unread }),
    ...(unsure.length > 0 && { unsure }),
    ...(tooLong.length > 0 && { tooLong }),
  };
}

/** Returns the parts of a line that say something. */
function parts(text: string): object {
  const line = Object.entries(readTaskLine(text, ["task", "T", "number"], IDS, WORDS));
  return Object.fromEntries(
    line.filter(([, part]) => part !== undefined && part !== false && !(Array.isArray(part) && part.length === 0)),
  );
}

describe("a task's line", () => {
  it.each([
    ["1.1 Name", { id: "1.1", name: "Name" }],
    ["* 1.1 Name", { id: "1.1", name: "Name", optional: true }],
    ["*1.1 Name", { id: "1.1", name: "Name", optional: true }],
    ["*Name*", { name: "*Name*" }],
    ["*", { name: "", optional: true }],
    ["a *1 b", { name: "a *1 b" }],
    ["Name (optional)", { name: "Name (optional)", optional: true }],
    ["Name (Optional, later)", { name: "Name (Optional, later)", optional: true }],
    ["Name (optionally)", { name: "Name (optionally)" }],
    ["Name optional", { name: "Name optional" }],
    ["1.1 (Optional)", { id: "1.1", name: "Task 1.1", optional: true }],
    ["(optional)", { name: "(optional)", optional: true }],
    [" (optional) ", { name: "(optional)", optional: true }],
    ["(optional) Name", { name: "(optional) Name", optional: true }],
    ["1.1", { id: "1.1", name: "Task 1.1" }],
    ["", { name: "" }],
    ["T001 ~~Name~~", { id: "T001", name: "Name", struck: true }],
    ["~~T001 Name~~", { id: "T001", name: "Name", struck: true }],
    ["~~T001~~ [P] ~~Name~~ later", { id: "T001", name: "Name later", parallel: true, struck: true }],
    ["~~Name~~", { name: "Name", struck: true }],
    ["~~Name~~ (moved to 2.1)", { name: "Name (moved to 2.1)", struck: true }],
    ["~~Name~~ no longer needed", { name: "Name no longer needed", struck: true }],
    ["~~Use this~~ Use that", { name: "~~Use this~~ Use that" }],
    ["T001 ~~Use this~~ Use that", { id: "T001", name: "~~Use this~~ Use that" }],
    ["~~T001 Use this~~ Use that", { id: "T001", name: "~~Use this~~ Use that" }],
    ["~~Name", { name: "~~Name" }],
    ["Name with ~~old~~ words", { name: "Name with ~~old~~ words" }],
    ["[P] Name", { name: "Name", parallel: true }],
    ["[P] [US12] Name", { name: "Name", parallel: true, story: "US12" }],
    ["T1 [us1][p]  Name", { id: "T1", name: "Name", parallel: true, story: "US1" }],
    ["[Story] x", { name: "x" }],
    ["[US] x", { name: "[US] x" }],
    ["Name [P]", { name: "Name [P]" }],
    ["Name (depends on 1.1)", { name: "Name", dependencies: " 1.1" }],
    ["Name (Depends on: 1.1 (all) and 1.2) more", { name: "Name  more", dependencies: " 1.1 (all) and 1.2" }],
    ["Name (requires 1.1)", { name: "Name", dependencies: " 1.1" }],
    ["Name (blocked by T1)", { name: "Name", dependencies: " T1" }],
    ["Name (  after 1.1 )", { name: "Name", dependencies: " 1.1 " }],
    ["Name (afterwards)", { name: "Name (afterwards)" }],
    ["Name (2h, depends on T1)", { name: "Name", time: "2h", dependencies: " T1" }],
    ["Name (3h; requires T1, T2; 4 pts)", { name: "Name", time: "3h, 4 pts", dependencies: " T1, T2" }],
    ["Name (a) (after 1.1, 2h)", { name: "Name (a)", time: "2h", dependencies: " 1.1" }],
    ["Name (optional, after 1.1)", { name: "Name (optional)", optional: true, dependencies: " 1.1" }],
    ["Name (dependencies: T1)", { name: "Name", dependencies: " T1" }],
    ["Name (Dependency: T1)", { name: "Name", dependencies: " T1" }],
    ["Name (deps: T1)", { name: "Name", dependencies: " T1" }],
    ["Name (Depends: T1)", { name: "Name", dependencies: " T1" }],
    ["Name (a (after 1.1))", { name: "Name", dependencies: " 1.1)" }],
    ["Name (dependency injection)", { name: "Name (dependency injection)" }],
    ["Name (a, deps b)", { name: "Name (a, deps b)" }],
    ["Name **Depends on**: T1", { name: "Name **Depends on**: T1" }],
    ["Name (x) requires 1.1 (y)", { name: "Name (x) requires 1.1 (y)" }],
    ["Name (AC: 1, 2)", { name: "Name", requirements: ["AC 1", "AC 2"] }],
    ["Name (ACs 1)", { name: "Name", requirements: ["AC 1"] }],
    ["Name (ac AC1)", { name: "Name", requirements: ["AC1"] }],
    ["Name (AC: MAC-1)", { name: "Name", requirements: ["AC MAC-1"] }],
    ["Name (AC 1, AC 2)", { name: "Name", requirements: ["AC 1", "AC 2"] }],
    ["Name (ACE)", { name: "Name (ACE)" }],
    ["Name (2 hours)", { name: "Name", time: "2 hours" }],
    ["Name <!-- c --> more", { name: "Name  more" }],
    ["1.1 **Name**", { id: "1.1", name: "Name" }],
    ["Name in src/a.ts", { name: "Name in src/a.ts", files: ["src/a.ts"] }],
    [
      "1.1 Name (after 1.1) (AC 1) (2 h)",
      { id: "1.1", name: "Name", time: "2 h", dependencies: " 1.1", requirements: ["AC 1"] },
    ],
  ])("%j", (text, expected) => {
    expect(parts(text)).toStrictEqual(expected);
  });

  it("has all of its parts, also those that say nothing", () => {
    expect(readTaskLine("Name", [], IDS, WORDS)).toEqual({
      ...{ name: "Name", optional: false, parallel: false, struck: false, requirements: [], files: [] },
    });
  });
});

describe("a duration", () => {
  it.each([
    ["a (2 hours)", "a", "2 hours"],
    ["a (1,5-2 days) !", "a", "1,5-2 days"],
    ["a ( week 2 )", "a", "week 2"],
    ["a (b) (3 pts)", "a (b)", "3 pts"],
    ["a (3 pts) ✅ DONE ", "a", "3 pts"],
    ["a (3 pts) DONE  ", "a", "3 pts"],
  ])("ends a name: %j", (text, name, time) => {
    expect(splitTime(text)).toEqual({ name, time });
  });

  it.each(["a (2)", "a (3pts) (b)", "a (3 pts) B", "a (3 pts) Done", "a (3 hour", "a (2 hoursx)", "a (2 h) 1", "a"])(
    "does not end %j",
    (text) => expect(splitTime(text)).toEqual({ name: text }),
  );

  it("has a number and a unit", () => {
    for (const text of [
      ...[
        "2 minutes",
        "1 minute",
        "5 mins",
        "1 min",
        "2 hours",
        "1 hour",
        "2 hrs",
        "2 hr",
        "2h",
        "2 days",
        "1 day",
        "2d",
      ],
      ...["3 weeks", "1 week", "3 wks", "1 wk", "3w", "2 months", "1 month", "2 sprints", "1 sprint", "5 points"],
      ...[
        "1 point",
        "5 pts",
        "1 pt",
        "week 3",
        "weeks 33",
        "Days 2",
        "day 2",
        ".5 h",
        "2-3 h",
        "22 — 33 H",
        "1.2,3  h",
      ],
    ]) {
      expect(durationIn(` ${text} `), text).toBe(text);
    }
    for (const text of ["2 m", "hours", "2h30", "1 hourly", "weekly 2", "two days", "2 x 3", "month 2", "2 hoursx"])
      expect(durationIn(text), text).toBeUndefined();
  });
});

describe("a text without its marks", () => {
  it.each([
    ["**a**", "a"],
    ["~~a b~~", "a b"],
    ["__A b__", "A b"],
    ["__a__", "__a__"],
    ["__init_all2__", "__init_all2__"],
    ["___init__", "_init"],
    ["**a** b", "**a** b"],
    ["**a", "a"],
    ["a** ", "a"],
    ["**a** **b**", "**a** **b**"],
    [" - a", "a"],
    [": — a ", "a"],
    ["-", "-"],
    ["*a*", "*a*"],
    ["**: a**", "a"],
    ["** a **", "a"],
    [" **a** ", "a"],
    ["-a", "a"],
  ])("%j is %j", (text, expected) => {
    expect(bare(text)).toBe(expected);
  });

  it("has no comments", () => {
    expect(withoutComments("a <!-- b --> c")).toBe("a  c");
    expect(withoutComments("a <!-- b <!-- c --> d")).toBe("a <!-- b  d");
    expect(withoutComments("<!---->a <!--b--><!--c-->")).toBe("a ");
    expect(withoutComments("a <!-- b")).toBe("a <!-- b");
  });
});

it.each([
  ["a src/a.ts b", ["src/a.ts"]],
  ["`a.ts` `/b.md`", ["a.ts", "/b.md"]],
  ["/a/b.ts (c/d.ts)", ["/a/b.ts", "c/d.ts"]],
  ["./a/b.ts, ../c/d.ts", ["./a/b.ts", "../c/d.ts"]],
  ["`a/b/[id].tsx` src/*.ts a/[b]/c.d.ts", ["a/b/[id].tsx", "src/*.ts", "a/[b]/c.d.ts"]],
  ["a/b.ts a/b.ts", ["a/b.ts"]],
  ["@scope/pkg/a.ts a-/b.ts", ["@scope/pkg/a.ts", "a-/b.ts"]],
  ["https://x.org/a.ts C:/a/b.ts", []],
  ["`src/a.ts`bc.ts`de.ts`", ["src/a.ts", "de.ts"]],
  ["a.ts a/b `a b.ts` `a.abcdefg`", []],
])("the files in %j are %j", (text, files) => {
  expect(filesIn(text)).toEqual(files);
});

describe("a checkbox", () => {
  it("is ticked by some marks", () => {
    expect(["x", "X", "✓", "✔️", "☑", "✅"].map(isTicked)).toEqual(Array(6).fill(true));
    expect(["-", "~", " ", "", "xx", "✅x", "ax"].map(isTicked)).toEqual(Array(7).fill(false));
  });

  it.each([
    ["[ ] a", "", 1, 3],
    ["[x]", "x", 1, 3],
    [" \t[X]", "X", 3, 5],
    ["**[x] a**", "x", 3, 5],
    ["__[ ]", "", 3, 5],
    ["~~ [ ]", "", 4, 6],
    ["*[-]", "-", 2, 4],
    ["_[~]", "~", 2, 4],
    ["[]", "", 1, 2],
    ["[ \t]", "", 1, 4],
    ["[  x ]", "x", 3, 6],
    ["[✔️]", "✔️", 1, 4],
  ])("is at the start of %j", (text, mark, column, end) => {
    const start = text.indexOf("[");
    expect(checkboxAt(text, 0)).toEqual({ mark, column, start, end });
    expect(checkboxAt(`[x] ${text}`, 4)).toEqual({ mark, column: column + 4, start: start + 4, end: end + 4 });
  });

  it.each(["[P]", "[1]", "[a]", "[x](b)", "[ ](b)", "a [x]", "[xx]", "[[]", "***[x]", "", "[x"])(
    "is not at the start of %j",
    (text) => expect(checkboxAt(text, 0)).toBeUndefined(),
  );

  it.each([
    ["a [ ] b [x]", [3, 9]],
    ["a[ ] string[] b[-] c_[x]", [2]],
    ["`[ ]` [x] ``[ ] ` [ ]``", [7]],
    ["[x](b) [ ](b) []", [8, 15]],
    ["(a)[x] ][x] é[x] 1[x]", []],
    ["[P] [1]", []],
    ["none", []],
  ])("is in %j in the columns %j", (text, columns) => {
    expect(checkboxesIn(text).map(({ column }) => column)).toEqual(columns);
  });
});

describe("references", () => {
  it.each([
    ["1.2, 1.3", ["1.2", "1.3"]],
    ["FR-001; FR-002 & NFR-Sc1", ["FR-001", "FR-002", "NFR-Sc1"]],
    ["1.2 and 1.3/1.4+1.5", ["1.2", "1.3", "1.4", "1.5"]],
    ["[FR-001](spec.md#fr-001)", ["FR-001"]],
    ["[FR-001] [FR-002]", ["FR-001", "FR-002"]],
    ["(1.1, 1.2).", ["1.1", "1.2"]],
    ["(1.1, 1.2)", ["1.1", "1.2"]],
    ["(1.1) 1.2", ["(1.1) 1.2"]],
    ["Requirements 1.2", ["1.2"]],
    ["req 1, reqs 2, Requirement 3", ["1", "2", "3"]],
    ["#3, §4, Story 4, Section 1.2 (all)", ["#3", "§4", "Story 4", "Section 1.2 (all)"]],
    ["1.1-1.3, 1 to 3, 1 through 3, 1–FR-3a", ["1.1-1.3", "1 to 3", "1 through 3", "1–FR-3a"]],
    ["*1.1*, `1.2`.", ["1.1", "1.2"]],
    ["FR-001a,, US1 ", ["FR-001a", "US1"]],
    ["All of them", ["All of them"]],
    ["requirement x", ["requirement x"]],
    ["1.1, x", ["1.1, x"]],
    ["US1 (a (b))", ["US1 (a (b))"]],
    ["1.1x2", ["1.1x2"]],
    ["None", []],
    ["none.", []],
    ["n/a", []],
    ["NA", []],
    ["--", []],
    ["None of it", ["None of it"]],
    ["Almost none", ["Almost none"]],
    ["", []],
    [" , ", []],
  ])("in %j are %j", (text, ids) => {
    expect(readReferences(text)).toEqual(ids);
  });
});

describe("a text about dependencies", () => {
  it.each([
    ...[
      "none",
      "None (x)",
      "no 1.1",
      "n/a",
      "NA 1.1",
      "Nothing",
      "nil",
      "-",
      "--",
      "—",
      "independent",
      "can start",
      "",
      "**None**",
    ],
  ])("names nothing in %j", (text) => {
    expect(named(text)).toEqual({ tasks: [], phases: [] });
  });

  it.each(["no", "nope", "all of it", "a (1.1) b", "- x"])("can't be read: %j", (text) => {
    expect(named(text)).toEqual({ tasks: [], phases: [], unread: text });
  });

  it.each([
    ["v1.2", ["v1.2"]],
    ["1 2", ["1 2"]],
    ["x 1", ["x 1"]],
    ["1 x", ["1 x"]],
    ["09-11", ["09-11"]],
  ])("can't be read, and says which words may be ids: %j", (text, unsure) => {
    expect(named(text)).toEqual({ tasks: [], phases: [], unread: text, unsure });
  });

  it("names some tasks, and says which other words may be ids", () => {
    expect(named("1, 2x")).toEqual({ tasks: ["2x"], phases: [], unsure: ["1"] });
    expect(named("1.1 and v2")).toEqual({ tasks: ["1.1"], phases: [], unsure: ["v2"] });
  });

  it.each([
    ["1.1", ["1.1"]],
    ["Task 1.1, 1.2", ["1.1", "1.2"]],
    ["1.1-1.3", ["1.1", "1.2", "1.3"]],
    ["1.9 – 1.11", ["1.9", "1.10", "1.11"]],
    ["T001-T003", ["T001", "T002", "T003"]],
    ["T009 to t011", ["T009", "T010", "T011"]],
    ["1.1 through 1.3", ["1.1", "1.2", "1.3"]],
    ["1.1-1.1", ["1.1"]],
    ["1.1-2.3", ["1.1", "2.3"]],
    ["1.3-1.1", ["1.3", "1.1"]],
    ["1.1a-1.2a", ["1.1a", "1.2a"]],
    ["T1a, t2", ["T1a", "t2"]],
    ["US1-T03", ["US1-T03"]],
    ["T-001, FE-02 and T-HF01", ["T-001", "FE-02", "T-HF01"]],
    ["9a, 1.2b, 1.a and WP02", ["9a", "1.2b", "1.a", "WP02"]],
    ["依赖 1.1、1.2 和 T003", ["1.1", "1.2", "T003"]],
    ["Task 1 and 2", ["1", "2"]],
    ["tasks  #1, #2 & 3,and 4", ["1", "2", "3", "4"]],
    ["subtask 33", ["33"]],
    ["Task 1-3, then 1.5", ["1.5", "1", "2", "3"]],
    ["tasks 5 to 1", ["5", "1"]],
    ["1, #2 & 3 and 44", ["1", "2", "3", "44"]],
    ["#12 , 34&56  and  #78", ["12", "34", "56", "78"]],
    ["7", ["7"]],
    ["1.08-1.10", ["1.08", "1.09", "1.10"]],
    ["**1.1**, `1.2`", ["1.1", "1.2"]],
    ["1.1-1.100", Array.from({ length: 100 }, (_, at) => `1.${at + 1}`)],
  ])("names the tasks in %j", (text, tasks) => {
    expect(named(text)).toEqual({ tasks, phases: [] });
  });

  it.each([
    ["Phase 1", ["1"], []],
    ["phases 1-3", ["1", "2", "3"], []],
    ["Phases 1, 2 and 3", ["1", "2", "3"], []],
    ["phases 1 & 2a", ["1", "2a"], []],
    ["Phase 1 to 3", ["1", "2", "3"], []],
    ["Phases 1, and 2", ["1", "2"], []],
    ["Phases 09-11", ["09", "10", "11"], []],
    ["Phase 1, 1.1", ["1"], ["1.1"]],
    ["Phase 1 and 1.2 and phase 22", ["1", "22"], ["1.2"]],
    ["Phase 1 and 2 and task 3", ["1", "2"], ["3"]],
  ])("names the phases in %j", (text, phases, tasks) => {
    expect(named(text)).toEqual({ tasks, phases });
  });

  it("may have a range that is too long", () => {
    expect(named("1.1-1.101")).toEqual({ tasks: ["1.1", "1.101"], phases: [], tooLong: ["1.1-1.101"] });
    expect(named("Phase 1 to 300")).toEqual({ tasks: [], phases: ["1", "300"], tooLong: ["1-300"] });
  });
});
