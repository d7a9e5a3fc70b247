import { describe, expect, it } from "vitest";
import { saysNothing, visibleText } from "../../src/workflow/field-types.js";
import { escapeHidden, singleLine } from "../../src/workflow/hidden.js";
import type { JsonValue } from "../../src/workflow/json.js";
import { shown } from "../../src/workflow/names.js";

/** Unicode classes of invisible characters. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}]/u;
/** Blank characters that Unicode classifies as letters, marks or symbols. */
const BLANK = [0x2800, 0x1d159, 0x16fe4, 0x13441, 0x13442, 0x3164, 0xffa0, 0x115f, 0x1160, 0x17b4, 0x034f];

describe("visibleText", () => {
  it("removes all invisible characters, alone or in sequence", () => {
    const unseen: string[] = BLANK.map((code) => String.fromCodePoint(code));
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (UNSEEN.test(character)) unseen.push(character);
    }
    expect(unseen.length).toBeGreaterThan(900_000);
    expect(unseen.filter((character) => visibleText(character) !== "")).toEqual([]);
    expect(visibleText(unseen.join(""))).toBe("");
  });

  it("keeps letters, digits, signs and emoji of all scripts, and blanks between them", () => {
    for (const text of ["a", "0", "é", "مرحبا", "日本", "हिन्दी", "🎉", "-", "_", "a b", "e\u0301"]) {
      expect(visibleText(` ${text}\u200b\u00a0`)).toBe(text);
    }
  });

  it("needs linear time", () => {
    expect(visibleText(`a${" \u200b".repeat(500_000)}b`)).toHaveLength(500_002);
  });
});

/** Invisible and direction characters of Unicode, without those that end lines or separate words. */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe("escapeHidden", () => {
  it("escapes every character that is ignored, changes direction or ends a line, as JSON does", () => {
    const named =
      "\u061c\u00ad\u{e0041}\u{e007f}\u{e0001}\ufe0f\u{e0100}\u3164\u180e\u2028\u009b\u202e\u2066\ufeff\u2800";
    const hidden = [...named];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (HIDDEN.test(character) && character !== "\t" && character !== "\n") hidden.push(character);
    }
    expect(hidden.length).toBeGreaterThan(4000);
    for (const character of hidden) {
      const escaped = escapeHidden(character);
      expect(escaped).toMatch(/^(\\u[0-9a-f]{4}){1,2}$/);
      expect(JSON.parse(`"${escaped}"`)).toBe(character);
      expect(shown(`a${character}b`)).not.toContain(character);
    }
  });

  it("keeps letters, digits, signs and emoji of all scripts, tabs and line feeds", () => {
    const text = "a 0 é مرحبا 日本 हिन्दी 🎉 - _\t\u00a0e\u0301\n";
    expect(escapeHidden(text)).toBe(text);
    expect(singleLine("a\r\n\tb\u2028c")).toBe("a b\\u2028c");
  });
});

describe("saysNothing", () => {
  it("checks lists and objects", () => {
    const nothings: (JsonValue | undefined)[] = [
      null,
      undefined,
      "",
      "\u2800",
      [],
      {},
      [""],
      [null, " "],
      [[], {}],
      { a: "" },
      { a: [{}] },
    ];
    for (const nothing of nothings) {
      expect(saysNothing(nothing), JSON.stringify(nothing)).toBe(true);
    }
    for (const something of [0, false, "x", [0], ["", "x"], { a: false }, [[["x"]]]]) {
      expect(saysNothing(something), JSON.stringify(something)).toBe(false);
    }
  });
});
