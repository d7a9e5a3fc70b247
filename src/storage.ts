/**
 * Storages: what an adapter implements, and the copying of sessions from one storage to another. Needs nothing of Node's.
 *
 * @packageDocumentation
 */

export { copySessions } from "./phased/copy-sessions.js";
export type { RefusalReason, SessionKind } from "./phased/log-check.js";
export type { CopyOptions, CopyProgress, CopyReport, RefusedSession, SessionChoice } from "./phased/log-copy.js";
export type {
  Commit,
  Page,
  Payload,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionStatus,
  SessionSummary,
  StorageAdapter,
} from "./ports/storage-adapter.js";
export type { JsonObject, JsonValue } from "./workflow/json.js";
export type { SessionId } from "./workflow/names.js";
