/**
 * The operations on phased sessions, loaded by `import()` with the first call of an engine: a host that only defines
 * workflows, reads plans or checks gates never loads them. And the steps ahead that were refused: reading or working on a
 * phase or task that is locked, and evidence for a phase that is not the current one. The host is notified of each; the log
 * keeps each distinct one of a visit to a phase, up to a limit, so that a flood of refused calls does not make it grow.
 *
 * The entry file of this folder; what is decided where:
 * - engine.ts, session.ts: the public methods; request-checks.ts: which requests are refused; options.ts: the options and limits of an engine, and their defaults
 * - state/: pure: which events follow from a command (transition.ts), when the last failed attempt ends a
 *   session (decide-gate.ts), which phases of two definitions are the same (compare-phases.ts) and where a session stands in a
 *   newer one (migration.ts), what a state allows and which phases may be read (state/commands.ts), what a host may note on a
 *   submission (state/noted.ts)
 * - submissions.ts: which submissions go on without their callers, and when other evidence is refused meanwhile
 * - complete-phase.ts: in which order a gate runs its checks, and when a verdict is reused after a conflict
 * - approval/: requests.ts takes requests for waivers and persons' decisions, ledger.ts checks those in the log; the rules
 *   that routed sessions share are in src/approval
 * - verify/: what a gate verifies (verify.ts), how verifiers are run and what blocks (run-verifiers.ts), what they compare
 *   with (beginnings.ts), when that is recorded (snapshots.ts), and what a migration keeps of it (kept-snapshots.ts)
 * - views.ts: what can be read of a session; a phase ahead is refused
 * - documents.ts: how its texts are filled, and which files of its workflow's folder it may read
 * - gate-answer.ts: what a submission is answered
 * - pinned.ts: which definition a session is bound to
 * - plan/: what a session pins of its plan (pin.ts) and how the plan is read (source.ts), which changes a sync accepts
 *   (sync.ts, rebuild.ts, compare.ts, match.ts), which ticks are written (ticks.ts, tick-text.ts), and what is shown of it
 *   (view.ts)
 * - children.ts: which children a phase asks for that is a workflow, and when it passes; start-child.ts: how one is started
 * - start.ts: ids of sessions, the limit of active sessions; nothing is written before everything was checked
 *   (start-checks.ts): its options, that the workflow's rules can run, and that the host has its verifiers
 * - commands.ts: every command but a start and a submission, such as rollback and pause
 * - artifacts.ts: accepted evidence, and when it is stored as a payload; notifications.ts: what hosts are told
 * - context.ts: how a session is loaded, how a command is executed, and when ticks are written and missing snapshots taken
 * - look.ts, lists.ts: lists show what a session's log says, not what the storage's summary says; which sessions a
 *   cleanup deletes
 * - statistics.ts: what statistics count, and which commits they read; loaded by its first call
 * - log-check.ts: what makes a log intact; log-copy.ts: how
 *   sessions are copied to another storage
 * - engine-context.ts: what all operations of an engine share
 */
