import assert from "node:assert/strict";
import type { Page, SessionQuery, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { appendAll } from "./append-all.js";
import { refuses } from "./contract-case.js";
import { makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";

/** The ids on a page. */
export function idsOf(page: Page<SessionSummary>): string[] {
  return page.items.map((summary) => summary.sessionId);
}

const OLD = "2025-12-31T23:59:59.999Z";
const NEW = "2026-01-01T00:00:00.000Z";
const LATER = "2026-02-01T00:00:00.000Z";

/** What a list shows, and what it lets through. */
export const listChecks: readonly StorageCheck[] = [
  [
    "list: nothing in an empty storage",
    async (storage) => {
      const page = await storage.list({});
      assert.deepEqual([page.items, page.cursor], [[], undefined]);
      assert.deepEqual((await storage.list({ status: ["active"] })).items, []);
    },
  ],
  [
    "list: newest first, then by id",
    async (storage) => {
      for (const [sessionId, createdAt] of [
        ["b", OLD],
        ["z", LATER],
        ["a-b", NEW],
        ["a", NEW],
        ["ab", NEW],
        ["a_b", NEW],
      ] as const) {
        await storage.append(makeCommit({ sessionId, summary: { createdAt } }));
      }
      const expected = ["z", "a", "a-b", "a_b", "ab", "b"];
      assert.deepEqual(idsOf(await storage.list({})), expected);
      assert.deepEqual(idsOf(await storage.list({ status: ["active"] })), expected);
    },
  ],
  [
    "list: shows the newest commit's summary",
    async (storage) => {
      const first = makeCommit();
      const second = nextCommit(first, { at: LATER, summary: { current: 2 } });
      await appendAll(storage, [first, second]);
      assert.deepEqual((await storage.list({})).items, [second.summary]);
      assert.deepEqual((await storage.list({ status: ["active"] })).items, [second.summary]);
    },
  ],
  [
    "list: filters, alone and together",
    async (storage) => {
      await storage.append(
        makeCommit({ sessionId: "one", summary: { workflowType: "x", target: "t", updatedAt: OLD } }),
      );
      await storage.append(
        makeCommit({ sessionId: "two", summary: { workflowType: "x", target: "u", kind: "routed" } }),
      );
      await storage.append(makeCommit({ sessionId: "six", summary: { workflowType: "y", status: "completed" } }));
      await expectIds(storage, { workflowType: "x" }, ["one", "two"]);
      await expectIds(storage, { target: "t" }, ["one"]);
      await expectIds(storage, { idPrefix: "o" }, ["one"]);
      await expectIds(storage, { idPrefix: "none" }, []);
      await expectIds(storage, { kind: "routed" }, ["two"]);
      await expectIds(storage, { updatedBefore: NEW }, ["one"]);
      await expectIds(storage, { updatedBefore: OLD }, []);
      await expectIds(storage, { status: ["completed"] }, ["six"]);
      await expectIds(storage, { status: ["active"] }, ["one", "two"]);
      await expectIds(storage, { status: ["active", "completed"], workflowType: "y" }, ["six"]);
      await expectIds(storage, { status: ["active"], target: "t", workflowType: "x" }, ["one"]);
      await expectIds(storage, { status: ["paused", "failed"] }, []);
      await expectIds(storage, { status: [] }, []);
    },
  ],
  [
    "list: follows a session as it ends and is made active again",
    async (storage) => {
      let commit = makeCommit();
      await storage.append(commit);
      for (const status of ["paused", "active", "failed", "active", "completed", "active", "active"] as const) {
        commit = nextCommit(commit, { summary: { status } });
        await storage.append(commit);
        const isActive = status === "active";
        assert.deepEqual((await storage.list({ status: ["active"] })).items, isActive ? [commit.summary] : []);
        assert.deepEqual((await storage.list({ status: [status] })).items, [commit.summary]);
        assert.equal(await storage.countActive(10), isActive ? 1 : 0);
      }
    },
  ],
  [
    "countActive: counts no further than it is told to",
    async (storage) => {
      for (const sessionId of ["a", "b", "c", "d"]) await storage.append(makeCommit({ sessionId }));
      await storage.append(makeCommit({ sessionId: "e", summary: { status: "failed" } }));
      assert.deepEqual(
        await Promise.all([0, 1, 3, 4, 5, 1000].map((upTo) => storage.countActive(upTo))),
        [0, 1, 3, 4, 4, 4],
      );
    },
  ],
  [
    "list: a limit or a cursor that is none is refused",
    async (storage) => {
      for (const limit of [0, -1, 1.5, 1001, Number.NaN]) await refuses("INVALID_INPUT", storage.list({ limit }));
      for (const cursor of ["", "nonsense", "%%%", btoa("1~2~3"), btoa("yesterday~a")]) {
        await refuses("CURSOR_INVALID", storage.list({ cursor }));
        await refuses("CURSOR_INVALID", storage.list({ cursor, status: ["active"] }));
      }
    },
  ],
];

async function expectIds(storage: StorageAdapter, query: SessionQuery, expected: readonly string[]): Promise<void> {
  assert.deepEqual(idsOf(await storage.list(query)).sort(), [...expected].sort(), JSON.stringify(query));
}
