import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lengthWithin } from "../../src/tools/pages.js";

const CASES = [
  "plain",
  'a "quote" and a \\',
  "\b\t\n\f\r\v\0\u001f\u007f",
  "😀 pair",
  "\ud83d alone",
  "\ude00\ud83d",
  "é\u2028",
];

describe("lengthWithin", () => {
  it.each(CASES)("takes as much of %j as has so many characters of JSON", (text) => {
    for (let most = 2; most <= JSON.stringify(text).length + 1; most += 1) {
      const length = lengthWithin(text, most);
      expect(JSON.stringify(text.slice(0, length)).length).toBeLessThanOrEqual(most);
      const [next = ""] = text.slice(length);
      if (next !== "") expect(JSON.stringify(text.slice(0, length) + next).length).toBeGreaterThan(most);
    }
  });

  it("takes a whole text exactly if its JSON fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.boolean(), (text, isEnough) => {
        const { length } = JSON.stringify(text);
        expect(lengthWithin(text, isEnough ? length : length - 1) === text.length).toBe(isEnough);
      }),
    );
  });
});
