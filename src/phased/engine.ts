/** The engine of phased sessions: the public entry to every operation. They are loaded by the first call (phased.ts). */
import { type EngineParts, partsFor, SessionEngine, shellOf } from "../engine/engine.js";
import { type Actor, type Authorize, byOwner } from "../ports/actor.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import { Operations } from "../runtime/operations.js";
import type { PhaseNumberOf } from "../workflow/inferred-types.js";
import type { Workflow } from "../workflow/workflow-input.js";
import type { AwaitedApproval, AwaitedWaiver } from "./approval/ledger.js";
import type { CleanupRequest, CleanupResult } from "./lists.js";
import { type EngineNotifications, Notifications } from "./notifications.js";
import { checkEngineOptions, type EngineOptions, resolveOptions } from "./options.js";
import { type EvidenceByPhase, type LoadedContext, Session, type SessionParts } from "./session.js";
import type { StartRequest, StartResult } from "./start.js";
import type { SessionCommit } from "./state/machine.js";
import type { Statistics, StatisticsRequest } from "./statistics.js";
import { Submissions } from "./submissions.js";

let submissionsIn: (engine: Engine) => Submissions;

/** Returns what is being verified by an engine: for the tool, and for a server that ends. Not for hosts. */
export function submissionsOf(engine: Engine): Submissions {
  return submissionsIn(engine);
}

type PhasedParts = EngineParts<LoadedContext, EngineNotifications, SessionCommit>;

/**
 * Runs phased sessions. Shows an agent only its current phase, takes evidence at the gate, and refuses every way around it.
 * The engine has no state of its own that matters: any number of engines may use one storage, and every answer is stored.
 * An unmet gate is a result, not an error. Every method may reject with `BUSY` (more than `limits.maxConcurrent`
 * operations), `STORAGE_FAILED` or `INTERNAL`.
 */
export class Engine extends SessionEngine<EngineNotifications, SessionCommit> {
  static {
    submissionsIn = (engine) => engine.#shared.submissions;
  }

  readonly #parts: PhasedParts;
  readonly #shared: SessionParts;

  /** @internal Engines are made by {@link createEngine}, and by `as` of another one. */
  constructor(parts: PhasedParts, shared: SessionParts) {
    super(shellOf(parts));
    this.#parts = parts;
    this.#shared = shared;
  }

  /**
   * Returns this engine for one actor of a server that several share. The actor owns the sessions that it starts. Sessions
   * that `authorize` does not let it see do not exist for it: not in lists, hints, errors, notifications and metrics, nor by
   * the time that an answer takes. By default agents see their own sessions alone.
   * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
   */
  as(actor: Actor, authorize: Authorize = byOwner): Engine {
    return new Engine(partsFor(this.#parts, actor, authorize), this.#shared);
  }

  /**
   * Returns one session, typed by its workflow: `completePhase` accepts exactly that phase's evidence. Its methods
   * reject with `INVALID_INPUT` if the session is on another workflow.
   */
  session<W extends Workflow>(workflow: W, sessionId: string): Session<PhaseNumberOf<W>, EvidenceByPhase<W>>;
  /** Returns one session, of any workflow. Its methods reject with `INVALID_INPUT` if `sessionId` can't be an id. */
  session(sessionId: string): Session;
  session(workflowOrId: Workflow | string, sessionId = ""): Session {
    // What is neither a text nor a workflow is refused as an id.
    const isWorkflow = typeof workflowOrId === "object" && workflowOrId !== null && "definition" in workflowOrId;
    if (!isWorkflow) return new Session(this.#parts.operations, this.#shared, workflowOrId);
    return new Session(this.#parts.operations, this.#shared, sessionId, workflowOrId.definition.structure.type);
  }

  /** Lists all workflows; broken ones with their diagnostics, others with the verifiers that this engine lacks. */
  listWorkflows(): Promise<readonly WorkflowListing[]> {
    return this.#parts.operations.run("listWorkflows", (context) => context.phased.listWorkflows(context));
  }

  /**
   * Starts a session. If it fails, nothing is written.
   * @throws {PhasegateError} `INVALID_INPUT` when options or idempotency key are invalid.
   * @throws {PhasegateError} `PATH_REFUSED` when the target leads out of the project root.
   * @throws {PhasegateError} `WORKFLOW_NOT_FOUND` when there is no workflow of that type.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the workflow is broken or a verifier is missing.
   * @throws {PhasegateError} `PLAN_PARSE` when the plan is missing or can't be read.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `CONFLICT` when the session that the idempotency key has started was deleted.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` or `TEMPLATE` when a text can't be read.
   */
  start(request: StartRequest): Promise<StartResult> {
    return this.#parts.operations.run("start", (context) => context.phased.startSession(context, request));
  }

  /**
   * Deletes sessions without recent commits, as requested or as `retention` says.
   * @throws {PhasegateError} `INVALID_INPUT` when an age or a status is invalid.
   */
  cleanup(request: CleanupRequest = {}): Promise<CleanupResult> {
    return this.#parts.operations.run("cleanup", (context) => context.phased.cleanup(context, request));
  }

  /**
   * Returns statistics of sessions: states, phases, times, refusals. With a cursor, only what was committed since is read.
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not of this storage, these approvers or this version.
   */
  statistics(request: StatisticsRequest = {}): Promise<Statistics> {
    return this.#parts.operations.run("statistics", (context) => context.phased.statistics(context, request));
  }

  /** Lists the approvals that all sessions wait for. */
  approvals(): Promise<readonly AwaitedApproval[]> {
    return this.#parts.operations.run("approvals", (context) => context.phased.listApprovals(context));
  }

  /** Lists the requests for waivers that all sessions wait for. */
  waivers(): Promise<readonly AwaitedWaiver[]> {
    return this.#parts.operations.run("waivers", (context) => context.phased.listWaivers(context));
  }
}

/**
 * Creates an engine.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown, missing or invalid.
 */
export function createEngine(given: EngineOptions): Engine {
  checkEngineOptions(given);
  const options = resolveOptions(given);
  const { storage, clock, limits, telemetry, evidenceLimits } = options;
  const notifications = new Notifications();
  let loaded: LoadedContext | undefined;
  // Concurrent first calls share one context.
  const load = async () => {
    const { phased, createContext } = await import("./phased.js");
    loaded ??= { ...createContext(options, notifications), phased };
    return loaded;
  };
  const context = () => loaded ?? load();
  const { maxConcurrent } = limits;
  const operations = new Operations({ context, notifications, clock, maxConcurrent, engine: "phased", telemetry });
  const submissions = new Submissions(clock, (lost) => notifications.notify("submissionLost", lost));
  const parts: PhasedParts = {
    kind: "phased",
    end: () => submissions.end(),
    storage,
    notifications,
    operations,
    lookAt: (context, id) => context.phased.lookAtSession(context, id),
    read: (context, commit) => context.phased.readWatched(context, commit),
    limit: (context, caller, operation) => context.phased.limitedFor(context, caller, operation),
  };
  return new Engine(parts, { evidenceLimits, submissions });
}