import { ApprovalGuard } from "../approval/guard.js";
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
import { type Receipt, readWhole } from "../log/commit.js";
import { Kernel } from "../log/log.js";
import type { Commit } from "../ports/storage-adapter.js";
import { limitedFor } from "../runtime/access.js";
import { linkTo, notificationOf } from "../runtime/notifier.js";
import { isStepAhead } from "../runtime/operations.js";
import { WorkflowList } from "../workflow/files/workflow-list.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { type AcceptedInMigration, type AuditedChild, PHASED_APPROVALS, type SessionAudit } from "./approval/ledger.js";
import {
  type ApproveRequest,
  type DenyRequest,
  type DenyWaiverRequest,
  decide,
  decideWaiver,
  listApprovals,
  listWaivers,
  requestWaiver,
  viewRequest,
  viewWaiverRequest,
  type WaiveRequest,
} from "./approval/requests.js";
import {
  attemptsWithEvidence,
  type CommitsRequest,
  type HistoryRequest,
  readEvents,
  viewArtifact,
  viewCommits,
} from "./artifacts.js";
import {
  assign,
  deleteSession,
  type MoveRequest,
  migrate,
  movePast,
  pause,
  resume,
  retryPhase,
  rollback,
  viewMigration,
} from "./commands.js";
import { completePhase, findSubmission } from "./complete-phase.js";
import { completeTask } from "./complete-task.js";
import { executeCommand, loadSession, sessionNotFound } from "./context.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import { cleanup, isAccepted } from "./lists.js";
import { lookAtSession } from "./look.js";
import type { Notifications, SessionNotification } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import { ArtifactNames, Pinned } from "./pinned.js";
import type { SyncRequest } from "./plan/sync.js";
import { checkRequest } from "./request-checks.js";
import { listWorkflows, startSession } from "./start.js";
import type { ChildRequest } from "./start-child.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import { gateFailures, phaseHistory, type RecordedEvent } from "./state/history.js";
import { phasedMachine, type SessionCommit } from "./state/machine.js";
import { isRefusalKept, type StepRefused } from "./state/task-notes.js";
import type { Statistics, StatisticsRequest } from "./statistics.js";
import { Beginnings } from "./verify/beginnings.js";
import type { VerifyContext } from "./verify/run-verifiers.js";
import { viewDocument, viewFullState, viewPhase, viewState, viewTask } from "./views.js";

/** Returns an operation that shows something of a session. */
function shows<T>(view: (context: EngineContext, loaded: LoadedSession) => Promise<T>) {
  return async (context: EngineContext, id: SessionId, _: object): Promise<T> =>
    view(context, await loadSession(context, id));
}

const onSession = {
  getPhase: async (context: EngineContext, id: SessionId, { phase }: { readonly phase?: number | undefined }) => {
    const loaded = await loadSession(context, id);
    return viewPhase(context, loaded, phase ?? loaded.session.head.phase);
  },
  getTask: async (context: EngineContext, id: SessionId, asked: { readonly phase: number; readonly task: number }) =>
    viewTask(context, await loadSession(context, id), asked.phase, asked.task),
  getDocument: async (context: EngineContext, id: SessionId, { path }: { readonly path: string }) =>
    viewDocument(context, await loadSession(context, id), path),
  getState: shows(viewState),
  getFullState: shows(viewFullState),
  getOptions: shows(({ pinned }, { session }) => pinned.options(session.sessionId)),
  artifact: async (context: EngineContext, id: SessionId, { phase }: { readonly phase: number }) =>
    viewArtifact(context, await loadSession(context, id), phase),
  history: async (context: EngineContext, id: SessionId, { evidence = false }: HistoryRequest) => {
    const { session } = await loadSession(context, id);
    if (evidence === false) return phaseHistory(await readEvents(context, session));
    return attemptsWithEvidence(context, session, evidence === true ? undefined : evidence);
  },
  commits: async (context: EngineContext, id: SessionId, request: CommitsRequest): Promise<readonly SessionCommit[]> =>
    viewCommits(context, (await loadSession(context, id)).session, request),
  refusals: shows(async (context, { session }) => stepRefusals(await readEvents(context, session))),
  errors: shows(async (context, { session }) => gateFailures(await readEvents(context, session))),
  audit: async (
    context: EngineContext,
    id: SessionId,
    { receipt }: { readonly receipt: Receipt | undefined },
  ): Promise<SessionAudit> => {
    if (context.caller !== undefined) await loadSession(context, id);
    const report = await context.approvalGuard.audit(id, receipt);
    if (report.versions === 0 && report.intact) throw await sessionNotFound(context, id);
    return report.intact ? { ...report, ...(await foundIn(context, id)) } : report;
  },
  getApproval: shows(viewRequest),
  getWaiver: shows(viewWaiverRequest),
  approve: (context: EngineContext, id: SessionId, request: ApproveRequest) => decide(context, id, "approve", request),
  deny: (context: EngineContext, id: SessionId, request: DenyRequest) => decide(context, id, "deny", request),
  requestWaiver,
  waive: (context: EngineContext, id: SessionId, request: WaiveRequest) =>
    decideWaiver(context, id, "approve", request),
  denyWaiver: (context: EngineContext, id: SessionId, request: DenyWaiverRequest) =>
    decideWaiver(context, id, "deny", request),
  completeTask,
  completePhase,
  startChild: async (context: EngineContext, id: SessionId, request: ChildRequest) =>
    (await import("./start-child.js")).startChild(context, id, request),
  submission: findSubmission,
  pause,
  resume,
  retryPhase,
  rollback,
  overrideGate: (context: EngineContext, id: SessionId, request: MoveRequest & { readonly phase: number }) =>
    movePast(context, id, "overrideGate", request),
  skipPhase: (context: EngineContext, id: SessionId, request: MoveRequest & { readonly phase: number }) =>
    movePast(context, id, "skipPhase", request),
  migrate,
  migration: viewMigration,
  assign,
  syncPlan: async (context: EngineContext, id: SessionId, request: SyncRequest) =>
    (await import("./plan/sync.js")).syncPlan(context, id, request),
  deleteSession,
};

