/**
 * Watches engines and tools with OpenTelemetry: spans and metrics. The entry file of this folder; what is decided where:
 * - telemetry.ts: what a call, an operation, a gate and a commit become; when evidence is in a span
 * - spans.ts: which span is whose parent, which spans carry a session's id; that no fault of OpenTelemetry reaches a call
 * - ports.ts: which calls of storages, verifiers and deciders are measured
 * - metrics.ts: names, units and buckets of metrics; how many values a label has
 * - prometheus.ts: metrics as text for Prometheus
 */
import { type Attributes, type MeterProvider, metrics, SpanKind, type TracerProvider, trace } from "@opentelemetry/api";
import type { StepDecider } from "../ports/step-decider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type {
  EngineKind,
  Measured,
  MeasuredCall,
  MeasuredCommit,
  MeasuredGate,
  MeasuredOutcome,
  Telemetry,
} from "../ports/telemetry.js";
import type { Verifier } from "../ports/verifier.js";
import { cut, Instruments } from "./metrics.js";
import { type Measuring, measuredDecider, measuredStorage, measuredVerifier } from "./ports.js";
import { type End, type Ended, remoteSpan, reportFailure, Spans, safely, type Work } from "./spans.js";

/** The options of {@link createTelemetry}. */
export interface TelemetryOptions {
  /** Where spans go. Default: the global provider, which the host registers. */
  readonly tracerProvider?: TracerProvider;
  /** Where metrics go. Default: the global provider, which the host registers before it calls this. */
  readonly meterProvider?: MeterProvider;
  /** Adds the evidence to the spans of gates: its JSON, up to 4,096 characters. Default: false. */
  readonly evidence?: boolean;
}

const SCOPE = "phasegate";
/** In characters. */
const EVIDENCE_MAX = 4096;
/** Active sessions are counted up to this number. */
const ACTIVE_MAX = 10_000;

/**
 * Creates what watches engines and tools with OpenTelemetry, for their option `telemetry`. One serves all engines of a
 * process. Without an SDK it does nothing. Its failures go to OpenTelemetry's `diag`, and never to a call.
 */
export function createTelemetry({
  tracerProvider = trace.getTracerProvider(),
  meterProvider = metrics.getMeterProvider(),
  evidence = false,
}: TelemetryOptions = {}): Telemetry {
  const spans = new Spans(tracerProvider.getTracer(SCOPE));
  return new OpenTelemetry({ spans, instruments: new Instruments(meterProvider.getMeter(SCOPE)) }, evidence);
}

class OpenTelemetry implements Telemetry {
  readonly #measuring: Measuring;
  readonly #evidence: boolean;
  /** The storages whose sessions are counted, each with its measured form. */
  readonly #storages = new Map<StorageAdapter, StorageAdapter>();

