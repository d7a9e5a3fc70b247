import { describe, expect, it } from "vitest";
import { checkboxAt, checkboxesIn, isTicked } from "../../src/plan/boxes.js";
import { codePrefixes, uniqueIds } from "../../src/plan/ids.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { fieldOf, isGateTitle, labelOf, phaseTitle } from "../../src/plan/titles.js";
import { stateBySign, vocabularyOf } from "../../src/plan/words.js";
import { lines, outline } from "./outline.js";

const WORDS = vocabularyOf();

describe("the title of a gate", () => {
  it.each([
    ["Gate", true],
    ["🛑 Gates", true],
    ["Exit  criteria", true],
    ["Our gate criteria", true],
    ["🛑 Критерии выхода", true],
    ["Critères de sortie", true],
    ["Checkpoints", false],
    ["Existing criteria", false],
  ])("is recognised: %j", (title, isGate) => expect(isGateTitle(title)).toBe(isGate));
});

describe("a label", () => {
  it.each([
    ["`Status: done` is right", undefined],
    ["Note, status - done", undefined],
    ["Rooms: 12", undefined],
    ["Later: T001 is nice", undefined],
    ["Later: T001, T002", { field: "other", name: "Later", text: "T001, T002" }],
    ["requires 1.2 and 1.3", { field: "dependencies", name: "requires", text: "1.2 and 1.3" }],
    ["_Requirements:_  1.2", { field: "requirements", name: "Requirements", text: "1.2" }],
  ])("is read in %j", (line, read) => expect(labelOf(line, WORDS)).toEqual(read));

  it.each([
    ["Phase 1 test completion criteria", "success"],
    ["Phase 2 done when merged", "other"],
    ["Depends -- on", "other"],
  ])("with a phase has its meaning: %j", (name, field) => expect(fieldOf(name, WORDS)).toBe(field));
});

describe("the title of a phase", () => {
  it.each([
    ["3フェーズ：A", "3", "A"],
    ["3 단계: A", "3", "A"],
    ["3 Phase: A", undefined, "A"],
    ["Phase 3", "3", ""],
    ["Phase 3 (B)", "3", "(B)"],
  ])("is read: %j", (title, key, name) => expect(phaseTitle(title, WORDS)).toEqual({ key, name }));
});

describe("the letters of codes", () => {
  it.each<readonly [string, readonly string[], boolean]>([
    ["FE-", ["**FE-1**: a", "b", "c"], true],
    ["FE-", ["FE-1 : a", "b", "c"], true],
    ["FE-", ["FE-1. a", "b", "c"], true],
    ["FE-", ["FE-1 - a", "b", "c"], true],
    ["FE-", ["FE-1— a", "b", "c"], true],
    ["FE-", ["**FE-1**", "b", "c"], true],
    ["FE-", ["FE-1 a", "b", "c"], false],
    ["FE-", ["FE-1 a: b", "b", "c"], false],
    ["FE-", ["FE-1 a - b", "b", "c"], false],
    ["FE-", ["FE-1.x a", "b", "c"], false],
    ["FE-", ["FE-1 -x a", "b", "c"], false],
    ["SQL-", ["SQL-1 a", "SQL-2 b"], true],
    ["MD", ["MD4 a", "MD5 b", "MD6 c"], false],
    ["X", ["X1-AB-2 a", "X1-AB-3 b"], false],
    ["WP", ["WP101 a", "b", "c"], false],
    ["T", [], true],
  ])("%j in %j are known: %j", (prefix, texts, isFound) => expect(codePrefixes(texts).has(prefix)).toBe(isFound));
});

describe("the id of a second task", () => {
  it("is the first that no task has", () => {
    const given = uniqueIds(["1.1-2"]);
    expect([given.take("1.1"), given.take("1.1"), given.take("1.1")]).toEqual(["1.1", "1.1-3", "1.1-4"]);
    const made = uniqueIds([]);
    expect([made.take("1.1-2"), made.make("1.1"), made.make("1.1")]).toEqual(["1.1-2", "1.1", "1.1-3"]);
  });
});

describe("the name behind an id", () => {
  it.each([
    ["__1.1__ b", "1.1 b"],
    ["__1.1:__ b", "1.1 b"],
    ["1.1: use `b`", "1.1 use `b`"],
    ["1.1  `b` c", "1.1 `b` c"],
    ["1.1`b` c", "1.1 `b` c"],
  ])("of %j", (text, read) => {
    expect(outline(`## Phase 1: A\n- [ ] ${text}\n`)).toEqual(["1 A @1", `[ ] ${read} @2`]);
  });
});