/**
 * Returns the differences of definitions that were accepted in migrations, and the children that phases have passed with, each
 * audited, and the children of these. A part is missing if its list would be empty.
 */
async function foundIn(context: EngineContext, id: SessionId): Promise<Pick<SessionAudit, "accepted" | "children">> {
  const { wholeKernel: kernel, approvalGuard } = context;
  const accepted: AcceptedInMigration[] = [];
  const children: AuditedChild[] = [];
  for await (const { events, version, at } of kernel.log(id)) {
    for (const event of events) {
      if (event.type === "migrated") {
        const { by, structure } = event;
        const { revision } = structure;
        accepted.push(...(event.accepted ?? []).map((one) => ({ ...one, by, revision, version, at })));
      } else if (event.type === "gate_passed") {
        for (const { sessionId, ...receipt } of event.children ?? []) {
          const child = parseSessionId(sessionId);
          const about = { phase: event.phase, sessionId, version: receipt.version };
          const report = await approvalGuard.audit(child, receipt);
          if (report.versions === 0 && (await kernel.newest(child)) === undefined) {
            children.push({ ...about, gone: true });
            continue;
          }
          const below = report.intact ? ((await foundIn(context, child)).children ?? []) : [];
          const reason = report.intact ? undefined : report.reason;
          children.push({ ...about, intact: report.intact, reason }, ...below);
        }
      }
    }
  }
  return {
    ...(accepted.length === 0 ? {} : { accepted }),
    ...(children.length === 0 ? {} : { children }),
  };
}

/** The operations on one session: what each takes, and what it answers. */
export type SessionOperations = {
  [Name in keyof typeof onSession]: {
    readonly request: Parameters<(typeof onSession)[Name]>[2];
    readonly answer: Awaited<ReturnType<(typeof onSession)[Name]>>;
  };
};

const operations: {
  [Name in keyof SessionOperations]: (
    context: EngineContext,
    id: SessionId,
    request: SessionOperations[Name]["request"],
  ) => Promise<SessionOperations[Name]["answer"]>;
} = onSession;

/** Does something with a session; notes a step ahead that is refused. */
async function operate<Name extends keyof SessionOperations>(
  context: EngineContext,
  sessionId: string,
  name: Name,
  request: SessionOperations[Name]["request"],
): Promise<SessionOperations[Name]["answer"]> {
  const id = parseSessionId(sessionId);
  try {
    checkRequest(name, request);
    return await operations[name](context, id, request);
  } catch (error) {
    await noteRefusal(context, id, name, error);
    throw error;
  }
}

/** The operations of an engine. */
export const phased = {
  operate,
  listWorkflows,
  startSession,
  lookAtSession,
  limitedFor,
  listApprovals,
  listWaivers,
  cleanup,
  readWatched,
  statistics: async (context: EngineContext, request: StatisticsRequest): Promise<Statistics> =>
    (await import("./statistics.js")).computeStatistics(context, request),
};

