/**
 * The engine of routed workflows. The entry file of this folder; what is decided where:
 * - state/: pure: what a state allows and when failures end an instance (transition.ts), what follows from an event
 *   (apply-event.ts), the format of the log (machine.ts)
 * - options.ts: options with their defaults, and what the operations share; types.ts: requests and results
 * - advance.ts: how a report is read, and when it is a new one, a repeated one or too late
 * - decide.ts: a report must pass its step's gate; then the decider is asked once, and which of its failures are recorded
 * - asking.ts: which calls share one question to the decider, and when it is ended
 * - ask-decider.ts: which answers of a decider are accepted, and when an answer completes the instance
 * - approvals.ts: which approvals in a log count
 * - commands.ts: start, suspend, cancel, retry, delete, and a person's decision
 * - views.ts: what is shown of an instance, also behind an approval that does not count
 * - notifications.ts: what the host is told after a commit
 * - decision/: the question to a decider within its size limit (prompt.ts), and how its answer is read (request.ts)
 */

import { checkedPage, type SessionPage, withTotal } from "../engine/lists.js";
import { type WatchQuery, watchKind } from "../engine/watch.js";
import { isPhasegateError } from "../errors.js";
import { type Receipt, readWhole } from "../log/commit.js";
import type { AssignRequest, Keyed } from "../phased/commands.js";
import { type Actor, type Authorize, byOwner, type Caller, callerOf, maySee, type Owner } from "../ports/actor.js";
import type { RoutedListing } from "../ports/content-provider.js";
import {
  checkQuery,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
  type WatchOptions,
} from "../ports/storage-adapter.js";
import { limitedFor, listSeen, seenQuery } from "../runtime/access.js";
import type { Listener } from "../runtime/notifier.js";
import { type OperationMetrics, Operations } from "../runtime/operations.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { advance, resume } from "./advance.js";
import type { RoutedAudit } from "./approvals.js";
import {
  answerQuestion,
  assign,
  cancel,
  type ReleaseRequest,
  type RoutedApproval,
  type RoutedMove,
  release,
  remove,
  retry,
  startRouted,
  suspend,
} from "./commands.js";
import { type RoutedNotificationMap, RoutedNotifications } from "./notifications.js";
import {
  checkRoutedOptions,
  createRoutedContext,
  type RoutedContext,
  type RoutedEngineOptions,
  resolveRoutedOptions,
} from "./options.js";
import { type RoutedEntry, RoutedHistory, withReveal } from "./state/history.js";
import { type RoutedCommit, routedMachine } from "./state/machine.js";
import { noInstance } from "./state/transition.js";
import type {
  AdvanceRequest,
  FollowedDecision,
  ResumeRequest,
  RoutedResult,
  RoutedView,
  StartRoutedRequest,
  StepView,
} from "./types.js";
import { acceptedState, lookAtInstance, requireAccepted, requireInstance, stepView, viewInstance } from "./views.js";

let storageIn: (engine: RoutedEngine) => StorageAdapter;

/** Returns the storage of an engine: for the inspector, which watches it once for all engines on it. Not for hosts. */
export function storageOfRouted(engine: RoutedEngine): StorageAdapter {
  return storageIn(engine);
}

/**
 * Runs routed workflows: after each report a decider chooses the next step, within the transitions and gates of the
 * workflow. The engine has no state of its own that matters: any number of engines may use one storage, and a report is
 * stored before the decider is asked. Methods reject with a `PhasegateError`. Every method may reject with `BUSY` (more
 * than `limits.maxConcurrent` operations), `STORAGE_FAILED`, `TAMPERED` (a log is not what was written),
 * `FORMAT_TOO_NEW` or `INTERNAL`. Methods that take an instance's id reject with `SESSION_NOT_FOUND` if it does not
 * exist, and with `APPROVAL_REFUSED` if it passed a gate with an approval that this host does not accept.
 */
export class RoutedEngine {
  static {
    storageIn = (engine) => engine.#context.options.storage;
  }

  readonly #context: RoutedContext;
  readonly #operations: Operations<RoutedContext>;