describe("a state without words", () => {
  it.each([
    ["✅", "done"],
    ["a ✅", undefined],
    ["5/12", "in_progress"],
    ["3 / 3", "done"],
    ["0/5", "pending"],
    ["0%", "pending"],
    ["(80%)", "in_progress"],
    ["100 %", "done"],
    ["2026/01/12", undefined],
    ["7", undefined],
  ])("is read: %j", (text, state) => expect(stateBySign(text)).toBe(state));
});

describe("a word for done", () => {
  it.each([
    ["Done  on 2026-01-02", false],
    ["Done (notes)", false],
    ["Done (all) ✅", false],
    ["Done (1 error)", true],
    ["Done (but slow)", true],
    ["Done (all) of it", true],
    ["Done (all", true],
  ])("may be limited: %j", (text, limited) => expect(WORDS.stateIn(text)?.limited).toBe(limited));

  it("is in the language of the one for another state", () => {
    expect(WORDS.wordFor("done", "En  cours")).toBe("terminé");
  });
});

describe("a word for a dependency", () => {
  it.each([
    ["(NEEDS 1.1)", " < 1.1"],
    ["(AFTER task 1.1)", " < 1.1"],
    ["(after 1.0 AND 1.1)", " < 1.0 1.1"],
    ["(hereafter 1.1)", ""],
    ["Roadblocks 1.1 remain", ""],
  ])("counts as a whole, in any case: %j", (remark, after) => {
    const read = outline(`## Phase 1: A\n- [ ] 1.0 0\n- [ ] 1.1 a\n- [ ] 1.2 b\n  ${remark}\n`);
    expect(read.slice(1)).toEqual(["[ ] 1.0 0 @2", "[ ] 1.1 a @3", `[ ] 1.2 b @4${after}`]);
  });
});

describe("a word of the host", () => {
  it.each([
    ["ph.", "Ph. 3: A"],
    ["work  package", "Work package 3: A"],
  ])("may have signs and blanks: %j", (word, title) => {
    expect(lines(parsePlan(`## ${title}\n- [ ] b\n`, { words: { phase: [word] } }))).toEqual([
      "3 A @1",
      "[ ] 3.1 b @2",
    ]);
  });
});

describe("a checkbox", () => {
  it.each([
    ["[complete] a", "complete"],
    ["[In Progress] a", "In Progress"],
    ["[In progress] a", "In progress"],
    ["[in-progress] a", "in-progress"],
    ["[IN PROGRESS] a", "IN PROGRESS"],
    ["[PENDING] a", "PENDING"],
    ["[Wip] a", "Wip"],
    ["[a] b", "a"],
    ["[xa] b", undefined],
    ["[P] b", undefined],
    ["[**x**] b", "**x**"],
  ])("with a word or letter at the start of an item: %j", (text, mark) => {
    expect(checkboxAt(text, 0, true)?.mark).toBe(mark);
  });

  it("with a letter is none elsewhere", () => {
    expect(["[a] b", "[wip] b", "[x] b", "[**x**] b"].map((text) => checkboxAt(text, 0)?.mark)).toEqual([
      undefined,
      undefined,
      "x",
      undefined,
    ]);
  });

  it.each(["x", "X", "complete", "Completed", "done", "✅", "**x**"])("is ticked by %j", (mark) => {
    expect(isTicked(mark)).toBe(true);
  });

  it("has its column, also behind another one and with an escaped mark", () => {
    const text = "a ☐ b \\[\\-\\] c ☑ `[x]` d[x] (e)[x] [x](f) [ ](g)";
    expect(checkboxesIn(text).map(({ mark, column, start, end }) => [mark, column, text.slice(start, end)])).toEqual([
      ["☐", 2, "☐"],
      ["-", 9, "\\[\\-\\]"],
      ["☑", 15, "☑"],
      ["", 43, "[ ]"],
    ]);
    expect(checkboxesIn("none here")).toEqual([]);
    expect(checkboxesIn("so☐ and ☑(now)").map(({ column }) => column)).toEqual([2, 8]);
    expect(checkboxAt("- **☐ a**", 2)).toEqual({ mark: "☐", column: 4, start: 4, end: 5 });
  });

  it.each([
    ["- ☒ 1.1 b", "- ☐ 1.1 b"],
    ["- [☒] 1.1 b", "- [☐] 1.1 b"],
    ["- DONE 1.1 b", "- TODO 1.1 b"],
    ["- [DONE] 1.1 b", "- [TODO] 1.1 b"],
    ["- [Done] 1.1 b", "- [ ] 1.1 b"],
  ])("that is ticked, %j, has the tick taken back", (ticked, open) => {
    const text = (line: string) => `## Phase 1: A\n${line}\n`;
    expect(tickTask(text(ticked), parsePlan(text(ticked)).plan, "1.1", { done: false })).toBe(text(open));
  });
});