/** The loaded operations. */
export type Phased = typeof phased;

/** Creates what the operations of an engine share. */
export function createContext(options: ResolvedOptions, notifications: Notifications): EngineContext {
  const kernel = new Kernel({
    ...options,
    machine: phasedMachine,
    trustsHeads: true,
    onCommit: (commit, before) => {
      if (notifications.isHeard) {
        const of = notificationOf(commit.sessionId, commit.head, commit.at);
        for (const event of commit.events) announce(notifications, of, event, commit, options.inspectorUrl);
      }
      options.telemetry?.committed("phased", commit, before?.head, options.storage);
    },
    onConflict: (sessionId, version) => {
      notifications.notify("conflict", { sessionId, version });
      options.telemetry?.conflicted("phased");
    },
    onReplay: (sessionId, version) => notifications.notify("replayed", { sessionId, version }),
  });
  const pinned = new Pinned(kernel, options.content);
  const artifactNames = new ArtifactNames(kernel);
  const approvalGuard = new ApprovalGuard(kernel, options.approvals, PHASED_APPROVALS);
  const beginnings = new Beginnings(kernel, ({ phase }: SessionHead) => phase);
  const workflows = new WorkflowList(options.content, options.clock);
  const onChecks: VerifyContext["onChecks"] = ({ sessionId }, checks) =>
    notifications.notify("verifying", { sessionId, ...checks });
  return {
    options,
    kernel,
    wholeKernel: kernel,
    workflows,
    pinned,
    artifactNames,
    beginnings,
    onChecks,
    approvalGuard,
    notifications,
  };
}

/** Checks and reads a watched commit; undefined if it is behind an approval that this host does not accept. */
async function readWatched(context: EngineContext, commit: Commit): Promise<SessionCommit | undefined> {
  const read = readWhole(phasedMachine, commit, context.options.hashKey);
  return (await isAccepted(context, read)) ? read : undefined;
}

/** Notifies the host of an event of a commit. */
function announce(
  notifications: Notifications,
  of: SessionNotification,
  event: SessionEvent,
  commit: SessionCommit,
  inspectorUrl: string | undefined,
): void {
  switch (event.type) {
    case "started":
      return notifications.notify("started", { ...of, phase: event.structure.startPhase });
    case "child_claimed":
      // The child's own start is told.
      return;
    case "assigned":
      return notifications.notify("assigned", { ...of, by: event.by });
    case "phase_entered":
      return notifications.notify("phaseEntered", { ...of, phase: event.phase });
    case "approval_requested": {
      const { phase, attempt, evidenceHash, prompt, approvers } = event;
      const asked = { phase, attempt, evidenceHash, prompt, approvers };
      return notifications.notify("approvalRequested", { ...of, ...asked, ...linkTo(inspectorUrl, commit) });
    }
    case "waiver_requested": {
      const { phase, fields, reason, approvers } = event;
      const asked = { phase, fields, reason, approvers };
      return notifications.notify("waiverRequested", { ...of, ...asked, ...linkTo(inspectorUrl, commit) });
    }
    case "approved":
    case "denied":
    case "waiver_granted":
    case "waiver_denied": {
      const { phase, by, note, authenticated } = event;
      return notifications.notify(NAMES[event.type], { ...of, phase, by, note, authenticated });
    }
    case "gate_passed":
      return notifications.notify("gatePassed", { ...of, phase: event.phase, attempt: event.attempt });
    case "gate_failed": {
      const { phase, attempt, problems } = event;
      return notifications.notify("gateFailed", { ...of, phase, attempt, problems });
    }
    case "task_completed":
    case "task_given_up": {
      const { phase, task, note } = event;
      return notifications.notify(NAMES[event.type], { ...of, phase, task, note });
    }
    case "gate_overridden":
    case "phase_skipped": {
      const { phase, by, reason } = event;
      return notifications.notify(NAMES[event.type], { ...of, phase, by, reason });
    }
    case "paused":
      return notifications.notify("paused", { ...of, note: event.note });
    case "resumed":
      return notifications.notify("resumed", of);
    case "retried":
      return notifications.notify("retried", { ...of, phase: event.phase, by: event.by });
    case "rolled_back":
      return notifications.notify("rolledBack", { ...of, from: event.from, to: event.to, by: event.by });
    case "migrated": {
      const { structure, by, accepted = [] } = event;
      return notifications.notify("migrated", { ...of, revision: structure.revision, by, accepted });
    }
    case "plan_synced": {
      const { changes: differences, by } = event;
      return notifications.notify("planSynced", { ...of, changes: differences.count, differences, by });
    }
    case "plan_ticked": {
      const { ticked, unticked, missing, unwritable = [] } = event;
      return notifications.notify("planTicked", { ...of, ticked, unticked, missing, unwritable });
    }
    case "snapshots_taken": {
      const verifiers = event.snapshots.map(({ verifier }) => verifier);
      return notifications.notify("snapshotsTaken", { ...of, phase: event.phase, verifiers });
    }
    case "completed": {
      const milliseconds = Date.parse(of.at) - Date.parse(commit.head.createdAt);
      return notifications.notify("completed", { ...of, milliseconds });
    }
    case "failed":
      return notifications.notify("failed", { ...of, phase: event.phase, attempts: event.attempts });
    case "deleted":
      return notifications.notify("deleted", { ...of, reason: event.reason });
  }
}

