/** Reads the commits of sessions from a store: one, all in order, or all with everything that they refer to. */
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { isJsonObject } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import {
  type AuditReport,
  audit,
  checkPayload,
  checkSummary,
  isChanged,
  type Made,
  type Receipt,
  type Recorded,
  readCommit,
  recordedOf,
  tampered,
} from "./commit.js";
import type { Machine } from "./machine.js";

interface LogSource<Event, Head> {
  readonly storage: StorageAdapter;
  readonly machine: Machine<never, Event, Head>;
  readonly hashKey?: Uint8Array;
}

/** The log of a session that has no commits of this kind. */
const NOTHING: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};

/** Reads the commits of sessions from a store; each is checked before it is returned. */
export class SessionLog<Event, Head> {
  readonly #source: LogSource<Event, Head>;

  constructor(source: LogSource<Event, Head>) {
    this.#source = source;
  }

  read(sessionId: SessionId, commit: Commit): Made<Event, Head> {
    const { machine, hashKey } = this.#source;
    return readCommit(machine, sessionId, commit, hashKey);
  }

  /** Returns undefined for a session of another kind, which may be in the same storage: this machine can't read it. */
  readOwn(id: SessionId, commit: Commit): Made<Event, Head> | undefined {
    try {
      return this.read(id, commit);
    } catch (error) {
      const { machine, hashKey } = this.#source;
      // The summary is not covered by the hash: another kind in it must not hide a change.
      const isOther = commit.sessionId === id && commit.summary.kind !== machine.kind;
      if (isOther && !isChanged(commit, hashKey)) return undefined;
      throw error;
    }
  }

  async at(id: SessionId, version: number): Promise<Recorded<Event, Head>> {
    for await (const commit of this.#source.storage.log(id, { after: version - 1, limit: 1 })) {
      if (commit.version === version) return recordedOf(this.read(id, commit));
    }
    throw tampered({ sessionId: id, version }, "it is missing");
  }

  /** Yields all commits in order, or those after `after`, each checked against the one before it. */
  async *all(id: SessionId, after?: Receipt): AsyncGenerator<Recorded<Event, Head>> {
    for await (const { made } of this.#inOrder(id, after)) yield recordedOf(made);
  }

  async *#inOrder(
    id: SessionId,
    after?: Receipt,
  ): AsyncGenerator<{ readonly commit: Commit; readonly made: Made<Event, Head> }> {
    let previous: Receipt | undefined = after;
    const options = after === undefined ? {} : { after: after.version };
    for await (const commit of this.#source.storage.log(id, options)) {
      if (commit.version !== (previous?.version ?? 0) + 1 || commit.previousHash !== (previous?.hash ?? "")) {
        throw tampered(commit, "it does not follow the one before it");
      }
      yield { commit, made: this.read(id, commit) };
      previous = commit;
    }
  }

  /** Checks a whole log; its summaries and payloads, a receipt, and the hint of the store. */
  async audit(id: SessionId, receipt?: Receipt): Promise<AuditReport> {
    if (receipt !== undefined && !isReceipt(receipt)) throw noReceipt();
    // Somebody who can write to the storage may have put another kind's log here: only a receipt reveals that.
    if (await this.#isOther(id)) return audit(NOTHING, receipt, 0);
    // Read before the log: a commit that is appended meanwhile must not look missing.
    const hinted = (await this.#source.storage.hint?.(id)) ?? 0;
    return audit(this.#complete(id), receipt, hinted);
  }

  async #isOther(id: SessionId): Promise<boolean> {
    try {
      for await (const first of this.#source.storage.log(id, { limit: 1 }))
        return this.readOwn(id, first) === undefined;
    } catch (error) {
      // The audit itself tells what is wrong with it.
      if (!isPhasegateError(error)) throw error;
    }
    return false;
  }

  async *#complete(id: SessionId): AsyncGenerator<Recorded<Event, Head>> {
    const { machine, storage } = this.#source;
    for await (const { commit, made } of this.#inOrder(id)) {
      checkSummary(commit, made.newest.summary);
      const recorded = recordedOf(made);
      for (const hash of recorded.events.flatMap((event) => machine.payloadsOf(event))) {
        checkPayload(recorded, hash, await storage.payload(id, hash));
      }
      yield recorded;
    }
  }
}

function isReceipt(value: unknown): boolean {
  return isJsonObject(value) && Number.isSafeInteger(value.version) && typeof value.hash === "string";
}

/** Without this refusal, an invalid receipt would look like a log that was cut off. */
function noReceipt(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "the receipt is not valid", {
    remedy: "Give the receipt of an earlier audit, { version, hash }, or leave it out.",
    details: { field: "receipt", expected: "a version and a hash" },
  });
}
