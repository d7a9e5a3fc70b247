import type { AuditReport, Receipt } from "../../log/audit.js";
import type { Recorded } from "../../log/commit.js";
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

/** Where sessions are recorded. */
interface RecorderOptions {
  readonly storage: StorageAdapter;
  readonly clock: Clock;
  /** Makes the hash chain an HMAC. */
  readonly hashKey?: Uint8Array;
}

/** Writes what is done in sessions to their logs, each act a commit. */
export class Recorder {
  readonly #kernel: Kernel<RecordedCommand, RecordedEvent, RecordedHead>;

  constructor(options: RecorderOptions) {
    this.#kernel = new Kernel({ ...options, machine: recordedMachine });
  }

  /** Whether there is, or was, a log of that name. Throws `TAMPERED` where its newest commit was changed. */
  async knows(id: string): Promise<boolean> {
    const sessionId = parseSessionId(id);
    return (await this.#kernel.find(sessionId)) !== undefined || (await this.#kernel.isTombstone(sessionId));
  }

  /** How a session stands, for a list; undefined if it is gone. Throws `TAMPERED` where its newest commit was changed. */
  async lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return (await this.#kernel.newest(id))?.summary;
  }

  /** Begins a log. Throws `INVALID_TRANSITION` where there is one. */
  async open(id: string, facts: Omit<Extract<RecordedCommand, { type: "open" }>, "type">): Promise<void> {
    await this.#execute(id, { type: "open", ...facts });
  }

  /** Goes on with a log, or begins one: the session may be older than its recording. */
  async reopen(id: string, acts: readonly WorkspaceAct[]): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), (current) => ({
      command: current === undefined ? { type: "open", acts } : { type: "reopen", acts },
    }));
  }

  async record(id: string, act: WorkspaceAct): Promise<void> {
    await this.#execute(id, { type: "act", act });
  }

  async complete(id: string, status: "completed" | "failed", summary?: string): Promise<void> {
    await this.#execute(id, { type: "complete", status, ...(summary === undefined ? {} : { summary }) });
  }

  /** All commits of a session, oldest first, each checked against the one before it. */
  log(id: string): AsyncGenerator<RecordedCommit> {
    return this.#kernel.log(parseSessionId(id));
  }

  audit(id: string, receipt?: Receipt): Promise<AuditReport> {
    return this.#kernel.audit(parseSessionId(id), receipt);
  }

  async #execute(id: string, command: RecordedCommand): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), () => ({ command }));
  }
}

/** Something that happened in a recorded session, and when. */
export type RecordedEntry = RecordedEvent & {
  /** The version of its commit. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly at: string;
};

/** What a commit says, one entry for each event. */
export function recordedEntries({
  events,
  version,
  at,
}: Pick<RecordedCommit, "events" | "version" | "at">): RecordedEntry[] {
  return events.map((event) => ({ ...event, version, at }));
}
