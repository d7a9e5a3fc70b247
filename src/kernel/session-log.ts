import type { SessionId } from "../definition/names.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { type AuditReport, audit, type Receipt } from "./audit.js";
import { checkPayload, tampered } from "./commit-body.js";
import type { Machine } from "./machine.js";
import { checkSummary, type Made, readCommit, recordedOf } from "./read-commit.js";
import type { Recorded } from "./recorded.js";

/** Whose sessions are read, from where. */
export interface LogSource<Event, Head> {
  readonly storage: StorageAdapter;
  readonly machine: Machine<never, Event, Head>;
  readonly hashKey?: Uint8Array;
}

/** The commits of sessions as they come out of a store: each is checked before anybody sees it. */
export class SessionLog<Event, Head> {
  readonly #source: LogSource<Event, Head>;

  constructor(source: LogSource<Event, Head>) {
    this.#source = source;
  }

  /** Checks a commit that is said to be a session's, and reads it. */
  read(sessionId: SessionId, commit: Commit): Made<Event, Head> {
    const { machine, hashKey } = this.#source;
    return readCommit(machine, sessionId, commit, hashKey);
  }

  /** One commit of a session. */
  async at(id: SessionId, version: number): Promise<Recorded<Event, Head>> {
    for await (const commit of this.#source.storage.log(id, { after: version - 1, limit: 1 })) {
      if (commit.version === version) return recordedOf(this.read(id, commit));
    }
    throw tampered({ sessionId: id, version }, "it is missing");
  }

  /** All commits in their order, or those after one, each checked against the one before it. */
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

  /**
   * Checks a whole log with its summaries and payloads, against a receipt kept elsewhere if there is one, and what the store
   * hints at.
   */
  async audit(id: SessionId, receipt?: Receipt): Promise<AuditReport> {
    // Asked first: a commit that is made meanwhile is in the log then, and not before it.
    const hinted = (await this.#source.storage.hint?.(id)) ?? 0;
    return audit(this.#complete(id), receipt, hinted);
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
