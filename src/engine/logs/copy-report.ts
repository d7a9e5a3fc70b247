import type { SessionId } from "../../definition/names.js";
import type { SessionChoice } from "./chosen-sessions.js";
import type { RefusalReason } from "./log-refusal.js";
import type { SessionKind } from "./session-kind.js";

/** Which sessions are copied, and how. */
export interface CopyOptions extends SessionChoice {
  /** The key that the logs are bound with, if they are HMAC chains. */
  readonly hashKey?: string | Uint8Array;
  /**
   * How often all sessions are gone through at most, until one time finds nothing new; 5 if not given. Somebody may be
   * working in the source.
   */
  readonly passes?: number;
  /** Kinds of sessions beside phased ones: `ROUTED_SESSIONS` of `phasegate/routed`. Others are refused. */
  readonly kinds?: readonly SessionKind[];
  /** After each session. What it throws ends the copying. */
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Ends the copying between two commits, with the signal's reason. What is copied stays, and another call goes on. */
  readonly signal?: AbortSignal;
}

/** How far a copying has come. */
export interface CopyProgress {
  /** 1 for the first time through the sessions. */
  readonly pass: number;
  readonly sessionId: SessionId;
  /** Sessions of this pass that the target has whole. */
  readonly sessions: number;
  /** Sessions that are refused as it stands. */
  readonly refused: number;
  /** Commits and bytes of bodies and payloads that were copied, in all passes. */
  readonly commits: number;
  readonly bytes: number;
}

/** A session that was not copied, or not to its end. */
export interface RefusedSession {
  readonly sessionId: SessionId;
  readonly reason: RefusalReason;
  readonly message: string;
  /** The error, where there was one. */
  readonly cause?: unknown;
}

/** What came of a copying. */
export interface CopyReport {
  /** Sessions that the target has whole, those that it had before included. */
  readonly sessions: number;
  /** Commits and bytes of bodies and payloads that were copied by this call. */
  readonly commits: number;
  readonly bytes: number;
  readonly refused: readonly RefusedSession[];
  /**
   * Whether a last time through all sessions found nothing new. If not, somebody was working in the source to the end:
   * copy once more when nobody is.
   */
  readonly settled: boolean;
}
