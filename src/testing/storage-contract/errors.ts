/** Cases about failures, which must be reported and leave nothing behind, and about idempotency keys of an engine. */
import assert from "node:assert/strict";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import { collect, comes, commitChain, eachOf, makeCommit, nextCommit } from "../contract.js";
import { MARKED, markedEngine, markedEvidence, markersIn } from "./children.js";
import type { StageChecks } from "./stage.js";

/** Invalid commits, each with its fault. */
const BAD: Readonly<Record<string, (sound: Commit) => Commit>> = {
  "a version that is none": (sound) => ({ ...sound, version: 0 }),
  "a version between two": (sound) => ({ ...sound, version: 1.5 }),
  "the summary of another session": (sound) => ({
    ...sound,
    summary: makeCommit({ sessionId: "another" }).summary,
  }),
  "a creation time that is none": (sound) => ({ ...sound, summary: { ...sound.summary, createdAt: "yesterday" } }),
};

export const errorChecks: StageChecks = {
  "errors: refuses a commit that can't be stored, with any error, and keeps nothing of it": async ({ storage }) => {
    const refused = async (spoil: (sound: Commit) => Commit) => {
      const isDone = await succeeds(storage.append(spoil(makeCommit())));
      assert.ok(!isDone, "it must be refused, and was not");
      await leavesNothing(storage, makeCommit().sessionId);
    };
    await eachOf(Object.entries(BAD).map(([what, spoil]) => [`a commit with ${what}`, () => refused(spoil)] as const));
    await storage.append(makeCommit());
  },
  "errors: a refused commit appears in no log, list or count": async ({ storage }) => {
    const [first, second] = commitChain(2);
    assert.ok(second !== undefined, "a second commit must be there");
    for (const commit of [first, second]) await storage.append(commit);
    const late = nextCommit(first, { body: "late", summary: { status: "completed", target: "late" } });
    const foreign = makeCommit({ sessionId: "another", version: 2, previousHash: first.hash });
    for (const [what, commit] of [
      ["late", late],
      ["that leaves a gap", foreign],
    ] as const) {
      assert.ok(!(await succeeds(storage.append(commit))), `a commit ${what} must be refused, and was not`);
    }
    assert.deepEqual(await collect(storage.log(first.sessionId)), [first, second]);
    assert.deepEqual((await storage.list({})).items, [second.summary]);
    assert.deepEqual((await storage.list({ status: ["active"] })).items, [second.summary]);
    assert.deepEqual((await storage.list({ target: "late" })).items, []);
    assert.equal(await storage.countActive(10), 1);
  },
  "errors: a visible commit has its payloads and its summary": async ({ storage }) => {
    let commit = makeCommit();
    for (let count = 1; count <= 10; count++) {
      const payload = { hash: String(count).padStart(64, "0"), body: `payload ${count}` };
      const next = { ...(count === 1 ? commit : nextCommit(commit)), payloads: [payload] };
      const appended = { done: false };
      const appending = storage.append(next).finally(() => {
        appended.done = true;
      });
      await Promise.all([appending, watchOver(storage, next, () => appended.done)]);
      commit = next;
    }
  },
  "errors: a call to a closed adapter fails, or does what it answers": async (stage) => {
    const { storage } = stage;
    const [first, second] = commitChain(2);
    assert.ok(second !== undefined, "a second commit must be there");
    await storage.append(first);
    await stage.closeOne(storage);
    const tried = storage.append(second).then(
      () => "done",
      () => "refused",
    );
    const outcome = await comes(tried, "a closed adapter must answer");
    const read = await outcomeOfCall(comes(storage.read(first.sessionId), "a closed adapter must answer"));
    if (read.ok) assert.equal(read.value?.hash, outcome === "done" ? second.hash : first.hash);
    const listed = await outcomeOfCall(comes(storage.list({}), "a closed adapter must answer"));
    if (listed.ok) assert.equal(listed.value.items.length, 1, "a list of a closed adapter must not be empty");
    if (!stage.canReopen) return;
    const log = await collect((await stage.reopen()).log(first.sessionId));
    const expected = outcome === "done" ? [first, second] : [first];
    assert.deepEqual(log, expected, `an append to a closed adapter was ${outcome}, and the log says otherwise`);
  },
};

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return (await outcomeOfCall(call)).ok;
}

