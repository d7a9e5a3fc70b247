import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { directFs } from "./direct-fs.js";
import { createFaultyFs, type FaultyFs } from "./faulty-fs.js";
import { eachInstant } from "./instants.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

const payload = { hash: "a".repeat(64), body: "evidence" };
const first = makeCommit({ payloads: [payload] });
const newest = nextCommit(first, { body: "second" });

const id = first.sessionId;
const other = makeCommit({ sessionId: "other" });

/** Operations during which one call to the file system fails. The storage contains `first`, `newest` and `other`. */
const OPERATIONS: Readonly<Record<string, (storage: StorageAdapter) => Promise<unknown>>> = {
  "an append to a session": (storage) => storage.append(nextCommit(newest)),
  "an append that ends a session, with a payload": (storage) =>
    storage.append(
      nextCommit(newest, { summary: { status: "completed" }, payloads: [{ hash: "b".repeat(64), body: "more" }] }),
    ),
  "an append after a read": async (storage) => {
    await storage.read(id);
    await storage.append(nextCommit(newest));
  },
  "an append to a new session": (storage) => storage.append(makeCommit({ sessionId: "new" })),
  "a read": async (storage) => expect(await storage.read(id)).toEqual(newest),
  "reading a log": async (storage) => expect(await collect(storage.log(id))).toHaveLength(2),
  "reading a payload": async (storage) => expect(await storage.payload(id, payload.hash)).toBe(payload.body),
  "a list": async (storage) => expect((await storage.list({})).items).toHaveLength(2),
  "a list of active sessions": async (storage) =>
    expect((await storage.list({ status: ["active"] })).items).toHaveLength(2),
  "a count of active sessions": async (storage) => expect(await storage.countActive(5)).toBe(2),
  "a removal": (storage) => storage.remove(id),
  "a compaction": async (storage) => storage.compact?.(id),
  "a size": async (storage) => expect((await storage.size?.(id))?.commits).toBe(2),
};

const CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE"] as const;
const IS_LONG = process.env.PHASEGATE_LONG === "1";

type Pass = readonly ["before" | "after", ...string[]];

/** Returns the ways in which calls fail: in long mode each call fails in every way, otherwise in one way. */
function passesOf(operation: string): readonly Pass[] {
  const before = IS_LONG ? CODES.map((code): Pass => ["before", code]) : [["before", ...CODES] as const];
  const writes = /^an append|^a removal|^a compaction/.test(operation);
  return writes || IS_LONG ? [["after", "EIO"], ...before] : before;
}

describe("if any one call to the file system fails, the error is reported and the store stays usable", () => {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    it(`during ${name}`, { timeout: 60_000 }, async () => {
      const failedCalls = new Set<string>();
      for (const [when, ...codes] of passesOf(name)) {
        await eachInstant(async (nth) => {
          const failed = await failNth({ nth, code: codes[nth % codes.length] ?? "EIO", when }, operation);
          if (failed !== undefined) failedCalls.add(failed);
          return failed !== undefined;
        });
      }
      expect(failedCalls.size).toBeGreaterThan(0);
    });
  }

  it("during an opening", async () => {
    for (const [when, ...codes] of passesOf("an opening")) {
      await eachInstant(async (nth) => {
        const root = `${await newRoot()}/a/b`;
        const faulty = createFaultyFs();
        const code = codes[nth % codes.length] ?? "EIO";
        faulty.arm(nth, code, when);
        const storage = await FileStorage.open(root, { fs: faulty.fs }).catch((error: unknown) =>
          checkError(error, code),
        );
        await storage?.close();
        const failed = faulty.disarm();
        await checkUsable(root, undefined);
        return failed !== undefined;
      });
    }
  });
});

interface Fault {
  readonly nth: number;
  readonly code: string;
  readonly when: "before" | "after";
}

/** Runs an operation whose nth call fails, and checks the store afterwards; returns the name of the call. */
async function failNth(fault: Fault, operation: (storage: StorageAdapter) => Promise<unknown>) {
  const root = await newRoot();
  await fill(root);
  const faulty = createFaultyFs();
  const storage = await FileStorage.open(root, { fs: faulty.fs, copyWindowMs: 0 });
  await storage.close();
  const failed = await attempt(faulty, storage, fault, operation);
  await checkUsable(root, storage);
  return failed;
}

async function fill(root: string): Promise<void> {
  const storage = await FileStorage.open(root, { fs: directFs });
  for (const commit of [first, newest, other]) await storage.append(commit);
  await storage.close();
}

async function attempt(
  faulty: FaultyFs,
  storage: StorageAdapter,
  { nth, code, when }: Fault,
  operation: (storage: StorageAdapter) => Promise<unknown>,
): Promise<string | undefined> {
  faulty.arm(nth, code, when);
  await operation(storage).catch((error: unknown) => checkError(error, code));
  // Background work after the answer belongs to the operation. Its failures are not reported.
  await storage.close?.();
  return faulty.disarm();
}

function checkError(error: unknown, code: string): undefined {
  expect(error).toMatchObject({ code: "STORAGE_FAILED", details: { cause: code } });
  if (!isPhasegateError(error)) return;
  expect(error.message + error.remedy).not.toMatch(/[/\\]/);
  expect(error.remedy).toMatch(/repeat the call/);
}

/**
 * Checks that the session is complete, as before or after the operation, and can be appended to in this and a new
 * process.
 */
async function checkUsable(root: string, same: StorageAdapter | undefined): Promise<void> {
  const storage = await FileStorage.open(root, { fs: directFs });
  for (const one of same === undefined ? [storage] : [same, storage]) {
    const read = await one.read(id);
    const log = await collect(one.log(id));
    expect(log.at(-1)).toEqual(read);
    if (same !== undefined && read !== undefined) expect(log[1]).toEqual(newest);
    const listed = (await one.list({})).items.filter((summary) => summary.sessionId === id);
    expect(listed).toEqual(read === undefined ? [] : [read.summary]);
    await checkAppend(one, read?.version);
  }
  await storage.close();
}

async function checkAppend(storage: StorageAdapter, version: number | undefined): Promise<void> {
  const read = await storage.read(id);
  if (read === undefined) return expect(version).toBeUndefined();
  const next = nextCommit(read, { summary: { status: "active" } });
  await storage.append(next);
  expect(await storage.read(id)).toEqual(next);
  const active = await storage.list({ status: ["active"] });
  expect(active.items.filter((summary) => summary.sessionId === id)).toEqual([next.summary]);
}
