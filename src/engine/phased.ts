/**
 * The operations on phased sessions, and what they work with: loaded by `import()`, as one, with the first
 * call of an engine. Who only defines workflows, reads plans or checks gates never needs it.
 */
import { Kernel } from "../kernel/kernel.js";
import { readWhole } from "../kernel/read-commit.js";
import type { Commit } from "../ports/storage-adapter.js";
import type { SessionHead } from "../session/head.js";
import { gateFailures, phaseHistory } from "../session/history.js";
import { announce } from "./announce.js";
import { auditSession } from "./approval/audit-session.js";
import { decide } from "./approval/decide.js";
import { ApprovalGuard } from "./approval/guard.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import { listApprovals } from "./approval/list-approvals.js";
import { viewRequest } from "./approval/view-awaited.js";
import { ArtifactNames } from "./artifact-names.js";
import { readEvents } from "./artifacts.js";
import { cleanup } from "./cleanup.js";
import { completePhase } from "./complete-phase.js";
import { loadSession, sessionNotFound } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { isBelieved, listSessions } from "./list-sessions.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import { viewPhase, viewTask } from "./phase-view.js";
import { phasedMachine } from "./phased-machine.js";
import { type PhasedCommit, Pinned } from "./pinned.js";
import { reportFailure } from "./report-failure.js";
import { deleteSession, migrate, movePast, pause, resume, retryPhase, rollback } from "./session-commands.js";
import { startSession } from "./start-session.js";
import { startOptions, viewFullState, viewState } from "./state-view.js";
import { Beginnings } from "./verify/read-snapshots.js";
import { WorkflowList } from "./workflow-list.js";

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
