import { describe, expect, it } from "vitest";
import type { ListedSession } from "../../src/engine/lists.js";
import { standingOf, standingText } from "../../src/read/standing.js";

const SESSION: ListedSession = {
  sessionId: "bug_fix_src_a_20261122_010656_k3f9abcd" as ListedSession["sessionId"],
  kind: "phased",
  workflowType: "bug_fix",
  target: "src/A.ts",
  status: "active",
  current: 2,
  total: 3,
  createdAt: "2026-11-22T01:06:56.000Z",
  activeSince: 0,
  updatedAt: "2026-11-22T02:00:00.000Z",
};
const REFUSED = { attempts: 2, limit: 3 };

describe("how a session stands", () => {
  it.each<[changes: Partial<ListedSession>, standing: string, text: string]>([
    [{}, "working", "Working"],
    [{ refused: REFUSED }, "refused", "Refused 2 of 3"],
    [{ refused: { attempts: 0, limit: 3 } }, "refused", "Refused"],
    [{ refused: { attempts: 25, limit: 3 } }, "refused", "Refused 25 times"],
    [{ refused: REFUSED, waitsFor: ["waiver"] }, "needs_you", "Needs you"],
    [{ waitsFor: ["host"] }, "needs_you", "Needs you"],
    [{ status: "paused", waitsFor: ["waiver"] }, "paused", "Paused"],
    [{ status: "failed", waitsFor: ["host"], refused: REFUSED }, "failed", "Failed"],
    [{ status: "completed" }, "done", "Done"],
    [{ status: "deleted" }, "deleted", "Deleted"],
  ])("with %j is %s", (changes, standing, text) => {
    const session = { ...SESSION, ...changes };
    expect(standingOf(session)).toBe(standing);
    expect(standingText(session)).toBe(text);
  });
});
