import { isPhasegateError, PhasegateError } from "../errors.js";
import { type Receipt, readWhole } from "../log/commit.js";
import { reportFailure } from "../phased/announce.js";
import { checkedPage, type SessionPage } from "../phased/lists.js";
import { type WatchQuery, watchKind } from "../phased/watch.js";
import type { RoutedListing } from "../ports/content-provider.js";
import type { SessionQuery } from "../ports/storage-adapter.js";
import { Metrics, type OperationMetrics } from "../runtime/metrics.js";
import type { Listener } from "../runtime/notifier.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { advance, resume } from "./advance.js";
import type { RoutedAudit } from "./approval-guard.js";
import { answerQuestion, type RoutedApproval } from "./approvals.js";
import { believed, lookAtInstance, requireBelieved, requireInstance } from "./believed.js";
import { cancel, type RoutedMove, remove, retry, suspend } from "./commands.js";
import { type RoutedNotificationMap, type RoutedNotificationName, RoutedNotifications } from "./notifications.js";
import { createRoutedContext, type RoutedContext, type RoutedEngineOptions, resolveRoutedOptions } from "./options.js";
import type { RoutedCommit } from "./session.js";
import { startRouted } from "./start.js";
import { type RoutedEntry, RoutedHistory, withReveal } from "./state/history.js";
import { routedMachine } from "./state/machine.js";
import type {
  AdvanceRequest,
  ResumeRequest,
  RoutedKeyed,
  RoutedResult,
  RoutedView,
  StartRoutedRequest,
  StepView,
} from "./types.js";
import { stepView, viewInstance } from "./views.js";
/**
 * Runs routed workflows: after each report a decider picks the next step, inside the ways and gates that the workflow
 * has. Holds no state of its own that matters: any number of engines may work on one storage, and a report that was
 * taken is stored before anybody is asked about it. Methods reject with {@link PhasegateError}.
 */
export class RoutedEngine {
  readonly #context: RoutedContext;
  readonly #metrics = new Metrics();
  #running = 0;

  constructor(options: RoutedEngineOptions) {
    this.#context = createRoutedContext(resolveRoutedOptions(options), new RoutedNotifications());
  }

  /** Listens to notifications; the function that comes back stops it. */
  on<N extends RoutedNotificationName>(name: N, listener: Listener<RoutedNotificationMap[N]>): () => void {
    return this.#context.notifications.on(name, listener);
  }

  /** All workflows, broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly RoutedListing[]> {
    return this.#run("listWorkflows", ({ options }) => options.workflows.list());
  }

  /** Starts an instance. */
  start(request: StartRoutedRequest): Promise<RoutedResult> {
    return this.#run("start", (context) => startRouted(context, request));
  }

  /** Reports on the current step, and gives the next one. */
  advance(instanceId: string, request: AdvanceRequest): Promise<RoutedResult> {
    return this.#run("advance", (context) => advance(context, instanceId, request));
  }

  /** The word of a client that comes back: its step and the stored one are brought together. */
  resume(instanceId: string, request: ResumeRequest): Promise<RoutedResult> {
    return this.#run("resume", (context) => resume(context, instanceId, request));
  }

  /** Where an instance stands. */
  status(instanceId: string): Promise<RoutedView> {
    return this.#run("status", async (context) => viewInstance(context, await requireInstance(context, instanceId)));
  }

