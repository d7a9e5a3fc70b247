/**
 * The operations on phased sessions, and what they work with: loaded by `import()`, as one, with the first
 * call of an engine. Who only defines workflows, reads plans or checks gates never needs it.
 */

import { readWhole } from "../log/commit.js";
import { Kernel } from "../log/log.js";
import type { Commit } from "../ports/storage-adapter.js";
import { announce, reportFailure } from "./announce.js";
import { auditSession } from "./approval/audit.js";
import { decide } from "./approval/decide.js";
import { ApprovalGuard } from "./approval/guard.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import { listApprovals } from "./approval/list.js";
import { viewRequest } from "./approval/views.js";
import { readEvents } from "./artifacts.js";
import { cleanup } from "./cleanup.js";
import { deleteSession, migrate, movePast, pause, resume, retryPhase, rollback } from "./commands.js";
import { completePhase } from "./complete-phase.js";
import { loadSession, sessionNotFound } from "./context.js";
import { type EngineContext, WorkflowList } from "./engine-context.js";
import { isBelieved, listSessions } from "./lists.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import { ArtifactNames, type PhasedCommit, Pinned, phasedMachine } from "./pinned.js";
import { startSession } from "./start.js";
import type { SessionHead } from "./state/head.js";
import { gateFailures, phaseHistory } from "./state/history.js";
import { Beginnings } from "./verify/snapshots.js";
import { startOptions, viewFullState, viewPhase, viewState, viewTask } from "./views.js";
/** What can be done with sessions. */
export const phased = {
  auditSession,
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
  reportFailure,
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

/** A commit that comes out of a store by itself, checked against its own hash, with a summary that says what its head says. */
function readPhasedCommit({ hashKey }: ResolvedOptions, commit: Commit): PhasedCommit {
  return readWhole(phasedMachine, commit, hashKey);
}

/** What can be done with sessions, as an engine has it when it is loaded. */
export type Phased = typeof phased;

/** Makes what the operations of an engine share. */
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
