/**
 * Storages: the types that an adapter works with, the types of a session's log, and the copying of sessions from one
 * storage to another. Needs nothing of Node's.
 *
 * @packageDocumentation
 */

export type { AuditReport, Current, Receipt, Recorded } from "./log/commit.js";
export { copySessions } from "./phased/copy-sessions.js";
export type { RefusalReason, SessionKind } from "./phased/log-check.js";
export type { CopyOptions, CopyProgress, CopyReport, RefusedSession, SessionChoice } from "./phased/log-copy.js";
export type { SessionEvent, Snapshot, StoredValue } from "./phased/state/events.js";
export type { HeadFacts, SessionHead } from "./phased/state/head.js";
export type { StepRefused, TaskNotes } from "./phased/state/task-notes.js";
export type { SessionCommit, WatchQuery } from "./phased/watch.js";
export type { Commit, Page, Payload, RepairReport, SessionQuery, SessionSize } from "./ports/storage-adapter.js";
