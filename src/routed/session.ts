/** A handle on one instance of a routed workflow. */
import type { Receipt } from "../log/commit.js";
import type { AssignRequest, Attributed } from "../phased/commands.js";
import type { Keyed } from "../phased/state/commands.js";
import { checkOwner, type Owner } from "../ports/actor.js";
import type { Operations } from "../runtime/operations.js";
import { parseSessionId } from "../workflow/names.js";
import { advance, resume } from "./advance.js";
import type { RoutedAudit } from "./approvals.js";
import {
  answerQuestion,
  move,
  type ReleaseRequest,
  type RoutedApproval,
  release,
  remove,
  requireName,
  requireNote,
  requireSaid,
  retry,
} from "./commands.js";
import type { RoutedContext } from "./options.js";
import { type RoutedEntry, RoutedHistory, withReveal } from "./state/history.js";
import { noInstance } from "./state/transition.js";
import type { AdvanceRequest, FollowedDecision, ResumeRequest, RoutedResult, RoutedView, StepView } from "./types.js";
import { acceptedState, requireInstance, stepView, viewInstance } from "./views.js";

/**
 * One instance of a routed workflow. It has no state, so it can be created again at any time. Every method may reject with
 * `SESSION_NOT_FOUND`, `TAMPERED` (the log is not what was written), `FORMAT_TOO_NEW`, `BUSY`, `STORAGE_FAILED` or
 * `INTERNAL`, with `INVALID_INPUT` if its id can't be one, and with `APPROVAL_REFUSED` if it passed a gate with an approval
 * that this host does not accept; with a key that came with another command before, with `IDEMPOTENCY_KEY_REUSED`. Those that
 * ask the decider (`advance`, `resume`, `retry`) also with `DECIDER_FAILED` if it fails or gives no usable answer (the report
 * is kept, and `retry` continues with it), `CANCELLED` if `signal` was aborted before the decision was written,
 * `DEFINITION_UNAVAILABLE` if the workflow's texts can't be read, and `TOO_LARGE` if the question is larger than the decider takes.
 */
export class RoutedSession {
  /** The id of the instance. */
  readonly id: string;
  readonly #operations: Operations<RoutedContext>;

  /** @internal Sessions are made by {@link RoutedEngine.session}. */
  constructor(operations: Operations<RoutedContext>, id: string) {
    this.#operations = operations;
    this.id = id;
  }

  /**
   * Reports on the current step, and returns the next one. An unmet gate is a result, not an error.
   * @throws {PhasegateError} `INVALID_INPUT` when the report or the updates are not plain JSON or too large, or the idempotency key is invalid.
   * @throws {PhasegateError} `STEP_NOT_CURRENT` when `report.step_id` names another step than the current one.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the instance is suspended.
   * @throws {PhasegateError} `CONFLICT` when another report was decided first: this one was not taken.
   */
  advance(request: AdvanceRequest): Promise<RoutedResult> {
    return this.#operations.run("advance", (context) => advance(context, this.id, request));
  }

  /**
   * Reconnects a client: its assumed step and the stored one are reconciled.
   * @throws {PhasegateError} `SESSION_LIMIT` when it is suspended, and `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_INPUT` when the assumed step is not a name, or the report, the updates or the idempotency key are invalid.
   * @throws {PhasegateError} `STEP_NOT_CURRENT` when `report.step_id` names another step than the current one.
   * @throws {PhasegateError} `CONFLICT` when another report was decided first: this one was not taken.
   */
  resume(request: ResumeRequest): Promise<RoutedResult> {
    return this.#operations.run("resume", (context) => resume(context, this.id, request));
  }

  /** Returns the state of an instance. */
  state(): Promise<RoutedView> {
    return this.#operations.run("status", async (context) =>
      viewInstance(context, await requireInstance(context, this.id)),
    );
  }

  /** Returns the history, oldest first: reports with their decisions, and all other events. */
  history(): Promise<readonly RoutedEntry[]> {
    return this.#operations.run("history", async (context) => {
      const { session } = await acceptedState(context, await requireInstance(context, this.id));
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
  step(): Promise<StepView> {
    return this.#operations.run("step", async (context) => stepView(context, await requireInstance(context, this.id)));
  }

  /**
   * Suspends an instance until `resume`.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is not running.
   */
  suspend(request: Attributed = {}): Promise<RoutedView> {
    return this.#operations.run("suspend", async (context) => {
      const { by, note, idempotencyKey } = request;
      requireSaid({ by, note });
      return move(context, this.id, { type: "suspend", reason: note, operator: by }, idempotencyKey);
    });
  }

  /**
   * Ends an instance permanently: `FAILED`, without a retry.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is neither running nor suspended.
   */
  cancel(request: Omit<Attributed, "by"> = {}): Promise<RoutedView> {
    return this.#operations.run("cancel", async (context) => {
      const { note, idempotencyKey } = request;
      requireSaid({ note });
      return move(context, this.id, { type: "cancel", reason: note }, idempotencyKey);
    });
  }

  /**
   * Retries a failed instance, with the undecided report if there is one.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it has not failed, or can't be retried.
   */
  retry(request: Keyed & FollowedDecision = {}): Promise<RoutedResult> {
    return this.#operations.run("retry", (context) => retry(context, this.id, request));
  }

  /**
   * Lets a suspended or failed instance run again, and asks no decider: the next call continues with an undecided report. A
   * failed one gets the whole number of attempts again. For the host only.
   * @throws {PhasegateError} `INVALID_TRANSITION` when it is neither, or not in the status `from`, or can't be retried.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` or `note` is empty or too long.
   */
  release(request: ReleaseRequest): Promise<RoutedView> {
    return this.#operations.run("release", (context) => release(context, this.id, request));
  }

  /**
   * Approves what a step's gate waits for. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the approval does not count; `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` is empty or too long.
   */
  approve(request: RoutedApproval): Promise<RoutedView> {
    return this.#operations.run("approve", (context) => answerQuestion(context, this.id, "approve", request));
  }

  /**
   * Denies what a step's gate waits for: a failed attempt. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count; `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` or `note` is empty or too long.
   */
  deny(request: RoutedApproval & { readonly note: string }): Promise<RoutedView> {
    return this.#operations.run("deny", (context) => answerQuestion(context, this.id, "deny", request));
  }

  /**
   * Hands an instance over to another owner, which is recorded. For the host only.
   * @throws {PhasegateError} `INVALID_INPUT` when a name is empty, too long, or has hidden characters.
   */
  assign(owner: Owner, request: AssignRequest): Promise<RoutedView> {
    return this.#operations.run("assign", async (context) => {
      const { by, note, idempotencyKey } = request;
      requireName(by);
      requireNote(note);
      return move(context, this.id, { type: "assign", owner: checkOwner(owner), by, note }, idempotencyKey);
    });
  }

  /**
   * Deletes an instance with a tombstone that records who did it and why; its id is never used again.
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when there is no such instance.
   */
  async delete(request: Pick<Attributed, "by" | "note"> = {}): Promise<void> {
    await this.#operations.run("delete", (context) => remove(context, this.id, request));
  }

  /** Checks an instance's log, against a receipt if one is given, and each approval in it. */
  audit(receipt?: Receipt): Promise<RoutedAudit> {
    return this.#operations.run("audit", async ({ approvals, kernel, caller }) => {
      const id = parseSessionId(this.id);
      if (caller !== undefined && (await kernel.newest(id)) === undefined) throw noInstance(id);
      const report = await approvals.audit(id, receipt);
      if (report.versions === 0 && report.intact) throw noInstance(id);
      return report;
    });
  }
}
