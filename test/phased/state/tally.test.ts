import { expect, it } from "vitest";
import { addToTally } from "../../../src/phased/state/tally.js";
import { parseSessionId } from "../../../src/workflow/names.js";

it("a tally ends with the deletion of its session", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const head = { status: "active", workflowType: "w", target: "a.ts", phase: 1, createdAt: at } as const;
  const commit = { sessionId: parseSessionId("w_a_ts_20260101_000000"), version: 1, hash: "h", at, body: "" };
  const tally = addToTally(undefined, { ...commit, head, events: [{ type: "phase_entered", phase: 1 }] });
  expect(tally).toMatchObject({ version: 1, status: "active", phase: 1, since: at });
  const end = { ...commit, version: 2, head: { ...head, status: "deleted" } as const, events: [] };
  expect(addToTally(tally, end)).toBeUndefined();
});
