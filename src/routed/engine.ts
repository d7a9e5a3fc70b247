/**
 * The engine of routed workflows. The entry file of this folder; what is decided where:
 * - state/: pure: what a state allows, what follows from a command and when failures end an instance (transition.ts), the
 *   format of the log (events.ts)
 * - options.ts: options with their defaults, and what the operations share; types.ts: requests and results
 * - advance.ts: how a report is read, and when it is a new one, a repeated one or too late
 * - decide.ts: a report must pass its step's gate; then the decider is asked once, and which of its failures are recorded
 * - asking.ts: which calls share one question to the decider, and when it is ended
 * - ask-decider.ts: which answers of a decider are accepted, and when an answer completes the instance
 * - approvals.ts: which approvals in a log count
 * - session.ts: the operations on one instance; commands.ts: start, suspend, cancel, retry, delete, and a person's decision
 * - views.ts: what is shown of an instance, also behind an approval that does not count
 * - notifications.ts: what the host is told after a commit
 * - decision/: the question to a decider within its size limit (prompt.ts), and how its answer is read (request.ts)
 */

import { type EngineParts, partsFor, SessionEngine, shellOf } from "../engine/engine.js";
import { isPhasegateError } from "../errors.js";
import { readWhole } from "../log/commit.js";
import { type Actor, type Authorize, byOwner } from "../ports/actor.js";
import type { RoutedListing } from "../ports/content-provider.js";
import type { Commit } from "../ports/storage-adapter.js";
import { limitedFor } from "../runtime/access.js";
import { Operations } from "../runtime/operations.js";
import { startRouted } from "./commands.js";
import { type RoutedNotificationMap, RoutedNotifications } from "./notifications.js";
import {
  checkRoutedOptions,
  createRoutedContext,
  type RoutedContext,
  type RoutedEngineOptions,
  resolveRoutedOptions,
} from "./options.js";
import { RoutedSession } from "./session.js";
import { type RoutedCommit, routedMachine } from "./state/machine.js";
import type { RoutedResult, StartRoutedRequest } from "./types.js";
import { lookAtInstance, requireAccepted } from "./views.js";

type RoutedParts = EngineParts<RoutedContext, RoutedNotificationMap, RoutedCommit>;

/**
 * Runs routed workflows: after each report a decider chooses the next step, within the transitions and gates of the
 * workflow. The engine has no state of its own that matters: any number of engines may use one storage, and a report is
 * stored before the decider is asked. Methods reject with a `PhasegateError`. Every method may reject with `BUSY` (more
 * than `limits.maxConcurrent` operations), `STORAGE_FAILED`, `TAMPERED` (a log is not what was written),
 * `FORMAT_TOO_NEW` or `INTERNAL`.
 */
export class RoutedEngine extends SessionEngine<RoutedNotificationMap, RoutedCommit> {
  readonly #parts: RoutedParts;

  /** @internal Engines are made by {@link createRoutedEngine}, and by `as` of another one. */
  constructor(parts: RoutedParts) {
    super(shellOf(parts));
    this.#parts = parts;
  }

  /**
   * Returns this engine for one actor of a server that several share. The actor owns the instances that it starts. Those
   * that `authorize` does not let it see do not exist for it. By default agents see their own alone.
   * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
   */
  as(actor: Actor, authorize: Authorize = byOwner): RoutedEngine {
    return new RoutedEngine(partsFor(this.#parts, actor, authorize));
  }

  /** Returns one instance. Its methods reject with `INVALID_INPUT` if `sessionId` can't be an id. */
  session(sessionId: string): RoutedSession {
    return new RoutedSession(this.#parts.operations, sessionId);
  }

  /** Lists all workflows; broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly RoutedListing[]> {
    return this.#parts.operations.run("listWorkflows", ({ options }) => options.workflows.list());
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
    return this.#parts.operations.run("start", (context) => startRouted(context, request));
  }
}

/**
 * Creates an engine for routed workflows.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown, missing or invalid.
 */
export function createRoutedEngine(options: RoutedEngineOptions): RoutedEngine {
  checkRoutedOptions(options);
  const context = createRoutedContext(resolveRoutedOptions(options), new RoutedNotifications());
  const { notifications } = context;
  const { storage, clock, limits, telemetry } = context.options;
  const { maxConcurrent } = limits;
  const shared = { notifications, clock, maxConcurrent, telemetry };
  const operations = new Operations({ context: () => context, engine: "routed", ...shared });
  return new RoutedEngine({
    kind: "routed",
    storage,
    notifications,
    operations,
    lookAt: lookAtInstance,
    read: readWatched,
    limit: limitedFor,
  });
}

/** Checks and reads a watched commit; undefined, and reported, if it is behind an approval that this host does not accept. */
async function readWatched(context: RoutedContext, commit: Commit): Promise<RoutedCommit | undefined> {
  const read = readWhole(routedMachine, commit, context.options.hashKey);
  try {
    return (await requireAccepted(context, read)) ? read : undefined;
  } catch (error) {
    if (!isPhasegateError(error, "APPROVAL_REFUSED")) throw error;
    context.notifications.report("watch", error);
    return undefined;
  }
}
