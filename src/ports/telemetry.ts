/**
 * The port by which a host watches engines and tools; `phasegate/otel` has the implementation for OpenTelemetry. An
 * implementation must not throw: its fault must not reach a call.
 */
import { having } from "../workflow/host-options.js";
import type { StepDecider } from "./step-decider.js";
import type { Commit, StorageAdapter } from "./storage-adapter.js";
import type { Verifier } from "./verifier.js";

/** The kind of an engine: of phased sessions, of routed workflows, of a workspace's recorded sessions. */
export type EngineKind = "phased" | "routed" | "recorded";

/** A call that a client makes over a protocol. */
export interface MeasuredCall {
  readonly kind: "call";
  /** The protocol's method, such as `tools/call`. */
  readonly method: string;
  readonly tool: string;
  /** The tool's action, if it has several; missing if the call names another one. */
  readonly action?: string | undefined;
  /** The session that the call names. */
  readonly sessionId?: string | undefined;
  /** Identifies the request on its connection. */
  readonly requestId?: string | undefined;
  /** Identifies the connection: MCP's own session. */
  readonly connectionId?: string | undefined;
  /** The data that the client sends besides the parameters, such as `traceparent` in MCP's `_meta`. Not checked. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** An operation of an engine. */
export interface MeasuredOperation {
  readonly kind: "operation";
  /** The name of the engine's method, such as `completePhase`. */
  readonly name: string;
  readonly engine: EngineKind;
}

/** A gate that takes evidence. */
export interface MeasuredGate {
  readonly kind: "gate";
  /** The session that submits the evidence. */
  readonly sessionId: string;
  readonly workflowType: string;
  /** The number of the phase, or the name of the step. */
  readonly phase: number | string;
  /** The number of this attempt among those in a row. */
  readonly attempt: number;
  /** The evidence. Passed on only where the host asks for that. */
  readonly evidence: unknown;
}

/** Work with a beginning and an end. */
export type Measured = MeasuredCall | MeasuredOperation | MeasuredGate;

/** The outcome of measured work that did not reject. */
export interface MeasuredOutcome {
  /** The code of the error in the answer. */
  readonly error?: string | undefined;
  /** The session that the work was about. */
  readonly sessionId?: string | undefined;
  /** Of a gate: its problems, by its fields; `_OTHER` stands for fields that it does not have. Empty if it passed. */
  readonly problems?: readonly { readonly field: string; readonly problem: string }[];
}

export interface MeasuredEvent {
  readonly type: string;
  /** The phase that it is about. */
  readonly phase?: number | undefined;
  /** The step that it is about, in a routed workflow. */
  readonly step?: string | undefined;
  /** The version of the commit with the question that it answers. */
  readonly asked?: number | undefined;
}

export interface MeasuredHead {
  /** The type of its workflow, of phased sessions. */
  readonly workflowType?: string | undefined;
  /** The name of its workflow, of other sessions. */
  readonly workflow?: string | undefined;
  readonly phase?: number | undefined;
  /** When it was entered: ISO 8601, UTC. */
  readonly phaseStartedAt?: string | undefined;
}

/** A commit that an engine of this process has made. */
export interface MeasuredCommit extends Pick<Commit, "sessionId" | "version" | "at"> {
  readonly events: readonly MeasuredEvent[];
  /** The state after it. */
  readonly head: MeasuredHead;
}

/** Watches engines and tools. */
export interface Telemetry {
  /** Runs work once, and returns its result. `outcomeOf` reads the outcome from the result. */
  measure<T>(what: Measured, work: () => Promise<T>, outcomeOf?: (result: T) => MeasuredOutcome): Promise<T>;
  /** Returns a storage that does the same, and whose calls are measured. */
  storage(storage: StorageAdapter): StorageAdapter;
  /** Returns verifiers that do the same, and are measured. */
  verifiers(verifiers: Readonly<Record<string, Verifier>>): Readonly<Record<string, Verifier>>;
  /** Returns a decider that does the same, and is measured. */
  decider(decider: StepDecider): StepDecider;
  /** Called after each commit, with the state before it. */
  committed(
    engine: EngineKind,
    commit: MeasuredCommit,
    before: MeasuredHead | undefined,
    storage: Pick<StorageAdapter, "log">,
  ): void;
  /** Called each time that another writer's commit came first. */
  conflicted(engine: EngineKind): void;
}

export const telemetryCheck = having("what createTelemetry returns", "measure", "storage");