  /** @internal Engines are made by {@link createRoutedEngine}, and by `as` of another one. */
  constructor(from: RoutedEngineOptions | RoutedEngine, caller?: Caller) {
    if (from instanceof RoutedEngine) {
      this.#context = caller === undefined ? from.#context : { ...from.#context, caller };
      this.#operations = from.#operations.within((context, operation) => limitedFor(context, caller, operation));
      return;
    }
    const context = createRoutedContext(resolveRoutedOptions(from), new RoutedNotifications());
    const { notifications, options: resolved } = context;
    this.#context = context;
    this.#operations = new Operations({
      context: () => context,
      notifications,
      clock: resolved.clock,
      maxConcurrent: resolved.limits.maxConcurrent,
      engine: "routed",
      telemetry: resolved.telemetry,
    });
  }

  /**
   * Adds a listener for a notification; returns a function that removes it.
   * @throws {PhasegateError} `INVALID_INPUT` when there is no notification of that name.
   */
  on<N extends keyof RoutedNotificationMap>(name: N, listener: Listener<RoutedNotificationMap[N]>): () => void {
    const { notifications, caller } = this.#context;
    if (caller === undefined) return notifications.on(name, listener);
    return notifications.on(name, (notification) => {
      // Those about no instance, such as of internal errors, are the host's.
      if (!("workflow" in notification)) return;
      const { sessionId, workflow: workflowType, ...rest } = notification;
      if (maySee(caller, "on", { target: "", ...rest, kind: "routed", workflowType, sessionId }))
        listener(notification);
    });
  }

  /**
   * Returns this engine for one actor of a server that several share. The actor owns the instances that it starts. Those
   * that `authorize` does not let it see do not exist for it. By default agents see their own alone.
   * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
   */
  as(actor: Actor, authorize: Authorize = byOwner): RoutedEngine {
    const { notifications } = this.#context;
    const report = (error: unknown) => notifications.notify("internalError", { operation: "authorize", error });
    return new RoutedEngine(this, callerOf(actor, authorize, report));
  }

  /** Lists all workflows; broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly RoutedListing[]> {
    return this.#operations.run("listWorkflows", ({ options }) => options.workflows.list());
  }

  /**
   * Starts an instance.
   * @throws {PhasegateError} `INVALID_INPUT` when the context is not plain JSON or too large, or the idempotency key is invalid.
   * @throws {PhasegateError} `WORKFLOW_NOT_FOUND` when there is no workflow of that name.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the workflow is broken, or a verifier is missing.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `CONFLICT` when the id was used by an instance that was deleted.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   * @throws {PhasegateError} `DECIDER_FAILED` when the decider fails or gives no usable answer: the report is kept, and `retry` continues with it.
   * @throws {PhasegateError} `CANCELLED` when `request.signal` was aborted before the decision was written.
   * @throws {PhasegateError} `DEFINITION_UNAVAILABLE` when the workflow's texts can't be read.
   * @throws {PhasegateError} `TOO_LARGE` when the question to the decider is larger than it takes.
   */
  start(request: StartRoutedRequest): Promise<RoutedResult> {
    return this.#operations.run("start", (context) => startRouted(context, request));
  }

  /**
   * Reports on the current step, and returns the next one. An unmet gate is a result, not an error.
   * @throws {PhasegateError} `INVALID_INPUT` when the report or the updates are not plain JSON or too large, or the idempotency key is invalid.
   * @throws {PhasegateError} `STEP_NOT_CURRENT` when `report.step_id` names another step than the current one.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the instance is suspended.
   * @throws {PhasegateError} `CONFLICT` when another report was decided first: this one was not taken.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   * @throws {PhasegateError} `DECIDER_FAILED` when the decider fails or gives no usable answer: the report is kept, and `retry` continues with it.
   * @throws {PhasegateError} `CANCELLED` when `request.signal` was aborted before the decision was written.
   * @throws {PhasegateError} `DEFINITION_UNAVAILABLE` when the workflow's texts can't be read.
   * @throws {PhasegateError} `TOO_LARGE` when the question to the decider is larger than it takes.
   */
  advance(sessionId: string, request: AdvanceRequest): Promise<RoutedResult> {
    return this.#operations.run("advance", (context) => advance(context, sessionId, request));
  }

  /**
   * Reconnects a client: its assumed step and the stored one are reconciled.
   * @throws {PhasegateError} `SESSION_LIMIT` when it is suspended, and `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_INPUT` when the assumed step is not a name, or the report, the updates or the idempotency key are invalid.
   * @throws {PhasegateError} `STEP_NOT_CURRENT` when `report.step_id` names another step than the current one.
   * @throws {PhasegateError} `CONFLICT` when another report was decided first: this one was not taken.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   * @throws {PhasegateError} `DECIDER_FAILED` when the decider fails or gives no usable answer: the report is kept, and `retry` continues with it.
   * @throws {PhasegateError} `CANCELLED` when `request.signal` was aborted before the decision was written.
   * @throws {PhasegateError} `DEFINITION_UNAVAILABLE` when the workflow's texts can't be read.
   * @throws {PhasegateError} `TOO_LARGE` when the question to the decider is larger than it takes.
   */
  resume(sessionId: string, request: ResumeRequest): Promise<RoutedResult> {
    return this.#operations.run("resume", (context) => resume(context, sessionId, request));
  }

  /** Returns the state of an instance. */
  status(sessionId: string): Promise<RoutedView> {
    return this.#operations.run("status", async (context) =>
      viewInstance(context, await requireInstance(context, sessionId)),
    );
  }

  /** Returns the history, oldest first: reports with their decisions, and all other events. */
  history(sessionId: string): Promise<readonly RoutedEntry[]> {
    return this.#operations.run("history", async (context) => {
      const { session } = await acceptedState(context, await requireInstance(context, sessionId));
      const history = new RoutedHistory();
      for await (const commit of context.kernel.log(session.sessionId)) {
        if (commit.version > session.version) break;
        history.add(commit);
      }
      const structure = await context.pinned.structure(session);
      return history.entries.map((entry) => withReveal(entry, structure));
    });
  }

  /**
   * Returns the instructions of the current step.
   * @throws {PhasegateError} `DEFINITION_UNAVAILABLE` when the workflow's texts can't be read.
   */
  step(sessionId: string): Promise<StepView> {
    return this.#operations.run("step", async (context) =>
      stepView(context, await requireInstance(context, sessionId)),
    );
  }

  /**
   * Suspends an instance until `resume`.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is not running.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   */
  suspend(sessionId: string, request: RoutedMove = {}): Promise<RoutedView> {
    return this.#operations.run("suspend", (context) => suspend(context, sessionId, request));
  }

  /**
   * Ends an instance permanently: `FAILED`, without a retry.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is neither running nor suspended.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   */
  cancel(sessionId: string, request: Omit<RoutedMove, "operator"> = {}): Promise<RoutedView> {
    return this.#operations.run("cancel", (context) => cancel(context, sessionId, request));
  }

  /**
   * Retries a failed instance, with the undecided report if there is one.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it has not failed, or can't be retried.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   * @throws {PhasegateError} `DECIDER_FAILED` when the decider fails or gives no usable answer: the report is kept, and `retry` continues with it.
   * @throws {PhasegateError} `CANCELLED` when `request.signal` was aborted before the decision was written.
   * @throws {PhasegateError} `DEFINITION_UNAVAILABLE` when the workflow's texts can't be read.
   * @throws {PhasegateError} `TOO_LARGE` when the question to the decider is larger than it takes.
   */
  retry(sessionId: string, request: Keyed & FollowedDecision = {}): Promise<RoutedResult> {
    return this.#operations.run("retry", (context) => retry(context, sessionId, request));
  }

  /**
   * Lets a suspended or failed instance run again, and asks no decider: the next call continues with an undecided report. A
   * failed one gets the whole number of attempts again. For the host only.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is neither, or not in the status `from`, or can't be retried.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_INPUT` when `operator` or `note` is empty or too long.
   */
  release(sessionId: string, request: ReleaseRequest): Promise<RoutedView> {
    return this.#operations.run("release", (context) => release(context, sessionId, request));
  }

  /**
   * Approves what a step's gate waits for. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the approval does not count; `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` is empty or too long.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   */
  approve(sessionId: string, request: RoutedApproval): Promise<RoutedView> {
    return this.#operations.run("approve", (context) => answerQuestion(context, sessionId, "approve", request));
  }

  /**
   * Denies what a step's gate waits for: a failed attempt. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count; `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` or `note` is empty or too long.
   * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when the key came with another command before.
   */
  deny(sessionId: string, request: RoutedApproval & { readonly note: string }): Promise<RoutedView> {
    return this.#operations.run("deny", (context) => answerQuestion(context, sessionId, "deny", request));
  }

  /**
   * Lists instances by creation time, newest first, in pages. Each is read from its log. One that can't be read, or that
   * passed a gate with an approval that this host does not accept, is listed in `broken` and reported to `security`
   * listeners.
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not one of this storage.
   */
  listInstances(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#operations.run("listInstances", async (context) => {
      checkQuery("listInstances", query);
      const { storage } = context.options;
      const own = { ...query, kind: routedMachine.kind };
      const lookAt = (id: SessionId) => lookAtInstance(context, id);
      const report = (error: unknown) => context.notifications.report("listInstances", error);
      const page = await checkedPage(await listSeen(storage, context.caller, own), query, lookAt, report);
      const counted = seenQuery(context.caller, own);
      const seen = { list: (part: SessionQuery) => listSeen(storage, context.caller, part) };
      return counted === undefined ? page : withTotal(seen, counted, page);
    });
  }

  /**
   * Hands an instance over to another owner, which is recorded. For the host only.
   * @throws {PhasegateError} `INVALID_INPUT` when a name is empty, too long, or has hidden characters.
   */
  assign(sessionId: string, owner: Owner, request: AssignRequest): Promise<RoutedView> {
    return this.#operations.run("assign", (context) => assign(context, sessionId, owner, request));
  }

  /**
   * Deletes an instance with a tombstone that records the reason; its id is never used again.
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when there is no such instance.
   */
  async delete(sessionId: string, request: Pick<RoutedMove, "reason" | "operator"> = {}): Promise<void> {
    await this.#operations.run("delete", (context) => remove(context, sessionId, request));
  }

  /** Checks an instance's log, against a receipt if one is given, and each approval in it. */
  audit(sessionId: string, receipt?: Receipt): Promise<RoutedAudit> {
    return this.#operations.run("audit", async ({ approvals, kernel, caller }) => {
      const id = parseSessionId(sessionId);
      if (caller !== undefined && (await kernel.newest(id)) === undefined) throw noInstance(id);
      const report = await approvals.audit(id, receipt);
      if (report.versions === 0 && report.intact) throw noInstance(id);
      return report;
    });
  }

  /**
   * Yields commits of routed sessions as any process appends them, from the call on, each checked. Ends without an error
   * when the signal aborts. Omits commits of an instance that passed a gate with an approval that this host does not
   * accept; these are reported to `security` listeners.
   * @throws {PhasegateError} `UNSUPPORTED` when the storage can't be watched.
   */
  watch(query: WatchQuery = {}, options: WatchOptions = {}): AsyncIterableIterator<RoutedCommit, undefined> {
    const { storage, hashKey } = this.#context.options;
    return watchKind(storage, { ...query, kind: routedMachine.kind }, options, (next) =>
      this.#operations.guard("watch", async (context) => {
        for (;;) {
          const commit = await next();
          if (commit === undefined) return undefined;
          const sees = (summary: SessionSummary) =>
            context.caller === undefined || maySee(context.caller, "watch", summary);
          // Before it is read: one that the caller can't see must not end the watch if it is damaged.
          if (!sees(commit.summary)) continue;
          const read = readWhole(routedMachine, commit, hashKey);
          if (!sees(read.summary)) continue;
          if (await isAccepted(context, read)) return read;
        }
      }),
    );
  }

  /**
   * Returns numbers of calls and durations in milliseconds of every operation that was called, by its name, such as
   * `advance`: in this process, since the engine was created. Durations include the decider's time.
   */
  metrics(): Record<string, OperationMetrics> {
    return this.#operations.metrics.report();
  }

  /** Reports a failed call outside the engine, such as of a tool, to the listeners of `refused` or `internalError`. */
  reportError(operation: string, error: unknown, sessionId?: string): void {
    this.#context.notifications.failed(operation, error, sessionId === undefined ? {} : { sessionId });
  }

  /** Closes the storage; the engine of an actor leaves it open for the others. */
  async close(): Promise<void> {
    if (this.#context.caller === undefined) await this.#context.options.storage.close?.();
  }
}

/**
 * Creates an engine for routed workflows.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown, missing or invalid.
 */
export function createRoutedEngine(options: RoutedEngineOptions): RoutedEngine {
  checkRoutedOptions(options);
  return new RoutedEngine(options);
}

/** Returns true if a watched commit is not behind an approval that this host does not accept; reports one that is. */
async function isAccepted(context: RoutedContext, commit: RoutedCommit): Promise<boolean> {
  try {
    return await requireAccepted(context, commit);
  } catch (error) {
    if (!isPhasegateError(error, "APPROVAL_REFUSED")) throw error;
    context.notifications.report("watch", error);
    return false;
  }
}
