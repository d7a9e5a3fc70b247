import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "../../../src/storage/postgres/rows.js";

describe("encodeText", () => {
  it("leaves ordinary texts unchanged, with emoji and control characters too", () => {
    for (const text of [
      "",
      "abc",
      "👩‍👩‍👧‍👦 ✅ 𝒳",
      "\u0001\u001f\u007f\n\r\u2028",
      JSON.stringify({ odd: "\u0000\ud800\u001a" }),
    ]) {
      expect(encodeText(text)).toBe(text);
    }
  });

  it("escapes characters that PostgreSQL cannot store", () => {
    expect(encodeText("a\u0000b\ud800c\udc00\u001a0000")).toBe("a\u001a0000b\u001ad800c\u001adc00\u001a001a0000");
  });

  it("is reversible for every text", () => {
    const units = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(0, 0x1a, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0x30, 0x61),
    );
    const odd = fc.array(units).map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(fc.oneof(odd, fc.string({ unit: "binary" })), (text) => {
        const stored = encodeText(text);
        expect([stored.includes("\u0000"), /\p{Surrogate}/u.test(stored)]).toEqual([false, false]);
        expect(decodeText(stored)).toBe(text);
      }),
    );
  });

  it("encodes different texts differently", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (one, other) => {
        expect(encodeText(one) === encodeText(other)).toBe(one === other);
      }),
    );
  });
});
