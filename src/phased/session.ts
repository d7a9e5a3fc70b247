/** A handle on one session of an engine: the public operations without a session id. */
import { checkEvidenceSafety, type EvidenceLimits, type SafeEvidence } from "../gate/evidence.js";
import type { Receipt } from "../log/commit.js";
import type { Owner } from "../ports/actor.js";
import type { Operations } from "../runtime/operations.js";
import { isOpen } from "../workflow/host-options.js";
import type { EvidenceOf, PhaseNumberOf } from "../workflow/inferred-types.js";
import type { JsonObject } from "../workflow/json.js";
import type { Workflow } from "../workflow/workflow-input.js";
import type { ApprovalRequest, SessionAudit } from "./approval/ledger.js";
import type {
  ApprovalResult,
  ApproveRequest,
  DenyRequest,
  DenyWaiverRequest,
  RequestWaiver,
  WaiveRequest,
  WaiverRequest,
  WaiverRequested,
  WaiverResult,
} from "./approval/requests.js";
import type { ArtifactView, CommitsRequest, HistoryRequest } from "./artifacts.js";
import type {
  AssignRequest,
  Attributed,
  DeleteResult,
  MigrateRequest,
  MigrateResult,
  MigrationView,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./commands.js";
import type { CompleteRequest, CopiedRequest } from "./complete-phase.js";
import type { TaskRequest, TaskResult } from "./complete-task.js";
import type { EngineContext } from "./engine-context.js";
import type { CompleteResult } from "./gate-answer.js";
import type { Phased, RefusedStep, SessionOperations } from "./phased.js";
import type { SyncRequest, SyncResult } from "./plan/sync.js";
import type { StartResult } from "./start.js";
import type { ChildRequest } from "./start-child.js";
import type { Keyed } from "./state/commands.js";
import type { GateFailure, PhaseAttempt } from "./state/history.js";
import type { SessionCommit } from "./state/machine.js";
import type { Judged, Submissions, Verifying, Waiting } from "./submissions.js";
import type { DocumentView, FullStateView, PhaseView, StateView, TaskView } from "./views.js";

/** What the operations share, and the operations themselves once they are loaded. */
export interface LoadedContext extends EngineContext {
  readonly phased: Phased;
}

/** What all sessions of an engine share. */
export interface SessionParts {
  readonly evidenceLimits: EvidenceLimits;
  readonly submissions: Submissions;
}

/** The type of each phase's evidence, by the phase's number. */
export type EvidenceByPhase<W extends Workflow> = { [N in PhaseNumberOf<W>]: EvidenceOf<W, N> };

/**
 * One session of an engine, for a host that works with one agent. It has no state, so it can be created
 * again at any time. Every method may reject with `INVALID_INPUT` (the session is on another workflow),
 * `SESSION_NOT_FOUND`, `TAMPERED` (the log is not what was written), `FORMAT_TOO_NEW` (a newer version
 * wrote it), `BUSY`, `STORAGE_FAILED` or `INTERNAL`. Methods that take an idempotency key reject with
 * `IDEMPOTENCY_KEY_REUSED` if it came with another command before. Methods that show or change a session
 * reject with `APPROVAL_REFUSED` if it passed a gate with an approval that this host does not accept. Methods that read a
 * phase reject with `PHASE_LOCKED` if it is ahead and `PHASE_OUT_OF_RANGE` if there is no such phase; those that change one
 * also with `PHASE_ALREADY_COMPLETED`, as `phase` must be the current one. `INVALID_INPUT` is also for a request whose
 * members are unknown or of the wrong type, or have texts that are empty or too long.
 */
export class Session<Phase extends number = number, Evidence extends Record<Phase, unknown> = Record<Phase, unknown>> {
  /** The session's id. */
  readonly id: string;
  readonly #operations: Operations<LoadedContext>;
  readonly #parts: SessionParts;
  readonly #workflowType: string | undefined;

  /** @internal Sessions are made by {@link Engine.session}. */
  constructor(operations: Operations<LoadedContext>, parts: SessionParts, id: string, workflowType?: string) {
    this.#operations = operations;
    this.#parts = parts;
    this.#workflowType = workflowType;
    this.id = id;
  }

  /**
   * Returns the current phase, or a completed one if its number is given.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` or `TEMPLATE` when its text can't be read.
   */
  phase(number?: Phase): Promise<PhaseView> {
    return this.#run("getPhase", { phase: number });
  }

  /**
   * Returns a task of the current phase, or of a completed one.
   * @throws {PhasegateError} `TASK_NOT_FOUND` when the phase has no such task.
   * @throws {PhasegateError} `TASK_LOCKED` when the workflow keeps the order of tasks and a dependency is open.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` or `TEMPLATE` when its text can't be read.
   */
  task(phase: Phase, task: number): Promise<TaskView> {
    return this.#run("getTask", { phase, task });
  }

  /**
   * Returns a document of the workflow: a text file outside of `phases/`, or one beside the texts of the current phase or
   * of a completed one. `path` is relative to the workflow's folder, or written as in the current phase's text.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when there is no such document.
   * @throws {PhasegateError} `PHASE_LOCKED` or `PHASE_OUT_OF_RANGE` when it belongs to a phase that the session has not
   *   reached.
   * @throws {PhasegateError} `PATH_REFUSED` when the path leaves the folder, or names a gate, metadata.json, a hidden file
   *   or a secret.
   * @throws {PhasegateError} `INVALID_INPUT` when `path` is not a text, or the document is not one in UTF-8.
   * @throws {PhasegateError} `TOO_LARGE` when it is larger than 1 MiB.
   */
  document(path: string): Promise<DocumentView> {
    return this.#run("getDocument", { path });
  }

  /**
   * Notes a task of the current phase as done, for whoever continues the work. The gate of a phase from a plan takes it as
   * the claim of this task; other gates don't look at it. It counts as no attempt. Noting it again changes nothing. `skipped` leaves
   * optional tasks out; `task` may then be undefined.
   * @throws {PhasegateError} `TASK_NOT_FOUND` when the phase has no such task.
   * @throws {PhasegateError} `TASK_LOCKED` when the workflow keeps the order of tasks and a dependency is open.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   * @throws {PhasegateError} `INVALID_INPUT` when the note is too long, or a task that is left out is not optional.
   */
  completeTask(phase: Phase, task: number | undefined, request: TaskRequest = {}): Promise<TaskResult> {
    return this.#run("completeTask", { ...request, phase, task });
  }

  /**
   * Submits evidence to the gate of the current phase. An unmet gate is a result, not an error.
   * @throws {PhasegateError} `EVIDENCE_UNSAFE` when the evidence is not plain JSON.
   * @throws {PhasegateError} `EVIDENCE_TOO_LARGE` when it is larger than `limits.maxEvidenceBytes`.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   * @throws {PhasegateError} `ATTEMPTS_EXHAUSTED` when the phase was tried `limits.maxAttemptsTotal` times.
   * @throws {PhasegateError} `DEFINITION_CHANGED` when the gate's schema is no longer the pinned one.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the output of the gate's schema is not JSON.
   * @throws {PhasegateError} `CANCELLED` when `request.signal` was aborted before anything was written.
   */
  completePhase<N extends Phase>(
    phase: N,
    evidence: Evidence[N],
    request: Omit<CompleteRequest, "phase" | "evidence"> = {},
  ): Promise<CompleteResult> {
    return this.#withCopy(evidence, (submission) => this.#judge(phase, submission, request));
  }

  /**
   * Submits evidence as `completePhase` does, and answers within a time: if it is still being verified then, that is the answer,
   * and the checks go on in this process. `submission` waits for the result, and so does the same call. Other evidence for the
   * phase is refused meanwhile. `request.signal` ends the checks only as long as nobody was told of them.
   * @throws {PhasegateError} `INVALID_TRANSITION` also when other evidence is being verified in this process.
   */
  submit<N extends Phase>(
    phase: N,
    evidence: Evidence[N],
    { answerWithinMs, signal, onCheck, ...request }: Omit<CompleteRequest, "phase" | "evidence"> & Waiting,
  ): Promise<Judged | Verifying> {
    const { submissions } = this.#parts;
    const { idempotencyKey, noted } = { ...request, noted: copyOf(request.noted) };
    return this.#withCopy(evidence, async (copy) => {
      // A caller who may not submit learns nothing of what is verified.
      if (submissions.of(this.id, phase) !== undefined)
        await this.#operations.run("completePhase", this.#work("getState", {}));
      const submission = { phase, evidence: copy.evidence, idempotencyKey };
      return submissions.submit(
        this.id,
        submission,
        { answerWithinMs, signal, onCheck },
        {
          begin: (made) => this.#judge(phase, copy, { ...request, ...made, noted }),
          refusal: async (running) => {
            const { head, structure } = await this.state();
            return (await loadRefusals()).otherIsVerified(head, structure, running);
          },
        },
      );
    });
  }

  /**
   * Returns the answer to an earlier submission, by its idempotency key, or by the one that `submit` has answered; waits for it if
   * it is being verified in this process. Undefined if the session remembers no such submission: it was never judged, or is being
   * verified in another process. Rejects with the error of one that was verified in this process and not recorded.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session was paused or has ended while the checks ran.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key is not of a submission for this phase.
   */
  async submission(phase: Phase, idempotencyKey: string, waiting: Waiting): Promise<Judged | Verifying | undefined> {
    const { head, structure } = await this.state();
    const { submissions } = this.#parts;
    const running = submissions.wait(this.id, phase, idempotencyKey, waiting);
    if (running !== undefined) return running;
    const found = await this.#run("submission", { phase, idempotencyKey });
    if (found !== undefined) return { status: "judged", ...found };
    const error = submissions.errorOf(this.id, phase, idempotencyKey);
    if (error !== undefined) throw (await loadRefusals()).asOfNow(error, head, structure);
    return undefined;
  }

  /** Returns the state of the session, from its head alone. */
  state(): Promise<StateView> {
    return this.#run("getState", {});
  }

  /** Returns the state of the session with its artifacts and options; reads the whole log. */
  fullState(): Promise<FullStateView> {
    return this.#run("getFullState", {});
  }

  /**
   * Returns the accepted evidence of a completed phase; undefined for the current phase, and for one that was skipped.
   * Reads the whole log.
   */
  artifact(phase: Phase): Promise<ArtifactView | undefined> {
    return this.#run("artifact", { phase });
  }

  /** Returns the options that the session was started with. */
  options(): Promise<JsonObject> {
    return this.#run("getOptions", {});
  }

  /**
   * Returns every attempt at every phase, oldest first; with `evidence`, also what was submitted, and its hash: in all
   * attempts, or in those with these indexes, from 0.
   */
  history(request: HistoryRequest = {}): Promise<readonly PhaseAttempt[]> {
    return this.#run("history", request);
  }

  /** Returns commits of the session's log, newest first, each checked. */
  commits(request: CommitsRequest = {}): Promise<readonly SessionCommit[]> {
    return this.#run("commits", request);
  }

  /**
   * Returns the steps ahead that were refused, oldest first: each distinct one of a visit to a phase, at most ten of a
   * visit. `metrics` counts all.
   */
  refusals(): Promise<readonly RefusedStep[]> {
    return this.#run("refusals", {});
  }

  /** Returns every failure at a gate, oldest first. */
  errors(): Promise<readonly GateFailure[]> {
    return this.#run("errors", {});
  }

  /**
   * Starts a child of this session: a session on the workflow that the current phase is. A child that was started before is
   * returned, `replayed`. Several agents get a child each: without `item` it is the first that is not started.
   * @throws {PhasegateError} `NOT_ALLOWED` when the phase is no workflow, all children are started, or its rules give none.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   * @throws {PhasegateError} What {@link Engine.start} throws.
   */
  startChild(request: ChildRequest = {}): Promise<StartResult> {
    return this.#run("startChild", request);
  }

  /**
   * Pauses an active session.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   */
  pause(request: Attributed = {}): Promise<PauseResult> {
    return this.#run("pause", request);
  }

  /**
   * Resumes a paused session.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not paused.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   */
  resume(request: Attributed = {}): Promise<ResumeResult> {
    return this.#run("resume", request);
  }

  /**
   * Resets the failed attempts of the current phase, and takes the snapshots that are missing or have failed. `as` is
   * `host` by default, and `agent` for an actor who is no operator; an agent's retries are limited.
   * @throws {PhasegateError} `NOT_ALLOWED` when an actor who is no operator speaks for the host.
   * @throws {PhasegateError} `INVALID_TRANSITION` when no attempt has failed and no snapshot is missing, or the
   *   session is neither active nor failed.
   * @throws {PhasegateError} `ATTEMPTS_EXHAUSTED` when an agent asks after `limits.maxAttemptsTotal` failures.
   * @throws {PhasegateError} `SESSION_LIMIT` when the session has failed, and `limits.maxActiveSessions` are active.
   */
  retryPhase(
    phase: Phase,
    request: Attributed & { readonly resetEvidence?: boolean; readonly as?: "agent" | "host" } = {},
  ): Promise<RetryResult> {
    return this.#run("retryPhase", { ...request, phase });
  }

  /**
   * Returns to an earlier phase; it and all later ones must be done again.
   * @throws {PhasegateError} `PHASE_OUT_OF_RANGE` when `to` is not an earlier phase of the session.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is neither active nor failed.
   */
  rollback(to: Phase, request: Keyed & { readonly as?: "agent" | "host" } = {}): Promise<RollbackResult> {
    return this.#run("rollback", { ...request, to });
  }

  /**
   * Passes the current phase without evidence, where its gate allows it. For the host only.
   * @throws {PhasegateError} `NOT_ALLOWED` when the gate does not allow it.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is neither active nor failed.
   */
  overrideGate(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#run("overrideGate", { ...request, phase });
  }

  /**
   * Skips the current phase, where the definition allows it. For the host only.
   * @throws {PhasegateError} `NOT_ALLOWED` when the definition does not allow it.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is neither active nor failed.
   */
  skipPhase(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#run("skipPhase", { ...request, phase });
  }

  /**
   * Moves the session to the newest definition of its workflow, which is recorded. It goes on at the first phase that it has
   * not done; a phase is the same if its name, gate and tasks are, whatever its number. For the host only.
   * @throws {PhasegateError} `NOT_ALLOWED` when a phase behind the session has another gate or other tasks, or a phase is gone,
   *   and `accept` does not name it; `details.phases` has the differences. Also when nothing would be left to do.
   * @throws {PhasegateError} `INVALID_INPUT` when `accept` names no difference, or gives no reason.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is completed.
   * @throws {PhasegateError} `WORKFLOW_NOT_FOUND` when the workflow no longer exists.
   * @throws {PhasegateError} `DEFINITION_INVALID` when it is broken or a verifier is missing.
   */
  migrate(request: MigrateRequest): Promise<MigrateResult> {
    return this.#run("migrate", request);
  }

  /** Returns what {@link Session.migrate} would do; rejects as it does, but for what is still to be accepted. */
  migration(request: Pick<MigrateRequest, "accept"> = {}): Promise<MigrationView> {
    return this.#run("migration", request);
  }

  /**
   * Hands the session over to another owner, which is recorded. For the host only.
   * @throws {PhasegateError} `INVALID_INPUT` when a name is empty, too long, or has hidden characters.
   */
  assign(owner: Owner, request: AssignRequest): Promise<StateView> {
    return this.#run("assign", { ...request, owner });
  }

  /**
   * Compares the session's plan with the pinned one. Unless it is a preview, the session adopts it:
   * completed phases stay, the current phase and those ahead are replaced.
   * @throws {PhasegateError} `NOT_ALLOWED` when the session has no plan, the current phase is no longer in
   *   it, or only the host may adopt it.
   * @throws {PhasegateError} `PLAN_PARSE` when the plan is missing or can't be read.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is completed.
   */
  syncPlan(request: SyncRequest = {}): Promise<SyncResult> {
    return this.#run("syncPlan", request);
  }

  /** Deletes the session with a tombstone that records who did it and why; its id is never used again. */
  delete(request: Pick<Attributed, "by" | "note"> = {}): Promise<DeleteResult> {
    return this.#run("deleteSession", request);
  }

  /** Checks the session's log, against a receipt if one is given. */
  audit(receipt?: Receipt): Promise<SessionAudit> {
    return this.#run("audit", { receipt });
  }

  /** Returns the approval that the session waits for, with its evidence; undefined if it waits for none. */
  approval(): Promise<ApprovalRequest | undefined> {
    return this.#run("getApproval", {});
  }

  /**
   * Approves what the session waits for: its phase passes. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the approval does not count;
   *   `details.reason` says why.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   */
  approve(request: ApproveRequest): Promise<ApprovalResult> {
    return this.#run("approve", request);
  }

  /**
   * Denies what the session waits for: a failed attempt with the note as its problem. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count;
   *   `details.reason` says why.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   */
  deny(request: DenyRequest): Promise<ApprovalResult> {
    return this.#run("deny", request);
  }

  /**
   * Asks a person to waive what the agent can't meet at the current phase. It counts as no attempt, and the session
   * waits.
   * @throws {PhasegateError} `INVALID_INPUT` when `fields` names nothing that the gate requires, or a text is empty or
   *   too long.
   * @throws {PhasegateError} `NOT_ALLOWED` when the definition excludes a field from waivers, or the gate hides what it
   *   asks for.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is neither active nor failed, or waits for an
   *   approval.
   */
  requestWaiver(phase: Phase, request: Omit<RequestWaiver, "phase">): Promise<WaiverRequested> {
    return this.#run("requestWaiver", { ...request, phase });
  }

  /** Returns the request for a waiver that waits for a person; undefined if there is none. */
  waiver(): Promise<WaiverRequest | undefined> {
    return this.#run("getWaiver", {});
  }

  /**
   * Grants the waiver that the session waits for: for exactly its fields, until the session leaves the phase. For the
   * host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the waiver does not count; `details.reason` says
   *   why.
   */
  waive(request: WaiveRequest): Promise<WaiverResult> {
    return this.#run("waive", request);
  }

  /**
   * Denies the waiver that the session waits for; the note says what to do instead. It counts as no attempt. For the
   * host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count; `details.reason` says
   *   why.
   */
  denyWaiver(request: DenyWaiverRequest): Promise<WaiverResult> {
    return this.#run("denyWaiver", request);
  }

  /** Copies evidence at once: later changes by the caller must not become evidence. */
  #withCopy<T>(evidence: unknown, use: (copy: SafeEvidence) => Promise<T>): Promise<T> {
    let copy: SafeEvidence;
    try {
      copy = checkEvidenceSafety(evidence, this.#parts.evidenceLimits);
    } catch (error) {
      return this.#operations.run("completePhase", () => Promise.reject(error));
    }
    return use(copy);
  }

  #judge(
    phase: number,
    submission: SafeEvidence,
    request: Omit<CompleteRequest, "phase" | "evidence"> & Pick<CopiedRequest, "mayForget">,
  ): Promise<CompleteResult> {
    const isSuccess = (answer: CompleteResult) => answer.passed || answer.awaiting !== undefined;
    const noted = copyOf(request.noted);
    return this.#run("completePhase", { ...request, phase, submission, noted }, isSuccess);
  }

  /** Does something with this session, which must be on the workflow that the host has named. */
  #run<Name extends keyof SessionOperations>(
    name: Name,
    request: SessionOperations[Name]["request"],
    succeeded?: (answer: SessionOperations[Name]["answer"]) => boolean,
  ): Promise<SessionOperations[Name]["answer"]> {
    return this.#operations.run(name, this.#work(name, request), succeeded);
  }

  #work<Name extends keyof SessionOperations>(name: Name, request: SessionOperations[Name]["request"]) {
    const workflowType = this.#workflowType;
    return (context: LoadedContext) =>
      context.phased.operate(workflowType ? { ...context, workflowType } : context, this.id, name, request);
  }
}

/** Returns a copy of what a host notes: later changes must not be noted. What can't be noted is refused later. */
function copyOf(noted: CompleteRequest["noted"]): CompleteRequest["noted"] {
  return isOpen(noted) ? { ...noted } : noted;
}

/** Loaded by the first call, like the operations. */
const loadRefusals = () => import("./state/commands.js");
