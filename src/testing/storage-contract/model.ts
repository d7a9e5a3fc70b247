/** Random operations, after each of which the lists must equal those of a model in an array. */
import assert from "node:assert/strict";
import {
  type Commit,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { commitChain, makeCommit, nextCommit, pick, randomFrom } from "../contract.js";
import type { StorageCheck } from "./stage.js";

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
export const modelChecks: readonly StorageCheck[] = [
  [
    "list: agrees with a model for every filter and combination of filters",
    async (storage) => {
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
  ],
  [
    "list: shows each session that exists all the time once and in order, even if others change between pages",
    async (storage) => {
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
  ],
  [
    "list: compares filter values exactly",
    async (storage) => {
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
  ],
];

/** Starts a session, or continues or removes one of the model. */
async function change(storage: StorageAdapter, model: StorageModel, random: Random, id: string): Promise<void> {
  const [one, ...others] = model.newest();
  const dice = random();
  if (one === undefined || dice < 0.55) {
    const createdAt = timeOf(Math.floor(random() * 12));
    const [commit] = commitChain(1, { sessionId: id, at: timeOf(20), summary: { ...kindsOf(random), createdAt } });
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
  const commit = nextCommit(previous, { at: timeOf(20 + Math.floor(random() * 10)), summary });
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

/** Returns a query with random filters. */
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
    ...maybe({ updatedBefore: timeOf(18 + Math.floor(random() * 12)) }),
  };
}

function idsIn(summaries: readonly SessionSummary[]): string[] {
  return summaries.map(({ sessionId }) => sessionId);
}

function timeOf(hour: number): string {
  return new Date(Date.UTC(2026, 0, 1) + hour * 3_600_000).toISOString();
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

  /** The newest commits of all sessions. */
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
