/** Cases about `list`: filters, order, pages and cursors; and a model of it, with which all lists must agree. */
import assert from "node:assert/strict";
import {
  type Changes,
  type Commit,
  type Page,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
} from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import {
  allPages,
  appendAll,
  commitChain,
  eachOf,
  makeCommit,
  nextCommit,
  pick,
  present,
  randomFrom,
  refuses,
} from "../contract.js";
import { methodOf, type StageChecks } from "./stage.js";

function idsOf({ items }: Page<SessionSummary>): string[] {
  return idsIn(items);
}

function idsIn(summaries: readonly SessionSummary[]): string[] {
  return summaries.map(({ sessionId }) => sessionId);
}

/** Returns the time this number of hours after the first one. */
function hourOf(hour: number): string {
  return new Date(Date.UTC(2026, 0, 1) + hour * 3_600_000).toISOString();
}

const OLD = "2025-12-31T23:59:59.999Z";
const NEW = "2026-01-01T00:00:00.000Z";
const LATER = "2026-02-01T00:00:00.000Z";

export const listChecks: StageChecks = {
  "list: returns nothing for an empty storage": async ({ storage }) => {
    const page = await storage.list({});
    assert.deepEqual([page.items, page.cursor], [[], undefined]);
    assert.deepEqual((await storage.list({ status: ["active"] })).items, []);
  },
  "list: sorts by time, newest first, then by id": async ({ storage }) => {
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
  "list: shows the newest commit's summary": async ({ storage }) => {
    const first = makeCommit();
    const second = nextCommit(first, { at: LATER, summary: { current: 2 } });
    await appendAll(storage, [first, second]);
    for (const query of [{}, { status: ["active"] as const }]) {
      const { items, hashes = [second.hash] } = await storage.list(query);
      assert.deepEqual(items, [second.summary]);
      assert.deepEqual(hashes, [second.hash], "`hashes` has the hash of each item's newest commit");
    }
  },
  "list: applies each filter alone and all together": async ({ storage }) => {
    await storage.append(makeCommit({ sessionId: "one", summary: { workflowType: "x", target: "t", updatedAt: OLD } }));
    await storage.append(makeCommit({ sessionId: "two", summary: { workflowType: "x", target: "u", kind: "routed" } }));
    await storage.append(
      makeCommit({ sessionId: "six", summary: { workflowType: "y", status: "completed", owner: "ann", team: "a" } }),
    );
    await expectIds(storage, { workflowType: "x" }, ["one", "two"]);
    await expectIds(storage, { target: "t" }, ["one"]);
    await expectIds(storage, { owner: "ann" }, ["six"]);
    await expectIds(storage, { owner: "ann", workflowType: "x" }, []);
    await expectIds(storage, { owner: "" }, []);
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
  "list: finds a session by its newest owner": async ({ storage }) => {
    const first = makeCommit({ sessionId: "a", summary: { owner: "ann", team: "red" } });
    const [second, other] = [nextCommit(first, { summary: { owner: "bob" } }), makeCommit({ sessionId: "b" })];
    await appendAll(storage, [first, second, other]);
    await expectIds(storage, { owner: "ann" }, []);
    await expectIds(storage, { owner: "bob" }, ["a"]);
    assert.deepEqual((await storage.list({ owner: "bob" })).items, [second.summary]);
    await storage.append(makeCommit({ sessionId: "a", version: 3, previousHash: second.hash }));
    await expectIds(storage, { owner: "bob" }, []);
  },
  "list: shows a session that ends, and one that becomes active again": async ({ storage }) => {
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
  "countActive: counts no further than it is told to": async ({ storage }) => {
    for (const sessionId of ["a", "b", "c", "d"]) await storage.append(makeCommit({ sessionId }));
    await storage.append(makeCommit({ sessionId: "e", summary: { status: "failed" } }));
    assert.deepEqual(
      await Promise.all([0, 1, 3, 4, 5, 1000].map((upTo) => storage.countActive(upTo))),
      [0, 1, 3, 4, 4, 4],
    );
  },
  "list: refuses an invalid limit, with INVALID_INPUT": async ({ storage }) => {
    const limits = [0, -1, 1.5, 1001, Number.NaN];
    await eachOf(
      limits.map((limit) => [`limit ${limit}`, () => refuses("INVALID_INPUT", storage.list({ limit }))] as const),
    );
  },
  "list: refuses an invalid cursor, with CURSOR_INVALID": async ({ storage }) => {
    const cursors = ["", "nonsense", "%%%", btoa("1~2~3"), btoa("yesterday~a")];
    const queries = cursors.flatMap((cursor) => [{ cursor }, { cursor, status: ["active"] as const }]);
    await eachOf(
      queries.map((query) => [JSON.stringify(query), () => refuses("CURSOR_INVALID", storage.list(query))] as const),
    );
  },
};

/** The sessions that have changed since a position, if the adapter has `changes`. */
export const changesChecks: StageChecks = {
  "changes: names each session of the kind once, then those with new commits and those that were removed": async ({
    storage,
  }) => {
    const changes = changesOf(storage);
    const [one, two] = [makeCommit({ sessionId: "a" }), makeCommit({ sessionId: "b" })];
    const [three, other] = [
      makeCommit({ sessionId: "c" }),
      makeCommit({ sessionId: "other", summary: { kind: "routed" } }),
    ];
    await appendAll(storage, [one, two, three, other, nextCommit(one)]);
    const all = await changes();
    assert.deepEqual([...all.sessionIds].sort(), ["a", "b", "c"]);
    const nothing = await changes(all.position);
    assert.deepEqual(nothing.sessionIds, []);
    const next = nextCommit(two);
    await appendAll(storage, [next, nextCommit(next), nextCommit(other)]);
    assert.deepEqual((await changes(nothing.position)).sessionIds, ["b"]);
    const tombstone = nextCommit(three, { summary: { status: "deleted" } });
    await storage.append(tombstone);
    await storage.remove(tombstone.sessionId);
    const last = await changes(all.position);
    assert.deepEqual([...last.sessionIds].sort(), ["b", "c"]);
    assert.deepEqual((await changes(last.position)).sessionIds, []);
    assert.deepEqual([...(await changes()).sessionIds].sort(), ["a", "b"], "removed sessions are not among all");
    await storage.append(nextCommit(nextCommit(next), { summary: { status: "deleted" } }));
    const { position } = await changes();
    await storage.remove(next.sessionId);
    assert.deepEqual((await changes(position)).sessionIds, ["b"], "a session is removed some time after its tombstone");
  },
  "changes: omits no commit that is appended at the same time": async ({ storage }) => {
    const changes = changesOf(storage);
    const named = new Set<string>();
    let position: string | undefined;
    const look = async () => {
      const found = await changes(position);
      for (const id of found.sessionIds) named.add(id);
      position = found.position;
    };
    const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
    await Promise.all(ids.flatMap((sessionId) => [storage.append(makeCommit({ sessionId })), look()]));
    await look();
    assert.deepEqual([...named].sort(), [...ids].sort());
  },
  "changes: refuses a position that is not its own": async ({ storage }) => {
    const changes = changesOf(storage);
    await storage.append(makeCommit());
    const { position } = await changes();
    for (const wrong of ["", "nonsense", `${position}x`, `9${position}`]) {
      await refuses("CURSOR_INVALID", changes(wrong));
    }
  },
};

function changesOf(storage: StorageAdapter): (since?: string) => Promise<Changes> {
  const changes = methodOf(storage, "changes");
  return (since) => changes("phased", since);
}

async function expectIds(storage: StorageAdapter, query: SessionQuery, expected: readonly string[]): Promise<void> {
  assert.deepEqual(idsOf(await storage.list(query)).sort(), [...expected].sort(), JSON.stringify(query));
}

const QUERIES: readonly SessionQuery[] = [{}, { status: ["active"] }];

export const pageChecks: StageChecks = {
  "list: returns each session once over all pages": async ({ storage }) => {
    const all = await fill(storage, 25);
    for (const query of QUERIES) {
      for (const limit of [1, 7, 24, 25, 26]) assert.deepEqual(await walk(storage, { ...query, limit }), all);
    }
    assert.equal((await storage.list({ limit: 25 })).cursor, undefined);
  },
  "list: has pages of 50 by default, also with a filter": async ({ storage }) => {
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
  "list: accepts a cursor although sessions were added or removed": async ({ storage }) => {
    const all = await fill(storage, 12);
    for (const query of QUERIES) {
      const page = await storage.list({ ...query, limit: 5 });
      assert.deepEqual(idsOf(page), all.slice(0, 5));
      // One of the next page, the last one of this page, which the cursor points at, and one before that.
      for (const index of [5, 4, 1]) await storage.remove(parseSessionId(all.splice(index, 1)[0]));
      await storage.append(
        makeCommit({ sessionId: `new${QUERIES.indexOf(query)}`, summary: { createdAt: timeOf(50) } }),
      );
      const rest = await walk(storage, { ...query, limit: 5, cursor: present(page.cursor, "a cursor") });
      assert.deepEqual(rest, all.slice(3));
      all.unshift(`new${QUERIES.indexOf(query)}`);
    }
  },
  "list: does not show a session as active if it ended between two pages": async ({ storage }) => {
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
};

/** Creates active sessions, some of them with the same time. Returns their ids in the order of a list. */
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
  return hourOf(20 + index);
}

async function walk(...given: Parameters<typeof allPages>): Promise<string[]> {
  return idsIn(await allPages(...given));
}

type Random = () => number;

const SEED = 20_260_102;
const TARGETS = [
  "t",
  "T",
  "t ",
  "100%",
  "a_b",
  "a'b",
  '"',
  "\u00e9",
  "e\u0301",
  "\u05d0\u202eb",
  "",
  "x\u0000y",
] as const;

/** Compares lists with a model: the same sessions in an array. */
export const modelChecks: StageChecks = {
  "list: agrees with a model for every filter and combination of filters": async ({ storage }) => {
    const random = randomFrom(SEED);
    const model = new StorageModel();
    for (let count = 0; count < 90; count++) await change(storage, model, random, `s${count}`);
    for (let count = 0; count < 80; count++) {
      const query = randomQuery(random, model);
      const expected = model.list(query).map(({ sessionId }) => sessionId);
      const found = (await storage.list({ ...query, limit: 1000 })).items;
      assert.deepEqual(idsIn(found), expected, JSON.stringify(query));
      for (const summary of found) assert.deepEqual(summary, model.summary(summary.sessionId));
    }
    assert.equal(await storage.countActive(1000), model.list({ status: ["active"] }).length);
  },
  "list: shows each session that exists all the time once and in order, even if others change between pages": async ({
    storage,
  }) => {
    const random = randomFrom(SEED + 1);
    const model = new StorageModel();
    for (let count = 0; count < 40; count++) await change(storage, model, random, `s${count}`);
    for (let round = 0; round < 6; round++) {
      const query: SessionQuery = round % 2 === 0 ? {} : { kind: "phased" };
      const before = model.list(query);
      const seen: SessionSummary[] = [];
      for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page++) {
        const found = await storage.list({ ...query, limit: 4, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...found.items);
        cursor = found.cursor;
        await change(storage, model, random, `r${round}p${page}`);
      }
      const after = new Set(model.list(query).map(({ sessionId }) => sessionId));
      const stayed = idsIn(before.filter(({ sessionId }) => after.has(sessionId)));
      const ids = idsIn(seen);
      assert.equal(new Set(ids).size, ids.length, "a session came twice");
      assert.deepEqual(
        ids.filter((id) => stayed.includes(id)),
        stayed,
      );
    }
  },
  "list: compares filter values exactly": async ({ storage }) => {
    for (const [index, target] of TARGETS.entries()) {
      const summary = { target, workflowType: `w${target}`, kind: `k${target}` };
      await storage.append(makeCommit({ sessionId: `n${index}`, summary }));
    }
    for (const [index, target] of TARGETS.entries()) {
      for (const query of [{ target }, { workflowType: `w${target}` }, { kind: `k${target}` }]) {
        assert.deepEqual(idsIn((await storage.list(query)).items), [`n${index}`], JSON.stringify(query));
      }
    }
    for (const sessionId of ["a_b1", "aab1", "a-b1", "a_b2"]) await storage.append(makeCommit({ sessionId }));
    assert.deepEqual(idsIn((await storage.list({ idPrefix: "a_b" })).items), ["a_b1", "a_b2"]);
    assert.deepEqual((await storage.list({ idPrefix: "A" })).items, []);
    assert.deepEqual((await storage.list({ idPrefix: "%" })).items, []);
    assert.equal((await storage.list({ idPrefix: "" })).items.length, TARGETS.length + 4);
  },
};

/** Starts a session, or continues or removes one of the model. */
async function change(storage: StorageAdapter, model: StorageModel, random: Random, id: string): Promise<void> {
  const [one, ...others] = model.newest();
  const dice = random();
  if (one === undefined || dice < 0.55) {
    const createdAt = hourOf(Math.floor(random() * 12));
    const [commit] = commitChain(1, { sessionId: id, at: hourOf(20), summary: { ...kindsOf(random), createdAt } });
    await storage.append(commit);
    model.put(commit);
    return;
  }
  const previous = pick(random, [one, ...others]);
  if (dice < 0.65) {
    await storage.remove(previous.sessionId);
    model.remove(previous.sessionId);
    return;
  }
  const summary = { status: pick(random, SESSION_STATUSES) };
  const commit = nextCommit(previous, { at: hourOf(20 + Math.floor(random() * 10)), summary });
  await storage.append(commit);
  model.put(commit);
}

function kindsOf(random: Random) {
  return {
    status: pick(random, ["active", "active", "paused", "completed", "failed"] as const),
    workflowType: pick(random, ["x", "y", "X"]),
    target: pick(random, ["t", "u", "v"]),
    owner: pick(random, ["ann", "bob"]),
    kind: pick(random, ["phased", "phased", "routed"]),
  };
}

function randomQuery(random: Random, model: StorageModel): SessionQuery {
  const maybe = <T extends object>(part: T): T | Record<string, never> => (random() < 0.4 ? part : {});
  const [one, ...others] = model.newest();
  const id = one === undefined ? "s" : pick(random, [one, ...others]).sessionId;
  return {
    ...maybe({ status: SESSION_STATUSES.filter(() => random() < 0.5) }),
    ...maybe({ workflowType: pick(random, ["x", "y", "X", "z"]) }),
    ...maybe({ target: pick(random, ["t", "u", "w"]) }),
    ...maybe({ owner: pick(random, ["ann", "bob", "eve"]) }),
    ...maybe({ kind: pick(random, ["phased", "routed", "none"]) }),
    ...maybe({ idPrefix: id.slice(0, 1 + Math.floor(random() * id.length)) }),
    ...maybe({ updatedBefore: hourOf(18 + Math.floor(random() * 12)) }),
  };
}

/** The sessions of a storage, listed in the simplest way. */
class StorageModel {
  readonly #newest = new Map<SessionId, Commit>();

  put(commit: Commit): void {
    this.#newest.set(commit.sessionId, commit);
  }

  remove(id: SessionId): void {
    this.#newest.delete(id);
  }

  newest(): Commit[] {
    return [...this.#newest.values()];
  }

  summary(id: SessionId): SessionSummary | undefined {
    return this.#newest.get(id)?.summary;
  }

  /** Returns the sessions that match a query, in the order of a list. */
  list(query: SessionQuery): SessionSummary[] {
    const found = this.newest().map(({ summary }) => summary);
    return found.filter((summary) => passes(summary, query)).sort(inOrder);
  }
}

function passes(summary: SessionSummary, query: SessionQuery): boolean {
  const { status = [summary.status], idPrefix = "", updatedBefore } = query;
  const same = (["workflowType", "target", "owner", "kind"] as const).every(
    (key) => query[key] === undefined || query[key] === summary[key],
  );
  const isOlder = updatedBefore === undefined || summary.updatedAt < updatedBefore;
  return same && isOlder && status.includes(summary.status) && summary.sessionId.startsWith(idPrefix);
}

function inOrder(one: SessionSummary, other: SessionSummary): number {
  const [newer, older] = [one.createdAt > other.createdAt, one.createdAt < other.createdAt];
  if (newer || older) return newer ? -1 : 1;
  return one.sessionId < other.sessionId ? -1 : 1;
}
