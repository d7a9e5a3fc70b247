/**
 * The history of a routed session, computed from its log. A decision belongs to the entry of its report and
 * makes no entry of its own.
 */
import { revealOf } from "../../gate/check-gate.js";
import type { Problem } from "../../gate/verdict.js";
import type { Verification } from "../../phased/state/events.js";
import type { JsonObject } from "../../workflow/json.js";
import type { Reveal } from "../../workflow/structure.js";
import type { DecisionUsage, RoutedStatus, StepReport } from "../decision/request.js";
import { type RoutedEvent, type RoutedEventOf, type RoutedStructure, stepOf } from "./events.js";

/** A decision with its cost. */
export interface RoutedDecision {
  /** The instance's status after the decision. */
  readonly status: RoutedStatus;
  /** The keys of the context that the decider has set. */
  readonly contextUpdates: JsonObject;
  /** The decider's reasons, if it gave any. */
  readonly reasoning?: string;
  /** The cost of the decision, if the decider tells it. */
  readonly usage?: DecisionUsage;
  /** The time that the decider took. */
  readonly milliseconds: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** What was interpreted differently from the answer, and why. */
  readonly notes?: readonly string[];
}

/** An entry of an instance's history. */
export interface RoutedEntry {
  /** The version of the commit that it began with. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** The step that was reported on; empty before the first one. */
  readonly stepName: string;
  /** The step that a client thought it was on when it came back. */
  readonly assumedStep?: string;
  /** The client's report; missing for other events. */
  readonly report?: StepReport;
  /** The report's status, `RESUMING`, or the event: `SUSPENDED`, `RESUMED`, `RETRIED`, `CANCELLED`, … */
  readonly outcomeStatus: string;
  /** The decided step, once there is one. */
  readonly determinedNextStep?: string;
  /** The decision after the report; missing until it is made. */
  readonly decision?: RoutedDecision;
  /** The problems that the step's gate found. */
  readonly problems?: readonly Problem[];
  /** The results of the gate's verifiers. */
  readonly verification?: readonly Verification[];
  /** The part of both that an agent may see; everything if missing. */
  readonly reveal?: Reveal;
  /** Why it failed, or a person's note. */
  readonly reason?: string;
  /** Who did it on behalf of the host; missing if a client did it. */
  readonly by?: string;
}

/** The part of a commit that a history needs. */
export interface EntryCommit {
  readonly version: number;
  readonly at: string;
  readonly events: readonly RoutedEvent[];
  /** The session's head after it. */
  readonly head: { readonly step?: string | undefined };
}

/** The status of a start in a history: only if the decider chooses the first step. */
const STARTED = "STARTED";

/** A history that grows commit by commit. */
export class RoutedHistory {
  readonly entries: RoutedEntry[];
  /** The index of the last question to a decider or a person: suspensions and retries may come after it. */
  #asked: number;

  /** Continues these entries, and owns them from then on. */
  constructor(entries: RoutedEntry[] = []) {
    this.entries = entries;
    this.#asked = entries.findLastIndex(isQuestion);
  }

  add(commit: EntryCommit): void {
    for (const event of commit.events) this.#addEvent(event, commit);
  }

  /** Returns so many of the last entries, and those from the last question on: its answer will belong to it. */
  last(count: number): readonly RoutedEntry[] {
    const from = Math.max(this.entries.length - count, 0);
    return this.entries.slice(this.#asked === -1 ? from : Math.min(from, this.#asked));
  }

  #push(entry: RoutedEntry): void {
    this.entries.push(entry);
    if (isQuestion(entry)) this.#asked = this.entries.length - 1;
  }

  #amend(parts: Partial<RoutedEntry>): void {
    const place = this.#asked === -1 ? this.entries.length - 1 : this.#asked;
    const entry = this.entries[place];
    if (entry !== undefined) this.entries[place] = { ...entry, ...parts };
  }

  #addEvent(event: RoutedEvent, { version, at, head }: EntryCommit): void {
    const add = (entry: Omit<RoutedEntry, "version" | "timestamp">) => this.#push({ version, timestamp: at, ...entry });
    // Moves without a decision keep the step.
    const moved = (outcomeStatus: string, reason?: string, by?: string) =>
      add({ stepName: head.step ?? "", outcomeStatus, reason, by });
    switch (event.type) {
      case "started":
        return event.firstStep === undefined ? add({ stepName: "", outcomeStatus: STARTED }) : undefined;
      case "reported":
        return add({ ...reported(event), verification: event.verification });
      case "gate_refused":
        return add({ ...reported(event), problems: event.problems, verification: event.verification });
      case "continued":
      case "approval_requested":
        return undefined;
      case "approved":
        return this.#amend({ reason: `approved by ${event.by}${event.note === undefined ? "" : `: ${event.note}`}` });
      case "denied":
        return this.#amend({ reason: `denied by ${event.by}: ${event.note}` });
      case "decided":
        return this.#amend(decided(event, at));
      case "failed":
        return this.#amend({ reason: event.reason });
      case "suspended":
        return moved("SUSPENDED", event.reason, event.operator);
      case "retried":
        return moved("RETRIED", event.note, event.operator);
      case "released":
        return moved("RESUMED", event.note, event.operator);
      case "assigned":
        return moved("ASSIGNED", event.note, event.by);
      case "cancelled":
        return moved("CANCELLED", event.reason);
      case "deleted":
        return moved("DELETED", event.reason, event.operator);
      default:
        return event satisfies never;
    }
  }
}

/** Returns an entry with how much of it an agent may see, by the gate that judged it. */
export function withReveal(entry: RoutedEntry, structure: RoutedStructure): RoutedEntry {
  const gate = stepOf(structure, entry.stepName)?.gate;
  const reveal = gate === undefined ? "fields" : revealOf(gate);
  return reveal === "fields" ? entry : { ...entry, reveal };
}

/** Returns true if a decider or a person is asked about the entry. */
function isQuestion({ report, outcomeStatus }: RoutedEntry): boolean {
  return report !== undefined || outcomeStatus === STARTED;
}

function reported(event: RoutedEventOf<"reported" | "gate_refused">) {
  const { operation, step, assumedStep, report } = event;
  const { status } = report;
  return {
    stepName: step,
    assumedStep,
    report: { ...report, status: String(status) },
    outcomeStatus: operation === "resume" ? "RESUMING" : String(status),
  };
}

function decided(event: RoutedEventOf<"decided">, at: string): Partial<RoutedEntry> {
  const { next, status, contextUpdates, reasoning, usage, milliseconds, notes } = event;
  const decision = { status, contextUpdates, milliseconds, at, reasoning, usage, notes };
  return { determinedNextStep: next, decision };
}
