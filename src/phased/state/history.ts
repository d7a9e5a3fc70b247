import { revealOf } from "../../gate/check-gate.js";
import type { Problem } from "../../gate/verdict.js";
import { isJsonObject } from "../../workflow/json.js";
import type { Reveal, WorkflowStructure } from "../../workflow/structure.js";
import type { EventOf, EvidenceRef, SessionEvent, ValueRef, Verification } from "./events.js";
/** An event with when and in which commit it came to be. */
export interface RecordedEvent {
  readonly event: SessionEvent;
  readonly at: string;
  readonly version: number;
}

/** One try at one phase. */
export interface PhaseAttempt {
  readonly phase: number;
  /** 1 for the first since the phase was last entered; a retry goes on counting. */
  readonly attempt: number;
  readonly status: "active" | "completed" | "failed" | "rolled_back" | "skipped" | "overridden";
  readonly startedAt: string;
  readonly completedAt?: string;
  readonly durationSeconds?: number;
  readonly problems?: readonly Problem[];
  /** What the gate's verifiers have found. */
  readonly verification?: readonly Verification[];
  /** How much of it the gate lets agents see; all of it, if not given. */
  readonly reveal?: Reveal;
}

/** A gate that said no. */
export interface GateFailure {
  readonly phase: number;
  readonly attempt: number;
  readonly at: string;
  readonly problems: readonly Problem[];
  readonly verification?: readonly Verification[];
  readonly reveal?: Reveal;
}

type Open = { phase: number; attempt: number; startedAt: string };
/** What a gate had to say at the end of an attempt. */
type Said = Pick<PhaseAttempt, "problems" | "verification">;

/** Every try at every phase, in the order in which they began; the last one may still be under way. */
export function phaseHistory(events: Iterable<RecordedEvent>): PhaseAttempt[] {
  const attempts = new Attempts();
  let open: Open | undefined;
  let structure: WorkflowStructure | undefined;
  const close = (at: string, status: PhaseAttempt["status"], said: Said = {}) => {
    if (open !== undefined) attempts.add(closed(open, at, status, { ...said, ...hidden(structure, open.phase) }));
    open = undefined;
  };
  for (const { event, at } of events) {
    switch (event.type) {
      case "started":
      case "migrated":
      case "plan_synced":
        structure = event.structure;
        break;
      case "phase_entered":
        open = { phase: event.phase, attempt: 1, startedAt: at };
        break;
      case "gate_failed": {
        const attempt: number = open?.attempt ?? event.attempt;
        close(at, "failed", { problems: event.problems, ...found(event) });
        open = { phase: event.phase, attempt: attempt + 1, startedAt: at };
        break;
      }
      case "failed":
        open = undefined;
        break;
      case "retried":
        open = { phase: event.phase, attempt: open?.attempt ?? attempts.next(event.phase), startedAt: at };
        break;
      case "gate_passed":
        close(at, "completed", found(event));
        break;
      case "gate_overridden":
      case "phase_skipped":
        // Where the session had failed, nobody was trying: the host's word is an attempt of its own.
        open ??= { phase: event.phase, attempt: attempts.next(event.phase), startedAt: at };
        close(at, event.type === "gate_overridden" ? "overridden" : "skipped");
        break;
      case "rolled_back":
        attempts.rollBack(event.to);
        close(at, "rolled_back");
        break;
    }
  }
  return open === undefined ? attempts.done : [...attempts.done, { ...open, status: "active" }];
}

/** Every failure at a gate, oldest first. */
export function gateFailures(events: Iterable<RecordedEvent>): GateFailure[] {
  return phaseHistory(events).flatMap(({ phase, attempt, completedAt: at, problems, verification, reveal }) => {
    if (problems === undefined || at === undefined) return [];
    const more = { ...(verification && { verification }), ...(reveal && { reveal }) };
    return [{ phase, attempt, at, problems, ...more }];
  });
}

function closed(
  open: Open,
  at: string,
  status: PhaseAttempt["status"],
  said: Said & Pick<PhaseAttempt, "reveal">,
): PhaseAttempt {
  return { ...open, status, completedAt: at, durationSeconds: secondsBetween(open.startedAt, at), ...said };
}

