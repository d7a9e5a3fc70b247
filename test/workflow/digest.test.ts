import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { digest, keyedDigest, nativeHashes, PORTABLE } from "../../src/workflow/json.js";

const TEXTS = ["", "a", "Grüße, 世界 🌍", "\ud800 alone", "ü".repeat(4096), "世".repeat(4097), `${"x".repeat(4096)}y`];

const NATIVE = nativeHashes();

describe.each([
  ["the runtime's own", NATIVE],
  ["portable ones", PORTABLE],
])("digests by %s", (_, by) => {
  it("are those of the text in UTF-8, of any length and after any other text", () => {
    for (const text of [...TEXTS, ...TEXTS.toReversed()]) {
      expect(digest(text, by)).toBe(createHash("sha256").update(text, "utf8").digest("hex"));
    }
  });

  it("with a key are HMACs", () => {
    for (const key of [new Uint8Array(32).fill(7), new Uint8Array(100).fill(9)]) {
      for (const text of TEXTS) {
        expect(keyedDigest(key, text, by)).toBe(createHmac("sha256", key).update(text, "utf8").digest("hex"));
      }
    }
  });
});

describe("nativeHashes", () => {
  it("returns hashes only if the runtime has both functions", () => {
    expect(NATIVE).toBeDefined();
    expect(nativeHashes({})).toBeUndefined();
    expect(nativeHashes({ getBuiltinModule: () => undefined })).toBeUndefined();
  });
});
