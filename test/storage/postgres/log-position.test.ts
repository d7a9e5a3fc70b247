import { describe, expect, it } from "vitest";
import { positionAfter } from "../../../src/storage/postgres/feed.js";

describe("positionAfter", () => {
  it("keeps a snapshot whose last commit was seen", () => {
    expect(positionAfter("100:105:101,103", "104")).toBe("101:105:101,103");
    expect(positionAfter("100:100:", "99")).toBe("100:100:");
  });

  it("drops transaction ids after the last commit that was seen, as they may be used again", () => {
    expect(positionAfter("100:110:101,103,107", "104")).toBe("101:105:101,103");
    expect(positionAfter("106:110:107", "104")).toBe("105:105:");
    expect(positionAfter("100:110:", "0")).toBe("1:1:");
  });

  it("handles transaction ids above the safe integers", () => {
    expect(positionAfter("9007199254740993:9007199254740999:", "9007199254740995")).toBe(
      "9007199254740996:9007199254740996:",
    );
  });
});
