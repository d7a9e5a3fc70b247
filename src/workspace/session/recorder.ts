import { PhasegateError } from "../../errors.js";
import type { AuditReport, Receipt, Recorded } from "../../log/commit.js";
import { Kernel } from "../../log/log.js";
import type { Clock } from "../../ports/clock.js";
import type { SessionSummary, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId, shown } from "../../workflow/names.js";
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

/** A session that isn't there, with those that are. */
export function noSession(id: string, near: readonly string[]): PhasegateError<"SESSION_NOT_FOUND"> {
  const there = near.length === 0 ? "" : `There are ${near.join(", ")}; or call`;
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${shown(id)}`, {
    remedy: `${there || "Call"} create_session without session_id for a new one.`,
    details: { sessionId: id },
  });
}

/** A session that another connection has begun. */
export function notOwn(id: string, exists: boolean, what = "nothing was saved"): PhasegateError<"PATH_REFUSED"> {
  const reason = exists ? `the session ${id} is not one of this connection's` : `there is no session ${id}`;
  const call = exists ? `{"session_id": "${id}", "reopen": true}` : `{"session_id": "${id}"}`;
  return new PhasegateError("PATH_REFUSED", `${what}: ${reason}`, {
    remedy: exists
      ? `Call create_session for a session of your own. To go on with that one, call create_session with ${call}.`
      : `Call create_session with ${call}, then save again.`,
    details: { reason },
  });
}

/** A session that is over takes no more files. */
export function isOver(id: string, status: string): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `the session ${id} is ${status}`, {
    remedy: `To go on with it, call create_session with {"session_id": "${id}", "reopen": true}.`,
    details: { command: "save_output", status, allowed: ["create_session"] },
  });
}

/** A session with as much in it as the host allows. */
export function quotaReached(
  what: string,
  limit: number,
  bytes: number,
  remedy = "Save less, or replace files that are there: by the same path.",
): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `nothing was saved: ${what}`, {
    remedy,
    details: { bytes, limit },
  });
}

/** A file that is saved, in a session whose log could not be written. */
export function notRecorded(path: string, cause: unknown): PhasegateError<"STORAGE_FAILED"> {
  const remedy = "Save it once more, by the same path: that does no harm. If that fails again, tell the user.";
  return new PhasegateError("STORAGE_FAILED", `${path} is saved, but could not be recorded`, {
    remedy,
    details: { operation: "record" },
    cause,
  });
}

/** A manifest that nobody of ours has left so. */
export function brokenManifest(id: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the manifest of the session ${id} can't be read`, {
    remedy: "Call create_session without session_id for a new session, and tell the person who runs this server.",
    details: { field: "manifest.json", expected: "a manifest as the workspace writes it" },
  });
}
