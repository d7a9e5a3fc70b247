import { describe, expect, it } from "vitest";
import { codePrefixes } from "../../src/plan/ids.js";
import { fieldOf, isGateTitle, labelOf, mentionedPhase, numberedTitle, wordAndNumber } from "../../src/plan/titles.js";
import { keyOf, vocabularyOf } from "../../src/plan/words.js";
import { outline } from "./outline.js";

const WORDS = vocabularyOf();

describe("a word with a number", () => {
  it.each([
    ["Wave 2: Name", "wave", "2"],
    ["WAVE 12：Name", "wave", "12"],
    ["🌊 Wave  2.5 – Name", "wave", "2.5"],
    ["**Wave 2**: Name", "wave", "2"],
    ["Vaihe 3. Nimi", "vaihe", "3"],
    ["Wave 3", "wave", "3"],
    ["Wave 10.25 : x", "wave", "10.25"],
    ["Wave 4   - x", "wave", "4"],
  ])("begins %s", (title, word, key) => {
    expect(wordAndNumber(title)).toEqual({ word, key });
  });

  it.each([
    "Wave2: Name",
    "Wave 2 Name",
    "W 2: Name",
    "The Wave 2: Name",
    "Wave: 2",
    "2 Wave 3: Name",
    "Wave two: Name",
    "Wave-2: x",
  ])("is not in %s", (title) => {
    expect(wordAndNumber(title)).toBeUndefined();
  });
});

describe("the number of a phase", () => {
  it.each([
    ["三", "3"],
    ["十", "10"],
    ["十二", "12"],
    ["二十", "20"],
    ["二十三", "23"],
    ["twelve", "12"],
    ["Zwölf", "12"],
    ["EINS", "1"],
    ["двенадцать", "12"],
    ["IV", "iv"],
    ["B", "b"],
    ["2A", "2a"],
  ])("%s is %s", (written, key) => {
    expect(keyOf(written)).toBe(key);
  });

  it.each([
    ["3. Setup", "3", "Setup"],
    ["12)  Setup ", "12", "Setup"],
    ["三", undefined, undefined],
    ["3、Setup", "3", "Setup"],
    ["3、 Setup", "3", "Setup"],
    ["3 Setup", undefined, undefined],
  ])("of a numbered title: %s", (title, key, name) => {
    expect(numberedTitle(title)).toEqual(key === undefined ? undefined : { key, name });
  });
});

describe("codes", () => {
  it.each<readonly [string, readonly string[], boolean]>([
    ["FE-", ["FE-1 a", "FE-2 b"], true],
    ["FE-", ["FE-1 a", "FE-2 b", "c", "d"], true],
    ["FE-", ["FE-1 a", "FE-2 b", "c", "d", "e"], false],
    ["FE-", ["FE-1 a"], false],
    ["FE-", ["FE-1: a", "b", "c"], true],
    ["UTF-", ["UTF-8 a", "UTF-16 b"], false],
    ["SHA-", ["SHA-1 a", "SHA-256 b", "SHA-512 c"], false],
    ["WP", ["WP02 a", "b", "c"], true],
    ["WP", ["WP12 a", "b", "c"], false],
    ["WP", ["WP12 a", "WP13 b", "WP14 c", "d", "e", "f", "g"], true],
    ["WP", ["WP12 a", "WP12 b", "WP12 c", "d", "e", "f", "g"], false],
    ["AB12-", ["AB12-1 a", "AB12-2 b"], false],
  ])("begin with %s: %j", (prefix, texts, isFound) => {
    expect(codePrefixes(texts).has(prefix)).toBe(isFound);
  });

  it("are ids if a dependency names one", () => {
    const asked: string[] = [];
    const found = codePrefixes(["API1 a", "T001 b", "XT5 c"], (isId) => {
      const words = ["API1", "T001", "XT5", "Y7"].filter(isId);
      asked.push(...words);
      return ["API1"];
    });
    expect(asked).toEqual(["API1", "XT5"]);
    expect([...found]).toContain("API");
    expect(found.has("XT")).toBe(false);
    expect(codePrefixes(["T001 a"], () => ["API1"]).has("API")).toBe(false);
  });
});

