import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pageAnswer, partWithin } from "../../src/tools/pages.js";

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
      const length = partWithin(text, most);
      expect(JSON.stringify(text.slice(0, length)).length).toBeLessThanOrEqual(most);
      const [next = ""] = text.slice(length);
      if (next !== "") expect(JSON.stringify(text.slice(0, length) + next).length).toBeGreaterThan(most);
    }
  });

  it("takes a whole text exactly if its JSON fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.boolean(), (text, isEnough) => {
        const { length } = JSON.stringify(text);
        expect(partWithin(text, isEnough ? length : length - 1) === text.length).toBe(isEnough);
      }),
    );
  });
});

describe("pageAnswer", () => {
  it.each(CASES)("makes pages that are the whole answer together, with %j in it", (part) => {
    const answer = { status: "success", action: "get_state", text: part.repeat(2000), list: [part] };
    const call = () => ({ action: "get_state" });
    let found = "";
    let cursor: string | undefined;
    do {
      const page = pageAnswer(answer, 4000, { call, cursor });
      expect(JSON.stringify(page).length).toBeLessThanOrEqual(4000);
      found += String(page.json_page);
      cursor = typeof page.cursor === "string" ? page.cursor : undefined;
    } while (cursor !== undefined);
    expect(JSON.parse(found)).toEqual(answer);
  });
});