/** The notifications of the events that say the same of a session. */
const NAMES = {
  approved: "approved",
  denied: "denied",
  waiver_granted: "waiverGranted",
  waiver_denied: "waiverDenied",
  task_completed: "taskCompleted",
  task_given_up: "taskGivenUp",
  gate_overridden: "gateOverridden",
  phase_skipped: "phaseSkipped",
} as const;

/** A step ahead that was refused. */
export interface RefusedStep extends StepRefused {
  /** The time of the first such call since the phase was entered: ISO 8601, UTC. */
  readonly at: string;
}

/**
 * Notifies the host of a refused step ahead, and records it; other errors are left alone. Never rejects: the caller gets
 * the refusal in any case.
 */
async function noteRefusal(
  context: EngineContext,
  sessionId: SessionId,
  operation: string,
  error: unknown,
): Promise<void> {
  if (!isPhasegateError(error) || !isStepAhead(operation, error)) return;
  try {
    const { session, unapproved } = await loadSession(context, sessionId);
    const { head } = session;
    const refused = { phase: head.phase, operation, code: error.code, ...placeOf(error) };
    const at = new Date(context.options.clock.now()).toISOString();
    const of = notificationOf(sessionId, head, at);
    context.notifications.notify("stepRefused", { ...of, ...refused, message: error.message });
    // Such a session takes no commands.
    if (unapproved !== undefined) return;
    const command = { type: "refuseStep", refused } as const;
    await executeCommand(context, sessionId, command, undefined, (now) => isRefusalKept(now.head, refused));
  } catch (failure) {
    context.notifications.report("record refusal", failure);
  }
}

/** Returns the refused steps ahead of a session, oldest first. */
function stepRefusals(events: Iterable<RecordedEvent>): RefusedStep[] {
  const found: RefusedStep[] = [];
  for (const { event, at } of events) {
    if (event.type !== "step_refused") continue;
    const { type: _, ...refused } = event;
    found.push({ ...refused, at });
  }
  return found;
}

function placeOf(error: AnyPhasegateError): Pick<StepRefused, "requested" | "task"> {
  switch (error.code) {
    case "PHASE_LOCKED":
    case "PHASE_ALREADY_COMPLETED":
      return { requested: error.details.requested };
    case "TASK_LOCKED":
      return { requested: error.details.phase, task: error.details.task };
    default:
      return {};
  }
}