async function leavesNothing(storage: StorageAdapter, id: SessionId): Promise<void> {
  assert.equal(await storage.read(id), undefined);
  assert.deepEqual(await collect(storage.log(id)), []);
  assert.deepEqual((await storage.list({})).items, []);
  assert.equal(await storage.countActive(10), 0);
}

/** Reads a session until an append is over, and once more. If its commit is there, all of it must be there. */
async function watchOver(storage: StorageAdapter, commit: Commit, isDone: () => boolean): Promise<void> {
  for (let over = false; !over; ) {
    over = isDone();
    const seen = (await storage.read(commit.sessionId))?.version === commit.version;
    if (over) assert.ok(seen, "an acknowledged commit must be there");
    if (seen) {
      for (const { hash, body } of commit.payloads ?? []) {
        assert.equal(await storage.payload(commit.sessionId, hash), body, "a commit was there before its payload");
      }
      assert.deepEqual((await storage.list({})).items, [commit.summary], "a commit was there before its summary");
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false };

async function outcomeOfCall<T>(call: Promise<T>): Promise<Outcome<T>> {
  return call.then(
    (value) => ({ ok: true, value }),
    () => ({ ok: false }),
  );
}

/** The number of keys that a session remembers, in addition to the one that started it. */
const KEYS = 16;
const START = { workflowType: MARKED, target: "a.md", idempotencyKey: "start" };

/** Repeated calls with an engine: adapters do not know keys, but the engine relies on adapters for them. */
export const keyChecks: StageChecks = {
  "keys: the start and the last 16 calls return their first answers again, also to another engine": async (stage) => {
    const { storage } = stage;
    const engine = markedEngine(storage);
    const started = await engine.start(START);
    const { sessionId } = started;
    const submit = (on: StorageAdapter, index: number) =>
      markedEngine(on)
        .session(sessionId)
        .completePhase(1, markedEvidence(`m${index}`, false), { idempotencyKey: `k${index}` });
    const answers: unknown[] = [];
    for (let index = 0; index < KEYS; index++) answers.push({ ...(await submit(storage, index)), replayed: true });
    const repeat = async (on: StorageAdapter) => {
      assert.equal((await markedEngine(on).start(START)).sessionId, sessionId, "a start must give its session again");
      for (let index = KEYS - 1; index >= 0; index--) assert.deepEqual(await submit(on, index), answers[index]);
      const log = await collect(on.log(parseSessionId(sessionId)));
      assert.equal(log.length, KEYS + 1, "a repeated call was done twice");
      assert.equal((await on.list({})).items.length, 1, "a repeated start has begun another session");
    };
    await repeat(storage);
    if (stage.canReopen) await repeat(await stage.reopen());
  },
  "keys: of concurrent calls with one key, one is executed, and all get its answer": async ({ storage }) => {
    const engines = Array.from({ length: 6 }, () => markedEngine(storage));
    const starts = await Promise.all(engines.map((engine) => engine.start(START)));
    const [{ sessionId } = { sessionId: "" }] = starts;
    assert.deepEqual(new Set(starts.map((start) => start.sessionId)), new Set([sessionId]));
    const once = { idempotencyKey: "once" };
    const answers = await Promise.all(
      engines.map((engine) => engine.session(sessionId).completePhase(1, markedEvidence("once", false), once)),
    );
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1, "one call must be the first");
    for (const answer of answers) assert.deepEqual({ ...answer, replayed: true }, { ...answers[0], replayed: true });
    assert.deepEqual(await markersIn(storage, sessionId), ["once"]);
    assert.equal((await storage.list({})).items.length, 1);
  },
};
