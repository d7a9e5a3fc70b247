/**
 * The operations on phased sessions, loaded by `import()` with the first call of an engine: a host that
 * only defines workflows, reads plans or checks gates never loads them. What is decided in this folder
 * where:
 * - state/: pure: which events follow from a command (transition.ts), when the last failed attempt ends a
 *   session (decide-gate.ts), what a state allows (commands.ts)
 * - complete-phase.ts: in which order a gate runs its checks, and when a verdict is reused after a conflict
 * - approval/: requests.ts takes a person's decision, ledger.ts checks those in the log; the rules that routed
 *   sessions share are in src/approval
 * - verify/: how verifiers are run and what blocks (verify.ts), and what they compare with (snapshots.ts)
 * - plan/: pinned plans: which changes a sync accepts (rebuild.ts), and when ticks are written (ticks.ts)
 * - start.ts: ids of sessions, the limit of active sessions; nothing is written before everything was
 *   checked
 * - context.ts: how a session is loaded, and how a command is executed
 * - lists.ts: lists show what a session's log says, not what the storage's summary says; which sessions a
 *   cleanup deletes
 */

import { ApprovalGuard } from "../approval/guard.js";
import { readWhole } from "../log/commit.js";
import { Kernel } from "../log/log.js";
import type { Commit } from "../ports/storage-adapter.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import { decide, listApprovals, viewRequest } from "./approval/requests.js";
import { readEvents } from "./artifacts.js";
import { deleteSession, migrate, movePast, pause, resume, retryPhase, rollback } from "./commands.js";
import { completePhase } from "./complete-phase.js";
import { loadSession, sessionNotFound } from "./context.js";
import { type EngineContext, WorkflowList } from "./engine-context.js";
import { cleanup, isBelieved, listSessions } from "./lists.js";
import { announce, type Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import { ArtifactNames, type PhasedCommit, Pinned, phasedMachine } from "./pinned.js";
import { startSession } from "./start.js";
import type { SessionHead } from "./state/head.js";
import { gateFailures, phaseHistory } from "./state/history.js";
import { Beginnings } from "./verify/snapshots.js";
import { startOptions, viewFullState, viewPhase, viewState, viewTask } from "./views.js";

/** The operations on sessions. */
export const phased = {
  cleanup,
  completePhase,
  decide,
  deleteSession,
  gateFailures,
  isBelieved,
  listApprovals,
  listSessions,
  loadSession,
  migrate,
  movePast,
  pause,
  phaseHistory,
  readCommit: readPhasedCommit,
  readEvents,
  resume,
  retryPhase,
  rollback,
  sessionNotFound,
  startOptions,
  startSession,
  viewFullState,
  viewPhase,
  viewRequest,
  viewState,
  viewTask,
};

/** The loaded operations. */
export type Phased = typeof phased;

/** Creates what the operations of an engine share. */
export function createContext(options: ResolvedOptions, notifications: Notifications): EngineContext {
  const kernel = new Kernel({
    ...options,
    machine: phasedMachine,
    trustsHeads: options.storage.capabilities.remote === true,
    onCommit: (session) => announce(notifications, session),
    onConflict: (sessionId, version) => notifications.notify("conflict", { sessionId, version }),
  });
  const pinned = new Pinned(kernel, options.content);
  const artifactNames = new ArtifactNames(kernel);
  const approvalGuard = new ApprovalGuard(kernel, options.approvals, PHASED_APPROVALS);
  const beginnings = new Beginnings(kernel, ({ phase }: SessionHead) => phase);
  const workflows = new WorkflowList(options.content);
  return { options, kernel, workflows, pinned, artifactNames, beginnings, approvalGuard, notifications };
}

/** Checks and reads a single stored commit, including its summary. */
function readPhasedCommit({ hashKey }: ResolvedOptions, commit: Commit): PhasedCommit {
  return readWhole(phasedMachine, commit, hashKey);
}
