import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { SessionId } from "../definition/names.js";
import type { SessionAudit } from "../engine/approval/audit-session.js";
import type { Receipt } from "../kernel/audit.js";
import type { SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { type RecordedEntry, recordedEntries } from "../workspace/session/recorded-entries.js";
import type { RecordedHead } from "../workspace/session/recorded-machine.js";
import { Recorder } from "../workspace/session/recorder.js";

/** A recorded session: where it stands, and what was done in it, oldest first. */
export type RecordedReport = { readonly sessionId: string } & Partial<RecordedHead> & {
    readonly entries: readonly RecordedEntry[];
  };

/** Recorded sessions, looked at without the workspace that records them. */
export class RecordedReader {
  readonly #storage: StorageAdapter;
  readonly #recorder: Recorder;

  constructor(storage: StorageAdapter, hashKey?: string | Uint8Array) {
    this.#storage = storage;
    const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
    const clock = { now: () => Date.now() };
    this.#recorder = new Recorder({ storage, clock, ...(key === undefined ? {} : { hashKey: key }) });
  }

  async report(sessionId: string): Promise<RecordedReport> {
    const entries: RecordedEntry[] = [];
    let head: RecordedHead | undefined;
    for await (const commit of this.#recorder.log(sessionId)) {
      entries.push(...recordedEntries(commit));
      head = commit.head;
    }
    return { sessionId, ...head, entries };
  }

  /** How a session stands, for a list; undefined if it is gone. */
  lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return this.#recorder.lookAt(id);
  }

  /** Nobody approves anything in a recorded session. */
  async audit(sessionId: string, receipt?: Receipt): Promise<SessionAudit> {
    return { ...(await this.#recorder.audit(sessionId, receipt)), approvals: [] };
  }

  async close(): Promise<void> {
    await this.#storage.close?.();
  }
}
