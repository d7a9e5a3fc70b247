import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pageAnswer, partWithin } from "../../src/tools/pages.js";
import { fits, jsonOf, type WireObject } from "../../src/tools/wire.js";

const CASES = [
  "plain",
  'a "quote" and a \\',
  "\b\t\n\f\r\v\0\u001f\u007f",
  "😀 pair",
  "\ud83d alone",
  "\ude00\ud83d",
  "é\u2028",
];

describe("partWithin", () => {
  it.each(CASES)("takes as much of %j as has so many characters of JSON", (text) => {
    for (let most = 2; most <= JSON.stringify(text).length + 1; most += 1) {
      const { length, json } = partWithin(text, most);
      expect(json).toBe(JSON.stringify(text.slice(0, length)));
      expect(JSON.stringify(text.slice(0, length)).length).toBeLessThanOrEqual(most);
      const [next = ""] = text.slice(length);
      if (next !== "") expect(JSON.stringify(text.slice(0, length) + next).length).toBeGreaterThan(most);
    }
  });

  it("takes a whole text exactly if its JSON fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.boolean(), (text, isEnough) => {
        const { length } = JSON.stringify(text);
        expect(partWithin(text, isEnough ? length : length - 1).length === text.length).toBe(isEnough);
      }),
    );
  });
});

describe("jsonOf", () => {
  it("has what a host has added to an answer after its budget was checked", () => {
    const answer: WireObject = { status: "success", text: '"'.repeat(2000), empty: undefined };
    expect(fits(answer, 5000)).toBe(true);
    const whole = jsonOf(answer);
    expect(whole).toBe(JSON.stringify(answer));
    answer.extra = true;
    expect(jsonOf(answer)).toBe(JSON.stringify(answer));
    delete answer.extra;
    answer.status = "error";
    expect(jsonOf(answer)).toBe(JSON.stringify(answer));
    answer.status = "success";
    expect(jsonOf(answer)).toBe(whole);
  });
});

describe("pageAnswer", () => {
  it.each(CASES)("writes each page as JSON.stringify does, with %j in it", (part) => {
    const answer = { status: "success", action: "get_state", text: part.repeat(2000), list: [part] };
    const call = () => ({ action: "get_state" });
    let found = "";
    let cursor: string | undefined;
    do {
      const page = pageAnswer(answer, 4000, { call, cursor });
      expect(jsonOf(page)).toBe(JSON.stringify(page));
      expect(jsonOf(page).length).toBeLessThanOrEqual(4000);
      found += String(page.json_page);
      cursor = typeof page.cursor === "string" ? page.cursor : undefined;
    } while (cursor !== undefined);
    expect(JSON.parse(found)).toEqual(answer);
  });
});