describe("titles and labels", () => {
  it.each([
    ["Phase 1 completion criteria", "gate"],
    ["Phase 2 is complete when", "gate"],
    ["Phase 2 done when", "gate"],
    ["Phase 2 success criteria", "success"],
    ["Phase 2 exit criteria", "gate"],
    ["Early phase completion criteria list", "other"],
  ])("%s is a %s", (name, field) => {
    expect(fieldOf(name, WORDS)).toBe(field);
  });

  it.each([
    ["Status - done", "done"],
    ["Status = done", "done"],
    ["Status:: done", "done"],
    ["状态：完成", "完成"],
    ["Status：done", "done"],
  ])("a state follows in %s", (line, text) => {
    expect(labelOf(line, WORDS)).toEqual({ field: "status", name: line.split(/\s*[-=:：]/)[0], text });
  });

  it.each(["The status - done", "My words - done", "Status -done"])("none follows in %s", (line) => {
    expect(labelOf(line, WORDS)?.field).not.toBe("status");
  });

  it.each([
    ["Phase  1  gate", true],
    ["Phase 1 gates", true],
    ["  gates: all", true],
    ["Gate 3", true],
    ["Validation  gate", true],
    ["Gateway", false],
    ["The gate", false],
    ["Phase 12345 gate", false],
  ])("%s is one of a gate: %s", (title, isGate) => {
    expect(isGateTitle(title)).toBe(isGate);
  });

  it.each([
    ["Gate before  Phase 2", undefined],
    ["Phase 1 → Phase 2", "1"],
    ["Phase 1 to Phase 2", "1"],
    ["Phase 1.5 gate", "1.5"],
    ["Final gate", "final"],
  ])("%s mentions phase %s", (title, key) => {
    expect(mentionedPhase(title)).toBe(key);
  });
});

describe("a state in words", () => {
  it.each([
    ["Done", "done", false],
    ["done on 2026-01-02", "done", false],
    ["Done (100%)", "done", false],
    ["Done (90%)", "done", true],
    ["Done, but slow", "done", true],
    ["Done ❌", "done", true],
    ["erledigt", "done", false],
    ["erledigt, aber langsam", "done", true],
    ["in  progress", "in_progress", false],
  ])("%s says %s, limited: %s", (text, state, limited) => {
    expect(WORDS.stateIn(text)).toMatchObject({ state, limited });
  });

  it.each([
    ["offen", "done", "fertig"],
    ["erledigt", "pending", "offen"],
    ["in  progress", "done", "done"],
    ["nothing known", "done", "done"],
  ])("in the language of %s, %s is %s", (like, state, word) => {
    expect(WORDS.wordFor(state === "done" ? "done" : "pending", like)).toBe(word);
  });
});

describe("the words of a host", () => {
  it("are beside the built-in ones", () => {
    const words = vocabularyOf({ phase: ["vaihe"], task: ["tehtävä"] }, undefined);
    expect(words.phaseTitle.test("Vaihe 1: A")).toBe(true);
    expect(words.phaseTitle.test("Phase 1: A")).toBe(true);
    expect(words.taskWord.test("Tehtävä 1.1")).toBe(true);
    expect(WORDS.phaseTitle.test("Vaihe 1: A")).toBe(false);
    expect(vocabularyOf(undefined)).toBe(WORDS);
  });
});

describe("an id with something behind it", () => {
  it.each([
    ["- [ ] 1.1: b", "[ ] 1.1 b @2"],
    ["- [ ] 1.1 - b", "[ ] 1.1 b @2"],
    ["- [ ] **1.1** b", "[ ] 1.1 b @2"],
    ["- [ ] [1.1](a.md) b", "[ ] 1.1 b @2"],
    ["- [ ] `T001` b", "[ ] T001 b @2"],
    ["- [ ] T001 `b`", "[ ] T001 `b` @2"],
    ["- [ ] T001 __proto__", "[ ] T001 __proto__ @2"],
    ["- [ ] _1.1_ b", "[ ] 1.1 b @2"],
    ["- [ ] 1.1. b", "[ ] 1.1 b @2"],
    ["- [ ] 1.1、b", "[ ] 1.1 b @2"],
  ])("is read: %s", (row, task) => {
    expect(outline(`## Phase 1: A\n${row}\n`)).toContain(task);
  });
});
