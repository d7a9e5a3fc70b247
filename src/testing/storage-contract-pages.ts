import assert from "node:assert/strict";
import type { SessionQuery, StorageAdapter } from "../ports/storage-adapter.js";
import { present } from "./contract-case.js";
import { makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";
import { idsOf } from "./storage-contract-list.js";

const QUERIES: readonly SessionQuery[] = [{}, { status: ["active"] }];
const HOUR_MS = 3_600_000;

/** Pages, and cursors that stay valid. */
export const pageChecks: readonly StorageCheck[] = [
  [
    "list: page by page, each session once",
    async (storage) => {
      const all = await fill(storage, 25);
      for (const query of QUERIES) {
        for (const limit of [1, 7, 24, 25, 26]) assert.deepEqual(await walk(storage, { ...query, limit }), all);
      }
      assert.equal((await storage.list({ limit: 25 })).cursor, undefined);
    },
  ],
  [
    "list: fifty a page if not told otherwise, and pages of what a filter lets through",
    async (storage) => {
      const all = await fill(storage, 60);
      for (const query of QUERIES) {
        const page = await storage.list(query);
        assert.deepEqual(idsOf(page), all.slice(0, 50));
        assert.deepEqual(
          idsOf(await storage.list({ ...query, cursor: present(page.cursor, "a cursor") })),
          all.slice(50),
        );
      }
      const even = await walk(storage, { workflowType: "even", limit: 4 });
      assert.deepEqual(
        even,
        all.filter((id) => Number(id.slice(1)) % 2 === 0),
      );
    },
  ],
  [
    "list: a cursor stays valid while sessions come and go",
    async (storage) => {
      const all = await fill(storage, 12);
      for (const query of QUERIES) {
        const page = await storage.list({ ...query, limit: 5 });
        assert.deepEqual(idsOf(page), all.slice(0, 5));
        // The last one of the page, which the cursor is about, one before it, and one that is yet to come.
        for (const index of [5, 4, 1]) await removeNow(storage, present(all.splice(index, 1)[0], "an id"));
        await storage.append(
          makeCommit({ sessionId: `new${QUERIES.indexOf(query)}`, summary: { createdAt: timeOf(50) } }),
        );
        const rest = await walk(storage, { ...query, limit: 5, cursor: present(page.cursor, "a cursor") });
        assert.deepEqual(rest, all.slice(3));
        all.unshift(`new${QUERIES.indexOf(query)}`);
      }
    },
  ],
  [
    "list: sessions that end between pages are not active on the next one",
    async (storage) => {
      const all = await fill(storage, 6);
      const page = await storage.list({ status: ["active"], limit: 2 });
      const ended = present(await storage.read(present(page.items[0], "a session").sessionId), "the session");
      await storage.append(nextCommit(ended, { summary: { status: "completed" } }));
      const later = present((await storage.list({})).items[3], "a session");
      const other = present(await storage.read(later.sessionId), "the session");
      await storage.append(nextCommit(other, { summary: { status: "failed" } }));
      const rest = await walk(storage, { status: ["active"], limit: 2, cursor: present(page.cursor, "a cursor") });
      assert.deepEqual(rest, [all[2], all[4], all[5]]);
    },
  ],
];

/** Makes active sessions, some of them at the same time; gives back their ids in the order of a list. */
async function fill(storage: StorageAdapter, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `s${String(index).padStart(3, "0")}`);
  for (const [index, sessionId] of ids.entries()) {
    const workflowType = index % 2 === 0 ? "even" : "odd";
    await storage.append(
      makeCommit({ sessionId, summary: { createdAt: timeOf(Math.floor(index / 3)), workflowType } }),
    );
  }
  const groups = Array.from({ length: Math.ceil(count / 3) }, (_, index) => ids.slice(3 * index, 3 * index + 3));
  return groups.reverse().flat();
}

function timeOf(index: number): string {
  return new Date(Date.UTC(2026, 0, 1, 20) + index * HOUR_MS).toISOString();
}

/** The ids of all pages from a query on. */
async function walk(storage: StorageAdapter, query: SessionQuery & { readonly limit: number }): Promise<string[]> {
  const ids: string[] = [];
  for (let page = await storage.list(query); ; ) {
    ids.push(...idsOf(page));
    assert.ok(page.items.length <= query.limit);
    if (page.cursor === undefined) return ids;
    page = await storage.list({ ...query, cursor: page.cursor });
  }
}

async function removeNow(storage: StorageAdapter, id: string): Promise<void> {
  await storage.remove(makeCommit({ sessionId: id }).sessionId);
}
