/** Records what is done in sessions: one log per session, one commit per act. */
import type { AuditReport, Receipt, Recorded } from "../../log/commit.js";
import { Kernel } from "../../log/log.js";
import type { Clock } from "../../ports/clock.js";
import type { SessionSummary, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import {
  type RecordedCommand,
  type RecordedEvent,
  type RecordedHead,
  recordedMachine,
  type WorkspaceAct,
} from "./machine.js";

/** A commit of a recorded session. */
export type RecordedCommit = Recorded<RecordedEvent, RecordedHead>;

/** The options of {@link Recorder}. */
interface RecorderOptions {
  readonly storage: StorageAdapter;
  readonly clock: Clock;
  /** A key that makes the hash chain an HMAC. */
  readonly hashKey?: Uint8Array;
}

/** Reads and writes the logs of sessions. */
export class Recorder {
  readonly #kernel: Kernel<RecordedCommand, RecordedEvent, RecordedHead>;

  constructor(options: RecorderOptions) {
    this.#kernel = new Kernel({ ...options, machine: recordedMachine });
  }

  /** Returns true if there is or was a log with this id. Throws `TAMPERED` if its newest commit was changed. */
  async knows(id: string): Promise<boolean> {
    const sessionId = parseSessionId(id);
    return (await this.#kernel.find(sessionId)) !== undefined || (await this.#kernel.isTombstone(sessionId));
  }

  /**
   * Returns a session's summary for lists; undefined if the session was removed. Throws `TAMPERED` if its newest commit
   * was changed.
   */
  async lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return (await this.#kernel.newest(id))?.summary;
  }

  /** Starts a log. Throws `INVALID_TRANSITION` if there is one. */
  async open(id: string, facts: Omit<Extract<RecordedCommand, { type: "open" }>, "type">): Promise<void> {
    await this.#execute(id, { type: "open", ...facts });
  }

  /** Continues a log. Starts one if the session is older than its recording. */
  async reopen(id: string, acts: readonly WorkspaceAct[]): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), (current) => ({
      command: current === undefined ? { type: "open", acts } : { type: "reopen", acts },
    }));
  }

  /** Appends an act. */
  async record(id: string, act: WorkspaceAct): Promise<void> {
    await this.#execute(id, { type: "act", act });
  }

  /** Appends the end of a session. */
  async complete(id: string, status: "completed" | "failed", summary?: string): Promise<void> {
    await this.#execute(id, { type: "complete", status, ...(summary === undefined ? {} : { summary }) });
  }

  /** Yields all commits of a session, oldest first, each checked against the one before. */
  log(id: string): AsyncGenerator<RecordedCommit> {
    return this.#kernel.log(parseSessionId(id));
  }

  /** Checks a whole log, against a receipt if one is given. */
  audit(id: string, receipt?: Receipt): Promise<AuditReport> {
    return this.#kernel.audit(parseSessionId(id), receipt);
  }

  async #execute(id: string, command: RecordedCommand): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), () => ({ command }));
  }
}

/** An event of a recorded session, with its version and time. */
export type RecordedEntry = RecordedEvent & {
  /** The version of its commit. */
  readonly version: number;
  /** The time of the commit: ISO 8601, UTC. */
  readonly at: string;
};

/** Returns one entry for each event of a commit. */
export function recordedEntries({
  events,
  version,
  at,
}: Pick<RecordedCommit, "events" | "version" | "at">): RecordedEntry[] {
  return events.map((event) => ({ ...event, version, at }));
}
