import { expect, it } from "vitest";
import { requireEvent } from "../../../src/phased/state/machine.js";

it("a commit is asked only for an event that it must have", () => {
  const paused = { type: "paused" } as const;
  expect(requireEvent({ events: [paused] }, "paused")).toBe(paused);
  expect(() => requireEvent({ events: [paused] }, "resumed")).toThrow("a commit without 'resumed'");
});
