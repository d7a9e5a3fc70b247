import { expect, it } from "vitest";
import { decodeCursor, encodeCursor, isIsoTime } from "../../../src/storage/common/session-query.js";

it("a list cursor is URL-safe and decodes to its position", () => {
  const position = { createdAt: "2026-01-02T03:04:05.678Z", sessionId: "a_b-c" };
  const cursor = encodeCursor(position);
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(decodeCursor(cursor)).toEqual(position);
});

it("isIsoTime accepts only valid ISO times in UTC with milliseconds", () => {
  expect(isIsoTime("2026-01-02T03:04:05.678Z")).toBe(true);
  for (const time of [
    "2026-02-30T00:00:00.000Z",
    "2026-01-02T03:04:05Z",
    "2026-01-02 03:04:05.678Z",
    0,
    "x".repeat(24),
  ]) {
    expect(isIsoTime(time)).toBe(false);
  }
});