  constructor(measuring: Measuring, evidence: boolean) {
    this.#measuring = measuring;
    this.#evidence = evidence;
    measuring.instruments.sessions.addCallback(async (result) => {
      const counts = await Promise.all([...this.#storages.keys()].map((storage) => storage.countActive(ACTIVE_MAX)));
      if (counts.length > 0) result.observe(counts.reduce((sum, count) => sum + count, 0));
    });
  }

  measure<T>(what: Measured, work: () => Promise<T>, outcomeOf?: (result: T) => MeasuredOutcome): Promise<T> {
    const span = safely(() => this.#spanOf(what));
    if (span === undefined) return work();
    return this.#measuring.spans.run(span, work, (end) => {
      const outcome = end.result === undefined ? { error: end.error } : (outcomeOf?.(end.result.value) ?? {});
      return this.#ended(what, outcome, end);
    });
  }

  storage(storage: StorageAdapter): StorageAdapter {
    const known = this.#storages.get(storage);
    if (known !== undefined || [...this.#storages.values()].includes(storage)) return known ?? storage;
    const measured = measuredStorage(storage, this.#measuring, () => this.#storages.delete(storage));
    this.#storages.set(storage, measured);
    return measured;
  }

  verifiers(verifiers: Readonly<Record<string, Verifier>>): Readonly<Record<string, Verifier>> {
    const named = Object.entries(verifiers);
    return Object.fromEntries(named.map(([name, one]) => [name, measuredVerifier(one, name, this.#measuring)]));
  }

  decider(decider: StepDecider): StepDecider {
    return measuredDecider(decider, this.#measuring);
  }

  committed(...given: Parameters<Telemetry["committed"]>): void {
    safely(() => this.#countCommit(...given));
  }

  conflicted(engine: EngineKind): void {
    safely(() => this.#measuring.instruments.record("conflicts", 1, { "phasegate.engine": engine }));
  }

  #spanOf(what: Measured): Work {
    switch (what.kind) {
      case "call":
        return callSpan(what);
      case "operation": {
        const attributes = { "phasegate.engine": what.engine, "phasegate.operation": what.name };
        return { name: `phasegate ${what.name}`, kind: SpanKind.INTERNAL, attributes };
      }
      case "gate": {
        const { sessionId, attempt } = what;
        const json = this.#evidence ? JSON.stringify(what.evidence) : undefined;
        const shown = json && cut(json, EVIDENCE_MAX);
        const place = spanAttributes(placeOf(what));
        const attributes = { ...place, "phasegate.attempt": attempt, "phasegate.evidence": shown };
        return { name: "gate", kind: SpanKind.INTERNAL, attributes, sessionId };
      }
    }
  }

  #ended(what: Measured, { error, sessionId, problems }: MeasuredOutcome, end: Ended<unknown>): End {
    const { instruments } = this.#measuring;
    const { seconds } = end;
    switch (what.kind) {
      case "call": {
        // An answer with an error is MCP's `isError`; a rejection is a fault of the server.
        const type = error !== undefined && end.result !== undefined ? "tool_error" : error;
        const code = { "phasegate.error.code": error };
        instruments.record("calls", seconds, { ...callLabels(what), "error.type": type, ...code });
        return { error: type, attributes: code, sessionId };
      }
      case "operation": {
        const labels = { "phasegate.engine": what.engine, "phasegate.operation": what.name, "error.type": error };
        instruments.record("operations", seconds, labels);
        return { error, sessionId };
      }
      case "gate": {
        instruments.record("gates", seconds, { ...placeOf(what), "error.type": error });
        return { error, attributes: problems === undefined ? undefined : this.#verdict(what, problems) };
      }
    }
  }

  /** Counts a verdict, and returns the attributes of its span. */
  #verdict(gate: MeasuredGate, problems: NonNullable<MeasuredOutcome["problems"]>): Attributes {
    const { instruments } = this.#measuring;
    const place = placeOf(gate);
    const verdict = { "phasegate.verdict": problems.length === 0 ? "passed" : "failed" };
    instruments.record("verdicts", 1, { ...place, ...verdict });
    if (problems.length === 0) instruments.record("attempts", gate.attempt, place);
    const fields = new Map(problems.map((one) => [`${fieldOf(one.field)} ${one.problem}`, one]));
    for (const { field, problem } of fields.values()) {
      const labels = { ...place, "phasegate.field": fieldOf(field), "phasegate.problem": problem };
      instruments.record("problems", 1, labels);
    }
    return { ...verdict, "phasegate.problems": problems.length };
  }

  #countCommit(
    engine: EngineKind,
    { sessionId, version, at, events, head }: MeasuredCommit,
    before: MeasuredCommit["head"] | undefined,
    storage: Pick<StorageAdapter, "log">,
  ): void {
    const { instruments, spans } = this.#measuring;
    instruments.record("commits", 1, { "phasegate.engine": engine });
    spans.about(sessionId, version === 1);
    const workflow = { "phasegate.workflow": head.workflowType ?? head.workflow };
    const left = events.find(({ type, phase }) => hasLeft(type, phase, before?.phase));
    if (left !== undefined && before?.phaseStartedAt !== undefined) {
      const place = { ...workflow, "phasegate.phase": before.phase, "phasegate.outcome": LEAVING[left.type] };
      instruments.record("phases", secondsBetween(before.phaseStartedAt, at), place);
    }
    for (const { type, phase, step, asked } of events) {
      const answer = ANSWERS[type];
      if (answer === undefined || asked === undefined) continue;
      const labels = { ...workflow, "phasegate.phase": phase ?? step, ...answer };
      this.#recordWait(storage, { sessionId, asked, at }, labels).catch(reportFailure);
    }
  }

  /** Records how long a person took. The question may be from another process, before this one: the log has its time. */
  async #recordWait(
    storage: Pick<StorageAdapter, "log">,
    { sessionId, asked, at }: Pick<MeasuredCommit, "sessionId" | "at"> & { readonly asked: number },
    labels: Attributes,
  ): Promise<void> {
    for await (const question of storage.log(sessionId, { after: asked - 1, limit: 1 })) {
      this.#measuring.instruments.record("waits", secondsBetween(question.at, at), labels);
    }
  }
}

function callSpan(call: MeasuredCall): Work {
  const { method, tool, sessionId, requestId, connectionId, meta } = call;
  return {
    name: `${method} ${cut(tool)}`,
    kind: SpanKind.SERVER,
    attributes: {
      ...spanAttributes(callLabels(call)),
      "jsonrpc.request.id": requestId && cut(requestId),
      "mcp.session.id": connectionId && cut(connectionId),
    },
    sessionId,
    remote: remoteSpan(meta),
  };
}

function callLabels({ method, tool, action }: MeasuredCall): Attributes {
  return {
    "mcp.method.name": method,
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "phasegate.action": action,
  };
}

function placeOf({ workflowType, phase }: Pick<MeasuredGate, "workflowType" | "phase">): Attributes {
  return { "phasegate.workflow": workflowType, "phasegate.phase": String(phase) };
}

function spanAttributes(labels: Attributes): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, value && cut(String(value))]));
}

/** Returns the field of the gate: the part after the first dot may be a key of the agent's own. */
function fieldOf(path: string): string {
  return path.split(".", 1)[0] ?? "";
}

/** The outcome of a phase by the event that ends the visit to it. */
const LEAVING: Readonly<Record<string, string>> = {
  gate_passed: "passed",
  gate_overridden: "overridden",
  phase_skipped: "skipped",
  rolled_back: "rolled_back",
};

function hasLeft(type: string, phase: number | undefined, current: number | undefined): boolean {
  // A rule may skip phases ahead in the same commit.
  return Object.hasOwn(LEAVING, type) && (type === "rolled_back" || phase === current);
}

const ANSWERS: Readonly<Record<string, Attributes>> = {
  approved: { "phasegate.question": "approval", "phasegate.answer": "granted" },
  denied: { "phasegate.question": "approval", "phasegate.answer": "denied" },
  waiver_granted: { "phasegate.question": "waiver", "phasegate.answer": "granted" },
  waiver_denied: { "phasegate.question": "waiver", "phasegate.answer": "denied" },
};

function secondsBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from)) / 1000;
}