  /** What has happened, oldest first: reports with what was decided on them, and all else. */
  history(instanceId: string): Promise<readonly RoutedEntry[]> {
    return this.#run("history", async (context) => {
      const { session } = await believed(context, await requireInstance(context, instanceId));
      const history = new RoutedHistory();
      for await (const commit of context.kernel.log(session.sessionId)) {
        if (commit.version > session.version) break;
        history.add(commit);
      }
      const structure = await context.pinned.structure(session);
      return history.entries.map((entry) => withReveal(entry, structure));
    });
  }

  /** What the client is to do where an instance stands. Throws `DEFINITION_UNAVAILABLE`. */
  step(instanceId: string): Promise<StepView> {
    return this.#run("step", async (context) => stepView(context, await requireInstance(context, instanceId)));
  }

  /** Sets an instance aside; `resume` takes it up. */
  suspend(instanceId: string, request: RoutedMove = {}): Promise<RoutedView> {
    return this.#run("suspend", (context) => suspend(context, instanceId, request));
  }

  /** Ends an instance for good: `FAILED`, and not to be retried. */
  cancel(instanceId: string, request: RoutedMove = {}): Promise<RoutedView> {
    return this.#run("cancel", (context) => cancel(context, instanceId, request));
  }

  /** Takes a failed instance up again, with the report that was not decided where there is one. */
  retry(instanceId: string, request: RoutedKeyed = {}): Promise<RoutedResult> {
    return this.#run("retry", (context) => retry(context, instanceId, request));
  }

  /** A person's yes to what a step's gate waits for. For the host alone. */
  approve(instanceId: string, request: RoutedApproval): Promise<RoutedView> {
    return this.#run("approve", (context) => answerQuestion(context, instanceId, "approve", request));
  }

  /** A person's no: a failed attempt. For the host alone. */
  deny(instanceId: string, request: RoutedApproval & { readonly note: string }): Promise<RoutedView> {
    return this.#run("deny", (context) => answerQuestion(context, instanceId, "deny", request));
  }

  /**
   * Instances by creation time, newest first, in pages. Each is read, and shown as its log has it. One that can't be read,
   * or that passed a gate on an approval that this host does not believe, is named in `broken` and told to `security`
   * listeners; the others are listed.
   */
  listInstances(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#run("listInstances", async (context) => {
      const page = await context.options.storage.list({ ...query, kind: routedMachine.kind });
      const lookAt = (id: SessionId) => lookAtInstance(context, id);
      return checkedPage(page, query, lookAt, (error) => reportFailure(context.notifications, "listInstances", error));
    });
  }

  /** Deletes an instance, with a tombstone that says why; its id is never used again. */
  async delete(instanceId: string, request: { readonly reason?: string } = {}): Promise<void> {
    await this.#run("delete", (context) => remove(context, instanceId, request.reason));
  }

  /** Checks an instance's log, against a receipt kept elsewhere if there is one, and each approval in it. */
  audit(instanceId: string, receipt?: Receipt): Promise<RoutedAudit> {
    return this.#run("audit", ({ approvals }) => approvals.audit(parseSessionId(instanceId), receipt));
  }

  /**
   * Commits of routed sessions as any process appends them, each checked and read. Begins with the call; ends without an
   * error when the signal aborts. Throws `UNSUPPORTED` where the storage can't be watched. Commits of an instance that passed
   * a gate on an approval that this host does not believe are left out, and told to `security` listeners.
   */
  watch(
    query: WatchQuery = {},
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<RoutedCommit, undefined> {
    const { storage, hashKey } = this.#context.options;
    return watchKind(storage, { ...query, kind: routedMachine.kind }, signal, async (next) => {
      try {
        for (;;) {
          const commit = await next();
          if (commit === undefined) return undefined;
          const read = readWhole(routedMachine, commit, hashKey);
          if (await this.#isBelieved(read)) return read;
        }
      } catch (error) {
        throw this.#known("watch", error);
      }
    });
  }

  async #isBelieved(commit: RoutedCommit): Promise<boolean> {
    try {
      return await requireBelieved(this.#context, commit);
    } catch (error) {
      if (!isPhasegateError(error, "APPROVAL_REFUSED")) throw error;
      reportFailure(this.#context.notifications, "watch", error);
      return false;
    }
  }

  /** Counts and durations of every operation since the engine was made; a decider's time is in them. */
  metrics(): Record<string, OperationMetrics> {
    return this.#metrics.report();
  }

  /** Tells the host of a failure that happened around the engine, in a face of it. */
  reportError(operation: string, error: unknown): void {
    this.#context.notifications.notify("internalError", { operation, error });
  }

  /** Lets go of the storage. */
  async close(): Promise<void> {
    await this.#context.options.storage.close?.();
  }

  /** A bound on how many run at once, figures, and errors of one class. */
  async #run<T>(operation: string, work: (context: RoutedContext) => Promise<T>): Promise<T> {
    const limit = this.#context.options.limits.maxConcurrent;
    if (this.#running >= limit) throw this.#known(operation, busy(this.#running, limit));
    this.#running += 1;
    const begun = performance.now();
    let success = false;
    try {
      const outcome = await work(this.#context);
      success = true;
      return outcome;
    } catch (error) {
      throw this.#known(operation, error);
    } finally {
      this.#running -= 1;
      this.#metrics.record(operation, performance.now() - begun, success);
    }
  }

  #known(operation: string, error: unknown) {
    const { notifications } = this.#context;
    if (!isPhasegateError(error)) {
      notifications.notify("internalError", { operation, error });
      return new PhasegateError("INTERNAL", `${operation} failed for a reason of the host's, not of the request`, {
        remedy: "Try once more; if it fails again, tell the person who runs this server: its log has the cause.",
        details: { ...(error instanceof Error ? { cause: error.name } : {}) },
        cause: error,
      });
    }
    reportFailure(notifications, operation, error);
    return error;
  }
}

/** Makes an engine for routed workflows. */
export function createRoutedEngine(options: RoutedEngineOptions): RoutedEngine {
  return new RoutedEngine(options);
}

function busy(running: number, limit: number): PhasegateError<"BUSY"> {
  return new PhasegateError("BUSY", `${running} operations are running, which is as many as this host allows`, {
    remedy: "Wait a moment, then call again.",
    details: { running, limit },
  });
}