function found({ verification }: EventOf<"gate_passed"> | EventOf<"gate_failed">): Said {
  return verification === undefined ? {} : { verification };
}

/** Which gate it was is told by the structure of that time: another one may hide more, or less. */
function hidden(structure: WorkflowStructure | undefined, phase: number): Pick<PhaseAttempt, "reveal"> {
  const gate = structure?.phases.find(({ number }) => number === phase)?.gate;
  const reveal = gate === undefined ? "fields" : revealOf(gate);
  return reveal === "fields" ? {} : { reveal };
}

/**
 * Attempts that have ended. What a rollback takes back is found without a look at all others: a session may go back as often
 * as it likes.
 */
class Attempts {
  readonly done: PhaseAttempt[] = [];
  /** By phase: how often it was tried. */
  readonly #tries = new Map<number, number>();
  /** Where those are that a rollback may take back, by phase in ascending order. */
  readonly #standing: { readonly attempt: PhaseAttempt; readonly index: number }[] = [];

  add(attempt: PhaseAttempt): void {
    const { phase, status } = attempt;
    const index = this.done.push(attempt) - 1;
    this.#tries.set(phase, attempt.attempt);
    if (status === "failed" || status === "rolled_back") return;
    // Nearly always the last one: only a plan that was synced may have given a phase a lower number.
    const place = this.#standing.findLastIndex((other) => other.attempt.phase <= phase) + 1;
    this.#standing.splice(place, 0, { attempt, index });
  }

  /** The number of the next attempt at a phase. */
  next(phase: number): number {
    return (this.#tries.get(phase) ?? 0) + 1;
  }

  /** Completed phases from one on have to be done again, and say so. */
  rollBack(to: number): void {
    const kept = this.#standing.findLastIndex(({ attempt }) => attempt.phase < to) + 1;
    for (const { attempt, index } of this.#standing.splice(kept)) {
      this.done[index] = { ...attempt, status: "rolled_back" };
    }
  }
}

/** What passed gates have handed on, out of the log. */

/** Accepted evidence, as later phases see it. */
interface Artifact {
  readonly phase: number;
  readonly at: string;
  readonly version: number;
  /** Its place among the phases, from 0. */
  readonly position: number;
  readonly evidence: EvidenceRef;
  /** What a schema made of the evidence, where that is something else. */
  readonly output?: ValueRef;
}

/** What one phase has handed on, by name. */
export interface ArtifactName {
  readonly position: number;
  readonly names: readonly string[];
}

/** The evidence of the phases that count as completed, by phase number. */
export function artifacts(events: Iterable<RecordedEvent>): Map<number, Artifact> {
  return fold(events, new Map(), ({ event, at, version }) => {
    const { phase, position, evidence, output } = event;
    return { phase, position, at, version, evidence, ...(output === undefined ? {} : { output }) };
  });
}

/** The names of those artifacts alone; `earlier` is what came of the events before these. */
export function artifactNames(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, ArtifactName>,
): Map<number, ArtifactName> {
  return fold(events, earlier, ({ event }) => ({
    position: event.position,
    names: namesOf(event.output, event.evidence),
  }));
}

/** A gate that passes adds to what is there; a rollback takes all from its place on out again. */
function fold<T extends { readonly position: number }>(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, T>,
  make: (passed: { event: EventOf<"gate_passed">; at: string; version: number }) => T,
): Map<number, T> {
  const found = new Map(earlier);
  for (const { event, at, version } of events) {
    if (event.type === "gate_passed") found.set(event.phase, make({ event, at, version }));
    else if (event.type === "rolled_back") {
      for (const [phase, { position }] of found) if (position >= event.position) found.delete(phase);
    }
  }
  return found;
}

/** The keys of what was handed on; a payload's stand beside its digest. */
function namesOf(output: ValueRef | undefined, evidence: EvidenceRef): readonly string[] {
  const handedOn = output ?? evidence;
  if ("payload" in handedOn) return handedOn.names;
  return isJsonObject(handedOn.inline) ? Object.keys(handedOn.inline) : [];
}

/** Whole seconds between two ISO 8601 times; 0 where a clock was set back in between. */
export function secondsBetween(from: string, to: string): number {
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}
