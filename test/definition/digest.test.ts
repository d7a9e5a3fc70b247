import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { digest, keyedDigest } from "../../src/definition/digest.js";

const TEXTS = ["", "a", "Grüße, 世界 🌍", "\ud800 alone", "ü".repeat(4096), "世".repeat(4097), `${"x".repeat(4096)}y`];

describe("digests", () => {
  it("are those of the text as UTF-8, however long it is and whatever was hashed before", () => {
    for (const text of [...TEXTS, ...TEXTS.toReversed()]) {
      expect(digest(text)).toBe(createHash("sha256").update(text, "utf8").digest("hex"));
    }
  });

  it("under a key are HMACs", () => {
    const key = new Uint8Array(32).fill(7);
    for (const text of TEXTS) {
      expect(keyedDigest(key, text)).toBe(createHmac("sha256", key).update(text, "utf8").digest("hex"));
    }
  });
});
