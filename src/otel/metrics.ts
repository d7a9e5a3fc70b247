/**
 * The metrics: names, units and buckets, in one table that docs/observability.md repeats, and what limits their labels. A
 * label's values come from workflows and from calls, so each label has a limit; further values become `_OTHER`.
 */
import type { Attributes, Meter, ObservableGauge } from "@opentelemetry/api";

/** Bounds of buckets, in seconds: for work of a machine, and for waits for agents and people. */
const WORK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const WAIT = [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 259_200, 604_800];
const ATTEMPTS = [1, 2, 3, 4, 5, 8, 12];

interface Definition {
  readonly name: string;
  readonly type: "counter" | "histogram" | "gauge";
  readonly unit: string;
  readonly description: string;
  readonly buckets?: readonly number[];
  readonly attributes: readonly string[];
}

const PLACE = ["phasegate.workflow", "phasegate.phase"] as const;

function counter(name: string, unit: string, description: string, attributes: readonly string[]): Definition {
  return { type: "counter", name, unit, description, attributes };
}

function duration(
  name: string,
  buckets: readonly number[],
  description: string,
  attributes: readonly string[],
): Definition {
  return { type: "histogram", name, unit: "s", description, buckets, attributes };
}

export const METRICS = {
  calls: duration("mcp.server.operation.duration", WORK, "Duration of clients' calls of tools", [
    "mcp.method.name",
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "phasegate.action",
    "error.type",
    "phasegate.error.code",
  ]),
  operations: duration("phasegate.operation.duration", WORK, "Duration of operations of engines", [
    "phasegate.engine",
    "phasegate.operation",
    "error.type",
  ]),
  verdicts: counter("phasegate.gate.verdicts", "{verdict}", "Verdicts of gates on submitted evidence", [
    ...PLACE,
    "phasegate.verdict",
  ]),
  problems: counter("phasegate.gate.problems", "{problem}", "Fields of evidence at which gates refused it", [
    ...PLACE,
    "phasegate.field",
    "phasegate.problem",
  ]),
  attempts: {
    type: "histogram" as const,
    name: "phasegate.gate.attempts",
    unit: "{attempt}",
    description: "Attempts in a row until a gate accepted the evidence",
    buckets: ATTEMPTS,
    attributes: PLACE,
  },
  gates: duration("phasegate.gate.duration", WORK, "Time that a gate took for its verdict, with its verifiers", [
    ...PLACE,
    "error.type",
  ]),
  verifiers: duration("phasegate.verifier.duration", WORK, "Duration of verifiers", [
    "phasegate.verifier",
    "phasegate.outcome",
    "error.type",
  ]),
  deciders: duration("phasegate.decider.duration", WORK, "Time that the decider took for an answer", [
    "phasegate.workflow",
    "error.type",
  ]),
  waits: duration("phasegate.wait.duration", WAIT, "Time from a question to a person until the answer", [
    ...PLACE,
    "phasegate.question",
    "phasegate.answer",
  ]),
  phases: duration("phasegate.phase.duration", WAIT, "Time from entering a phase until it was left", [
    ...PLACE,
    "phasegate.outcome",
  ]),
  commits: counter("phasegate.commits", "{commit}", "Commits that this process has made", ["phasegate.engine"]),
  conflicts: counter("phasegate.conflicts", "{conflict}", "Appends that another writer's commit came before", [
    "phasegate.engine",
  ]),
  storage: duration("phasegate.storage.duration", WORK, "Duration of calls of the storage", [
    "phasegate.storage.operation",
    "error.type",
  ]),
  sessions: {
    type: "gauge" as const,
    name: "phasegate.sessions.active",
    unit: "{session}",
    description: "Active sessions in the storage, of all processes",
    attributes: [],
  },
} satisfies Readonly<Record<string, Definition>>;

/** All but the one that is counted when metrics are read. */
type Recorded = Exclude<keyof typeof METRICS, "sessions">;

/** The longest value of an attribute, in characters. */
const TEXT_MAX = 200;
/** The number of values of a label that are told apart; further ones become `OTHER`, as OpenTelemetry names it. */
const VALUES_MAX = 200;
const OTHER = "_OTHER";

/** Shortens a text for an attribute. */
export function cut(text: string, length = TEXT_MAX): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

export class Instruments {
  readonly #recorders = new Map<string, (value: number, labels: Attributes) => void>();
  readonly #values = new Map<string, Set<string>>();
  readonly sessions: ObservableGauge;

  constructor(meter: Meter) {
    for (const [metric, { type, name, unit, description, buckets }] of Object.entries<Definition>(METRICS)) {
      if (type === "counter") {
        const made = meter.createCounter(name, { unit, description });
        this.#recorders.set(metric, (value, labels) => made.add(value, labels));
      } else if (type === "histogram") {
        const advice = { explicitBucketBoundaries: [...(buckets ?? [])] };
        const made = meter.createHistogram(name, { unit, description, advice });
        this.#recorders.set(metric, (value, labels) => made.record(value, labels));
      }
    }
    const { name, unit, description } = METRICS.sessions;
    this.sessions = meter.createObservableGauge(name, { unit, description });
  }

  /** Adds to a metric: seconds, a number of attempts, or one more of what a counter counts. */
  record(metric: Recorded, value: number, labels: Attributes): void {
    this.#recorders.get(metric)?.(value, this.#limited(labels));
  }

  #limited(labels: Attributes): Attributes {
    const limited: Attributes = {};
    for (const [label, value] of Object.entries(labels)) {
      if (value !== undefined) limited[label] = this.#limit(label, cut(String(value)));
    }
    return limited;
  }

  #limit(label: string, value: string): string {
    const known = this.#values.get(label) ?? new Set<string>();
    this.#values.set(label, known);
    if (known.has(value)) return value;
    if (known.size >= VALUES_MAX) return OTHER;
    known.add(value);
    return value;
  }
}
