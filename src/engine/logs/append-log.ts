import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { SessionId } from "../../definition/names.js";
import { isPhasegateError } from "../../errors.js";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { LogRefusal } from "./log-refusal.js";

/** The commits of a session from one version on, as they lie somewhere else. */
export type ReadLog = (from: number) => AsyncIterable<Commit>;

/** How one commit is made ready for the target: checked, with its payloads. */
export type PrepareCommit = (commit: Commit, previous: Commit | undefined) => Promise<Commit>;

/** What was appended to the target. */
export interface Appended {
  /** The version that the target has now. */
  readonly version: number;
  readonly commits: number;
  /** Bytes of bodies and payloads, as UTF-8. */
  readonly bytes: number;
}

/** So many bytes of a session that the target does not have are appended at once, where it can. */
const BEGIN_BYTES = 8 * 1024 * 1024;

/** How often it is looked anew what the target has, when somebody else writes the same session there. */
const TRIES_MAX = 20;

/**
 * Appends to the target what it doesn't have yet of a session's log. What it has must be the beginning of it. Throws a
 * {@link LogRefusal} where it isn't, or can't be.
 */
export async function appendLog(
  id: SessionId,
  read: ReadLog,
  prepare: PrepareCommit,
  to: StorageAdapter,
): Promise<Appended> {
  const sum = { version: 0, commits: 0, bytes: 0 };
  for (let tries = 1; ; tries += 1) {
    try {
      await appendMissing(id, read, prepare, to, sum);
      return sum;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT") || tries === TRIES_MAX) throw error;
      if ((await to.read(id)) === undefined) {
        throw new LogRefusal("removed", "the target had a session of this id, which was removed", { cause: error });
      }
    }
  }
}

async function appendMissing(
  id: SessionId,
  read: ReadLog,
  prepare: PrepareCommit,
  to: StorageAdapter,
  sum: { version: number; commits: number; bytes: number },
): Promise<void> {
  const there = await to.read(id);
  const writer = new LogWriter(to, there === undefined);
  let previous: Commit | undefined;
  try {
    for await (const commit of read(there?.version ?? 1)) {
      if (there !== undefined && previous === undefined) {
        if (commit.hash !== there.hash || commit.version !== there.version) throw differs();
      } else await writer.add(await prepare(commit, previous));
      previous = commit;
    }
    await writer.flush();
    sum.version = previous?.version ?? sum.version;
  } finally {
    sum.commits += writer.commits;
    sum.bytes += writer.bytes;
  }
  if (there !== undefined && previous === undefined) throw await shorter(id, read, to);
}

/** Appends commits one after the other, but the first ones of a session at once, where the target can. */
class LogWriter {
  commits = 0;
  bytes = 0;
  readonly #to: StorageAdapter;
  #first: Commit[] | undefined;
  #waiting = 0;

  constructor(to: StorageAdapter, isNew: boolean) {
    this.#to = to;
    this.#first = isNew && to.begin !== undefined ? [] : undefined;
  }

  async add(commit: Commit): Promise<void> {
    if (this.#first === undefined) {
      await this.#to.append(commit);
      this.#count([commit]);
      return;
    }
    this.#first.push(commit);
    this.#waiting += bytesOf(commit);
    if (this.#waiting > BEGIN_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const [first, ...others] = this.#first ?? [];
    this.#first = undefined;
    if (first === undefined) return;
    if (others.length === 0) await this.#to.append(first);
    else await this.#to.begin?.([first, ...others]);
    this.#count([first, ...others]);
  }

  #count(commits: readonly Commit[]): void {
    this.commits += commits.length;
    this.bytes += commits.reduce((sum, commit) => sum + bytesOf(commit), 0);
  }
}

/** The target has more commits than there are to copy: the same ones and more, or others. */
async function shorter(id: SessionId, read: ReadLog, to: StorageAdapter): Promise<LogRefusal> {
  let last: Commit | undefined;
  for await (const commit of read(1)) last = commit;
  for await (const { hash } of to.log(id, { after: (last?.version ?? 1) - 1, limit: 1 })) {
    if (hash === last?.hash) return new LogRefusal("ahead", "the target has all of it, and has gone on with it");
  }
  return differs();
}

function differs(): LogRefusal {
  return new LogRefusal("differs", "the target has another session of this id");
}

/** Bytes of a commit's body and payloads, as UTF-8. */
export function bytesOf({ body, payloads = [] }: Commit): number {
  return [{ body }, ...payloads].reduce((sum, text) => sum + utf8ToBytes(text.body).length, 0);
}
