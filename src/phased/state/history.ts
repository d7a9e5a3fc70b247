/** The history of a session, computed from its log: every attempt, every failure, and what completed phases hand on. */
import { revealOf } from "../../gate/check-gate.js";
import type { Problem } from "../../gate/verdict.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import type { Reveal, WorkflowStructure } from "../../workflow/structure.js";
import { positionOf } from "./commands.js";
import { pairPhases } from "./compare-phases.js";
import type { CompleteEvidence, EventOf, EvidenceRef, SessionEvent, ValueRef, Verification, Waived } from "./events.js";
import type { TaskPairs } from "./task-notes.js";

/** An event with the time and version of its commit. */
export interface RecordedEvent {
  readonly event: SessionEvent;
  readonly at: string;
  readonly version: number;
}

/** One attempt at one phase. */
export interface PhaseAttempt
  extends Readonly<
    Partial<Omit<CompleteEvidence, "phase" | "position" | "attempt" | "evidence" | "output" | "warnings">>
  > {
  /** The phase's number in the definition that the session is on now; the former one if `gone`. */
  readonly phase: number;
  /** The phase's name, if the session was moved to a definition, or a plan was synced, that does not have the phase. */
  readonly gone?: string;
  /** 1 for the first attempt since the phase was last entered; a retry continues the count. */
  readonly attempt: number;
  /** How the attempt has ended, or that it has not. */
  readonly status: "active" | "completed" | "failed" | "rolled_back" | "skipped" | "overridden";
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** ISO 8601, UTC; missing while the attempt is in progress. */
  readonly completedAt?: string;
  /** Whole seconds; missing while the attempt is in progress. */
  readonly durationSeconds?: number;
  /** Why the phase was skipped, or its gate overridden. */
  readonly reason?: string;
  /** Who decided that; `skip_when` if it was the workflow's own rule. */
  readonly by?: string;
  /** The problems, if the attempt failed. */
  readonly problems?: readonly Problem[];
  /** True for a failure that uses up no attempt, such as the first request for a waiver of a field that is `false`. */
  readonly uncounted?: true | undefined;
  /** How much of the problems the gate shows to agents; everything if missing. */
  readonly reveal?: Reveal;
  /** The numbers of the tasks that are noted as done or given up. Missing if there are none, and once the attempt has failed. */
  readonly tasks?: { readonly done: readonly number[]; readonly givenUp: readonly number[] };
  /** What people and agents have noted during the attempt, oldest first. */
  readonly notes?: readonly AttemptNote[];
  /** The evidence of the submission that ended the attempt, or that waits for an approval; only on request. */
  readonly evidence?: JsonObject;
  /** The SHA-256 of that evidence, as approvals name it; only on request. */
  readonly evidenceHash?: string;
}

/** What was noted during an attempt: by a person who decided or moved the session, or by the agent. */
export interface AttemptNote {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The event of the log that has the note, such as `approved`, `task_completed`, `paused` or `retried`. */
  readonly event:
    | "approved"
    | "denied"
    | "waiver_requested"
    | "waiver_granted"
    | "waiver_denied"
    | "task_completed"
    | "task_given_up"
    | "paused"
    | "resumed"
    | "retried"
    | "assigned"
    | "migrated"
    | "plan_synced";
  /** Who did it, if that is recorded: a person's name, `agent` or `host`. */
  readonly by?: string;
  /** The text: a comment, a reason, or what to do instead. */
  readonly note?: string;
  /** The number of the task that was done or given up. */
  readonly task?: number;
  /** The names of what is to be waived. */
  readonly fields?: readonly string[];
  /** True if it was signed with that person's key. */
  readonly authenticated?: boolean;
}

/** Returns true if an attempt was made at a phase of the definition that the session is on now. */
export function isAttemptAt({ phase, gone }: Pick<PhaseAttempt, "phase" | "gone">, number: number): boolean {
  return phase === number && gone === undefined;
}

/** An attempt with the place of its evidence in the log. */
export interface SubmittedAttempt extends PhaseAttempt {
  readonly submitted?: { readonly evidence: EvidenceRef; readonly version: number };
}

/** A failed attempt at a gate. */
export interface GateFailure {
  /** The phase's number, as in {@link PhaseAttempt}. */
  readonly phase: number;
  /** The phase's name, if the session was moved to a definition, or a plan was synced, that does not have the phase. */
  readonly gone?: string;
  /** The number of the attempt since the phase was last entered. */
  readonly attempt: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** What was wrong with the evidence. */
  readonly problems: readonly Problem[];
  /** The results of the gate's verifiers. */
  readonly verification?: readonly Verification[];
  /** How much of the problems the gate shows to agents; everything if missing. */
  readonly reveal?: Reveal;
}

type Open = { phase: number; attempt: number; startedAt: string };
/** What ends an attempt says of it. */
type Findings = Partial<Omit<SubmittedAttempt, keyof Open | "status" | "completedAt" | "durationSeconds" | "reveal">>;

/** Returns every attempt at every phase in the order in which they began; the last one may be in progress. */
export function phaseHistory(events: Iterable<RecordedEvent>): PhaseAttempt[] {
  return submittedAttempts(events).map(({ submitted: _, ...attempt }) => attempt);
}

/** Returns the same attempts, each with the place of its evidence; one that waits for an approval has its own, too. */
export function submittedAttempts(events: Iterable<RecordedEvent>): SubmittedAttempt[] {
  const attempts = new Attempts();
  let open: Open | undefined;
  let structure: WorkflowStructure | undefined;
  /** What was found and noted since the open attempt began. */
  let asked: Pick<Findings, "submitted"> = {};
  let notes: AttemptNote[] = [];
  let outcomes: Outcomes = new Map();
  const noted = () => (notes.length === 0 ? undefined : notes);
  const close = (at: string, status: PhaseAttempt["status"], findings: Findings = {}) => {
    const tasks = status === "failed" ? undefined : tasksIn(outcomes);
    if (open !== undefined) {
      const durationSeconds = secondsBetween(open.startedAt, at);
      const found = { ...findings, notes: noted(), tasks, reveal: hidden(structure, open.phase) };
      attempts.add({ ...open, status, completedAt: at, durationSeconds, ...found });
    }
    open = undefined;
    asked = {};
    notes = [];
  };
  for (const { event, at, version } of events) {
    const note = noteOf(event, at);
    if (note !== undefined) notes.push(note);
    switch (event.type) {
      case "started":
        structure = event.structure;
        break;
      case "migrated":
        if (structure !== undefined) {
          const numberOf = renumbering(structure, event);
          if (open !== undefined) {
            const { phase, isKept } = numberOf(open.phase);
            if (isKept) open = { ...open, phase };
            else close(at, "rolled_back");
          }
          attempts.renumber(numberOf);
        }
        structure = event.structure;
        asked = {};
        outcomes = keptOutcomes(outcomes, event.tasks);
        break;
      case "plan_synced":
        if (structure !== undefined) attempts.renumber(renumbering(structure, event));
        structure = event.structure;
        asked = {};
        outcomes = keptOutcomes(outcomes, event.tasks);
        break;
      case "task_completed":
      case "task_given_up":
        outcomes = new Map(outcomes).set(event.task, event.type);
        break;
      case "phase_entered":
        outcomes = new Map();
        open = { phase: event.phase, attempt: 1, startedAt: at };
        break;
      case "approval_requested":
        asked = { submitted: { evidence: event.evidence, version } };
        break;
      case "gate_failed": {
        const attempt: number = open?.attempt ?? event.attempt;
        const { type: _, phase: __, attempt: ___, evidence, ...found } = event;
        close(at, "failed", { ...found, submitted: { evidence, version } });
        open = { phase: event.phase, attempt: attempt + 1, startedAt: at };
        break;
      }
      case "failed":
        open = undefined;
        break;
      case "retried":
        asked = {};
        open = { phase: event.phase, attempt: open?.attempt ?? attempts.next(event.phase), startedAt: at };
        break;
      case "gate_passed":
        close(at, "completed", { ...foundOf(event), submitted: { evidence: event.evidence, version } });
        break;
      case "gate_overridden":
      case "phase_skipped":
        if (open !== undefined && open.phase !== event.phase) {
          // A migration has put it before the current phase, which goes on.
          const { phase, reason, by } = event;
          const ended = { completedAt: at, durationSeconds: 0, reason, by };
          attempts.add({ phase, attempt: attempts.next(phase), status: "skipped", startedAt: at, ...ended });
          break;
        }
        // A failed session has no open attempt: the host's decision counts as one.
        open ??= { phase: event.phase, attempt: attempts.next(event.phase), startedAt: at };
        close(at, event.type === "gate_overridden" ? "overridden" : "skipped", { reason: event.reason, by: event.by });
        break;
      case "rolled_back":
        attempts.rollBack(event.to);
        close(at, "rolled_back");
        break;
    }
  }
  if (open === undefined) return attempts.done;
  return [...attempts.done, { ...open, status: "active", ...asked, notes: noted(), tasks: tasksIn(outcomes) }];
}

/** Where the attempts at a phase are shown in another structure; `isKept` if the phase counts as before. */
type NumberOf = (phase: number) => { readonly phase: number; readonly isKept: boolean; readonly gone?: string };

function renumbering(before: WorkflowStructure, event: EventOf<"migrated" | "plan_synced">): NumberOf {
  const { structure: after, position, places = [] } = event;
  // All up to the current one stay in their places, unless a migration names others. Attempts may have been rolled back
  // after that.
  const isMoved = event.type === "migrated" && event.places !== undefined;
  const inPlace = isMoved ? [] : after.phases.slice(0, position + 1).map((_, place) => [place, place] as const);
  const kept = new Map([...places, ...inPlace]);
  const pairs = new Map(pairPhases(before, after).map(({ from, to }) => [from, to]));
  return (phase) => {
    const from = positionOf(before, phase);
    const number = after.phases[kept.get(from) ?? pairs.get(from) ?? -1]?.number;
    if (number !== undefined) return { phase: number, isKept: kept.has(from) };
    return { phase, isKept: false, gone: before.phases[from]?.name };
  };
}

/** What is noted of each task since the phase was entered. */
type Outcomes = ReadonlyMap<number, "task_completed" | "task_given_up">;

/** Returns what is noted of the tasks that stay, with their old and new numbers. */
function keptOutcomes(outcomes: Outcomes, pairs: TaskPairs = []): Outcomes {
  const numbers = new Map(pairs);
  return new Map(
    [...outcomes].flatMap(([task, outcome]) => {
      const now = numbers.get(task);
      return now === undefined ? [] : [[now, outcome]];
    }),
  );
}

function tasksIn(outcomes: Outcomes): PhaseAttempt["tasks"] {
  if (outcomes.size === 0) return undefined;
  const numbersOf = (type: string) => [...outcomes].flatMap(([task, outcome]) => (outcome === type ? [task] : []));
  return { done: numbersOf("task_completed"), givenUp: numbersOf("task_given_up") };
}

/** Returns what an event says that belongs to an attempt; undefined if it says nothing. */
function noteOf(event: SessionEvent, at: string): AttemptNote | undefined {
  switch (event.type) {
    case "approved":
    case "denied":
    case "waiver_denied": {
      const { by, authenticated, note } = event;
      return { at, event: event.type, by, authenticated, note };
    }
    case "waiver_granted": {
      const { by, authenticated, note, fields } = event;
      return { at, event: event.type, by, authenticated, note, fields };
    }
    case "waiver_requested":
      return { at, event: event.type, fields: event.fields, note: event.reason };
    case "task_completed":
    case "task_given_up":
      return event.note === undefined ? undefined : { at, event: event.type, task: event.task, note: event.note };
    case "assigned": {
      const { owner, by, note } = event;
      return { at, event: event.type, by, note: `to ${owner.name}${note === undefined ? "" : `: ${note}`}` };
    }
    case "migrated": {
      const { accepted = [], by } = event;
      const note = accepted.map(({ name, is, reason }) => `accepted that ${name} is ${is}: ${reason}`).join("; ");
      return note === "" ? undefined : { at, event: event.type, by, note };
    }
    case "paused":
    case "resumed":
    case "retried":
    case "plan_synced": {
      const { operator, note } = event;
      if (operator === undefined && note === undefined) return undefined;
      return { at, event: event.type, by: operator, note };
    }
  }
  return undefined;
}

/** Returns every failure at a gate, oldest first. */
export function gateFailures(events: Iterable<RecordedEvent>): GateFailure[] {
  return phaseHistory(events).flatMap(({ phase, gone, attempt, completedAt: at, problems, verification, reveal }) => {
    if (problems === undefined || at === undefined) return [];
    return [{ phase, gone, attempt, at, problems, verification, reveal }];
  });
}

/** Returns whole seconds between two ISO 8601 times; 0 if the clock was set back in between. */
export function secondsBetween(from: string, to: string): number {
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}

/**
 * Attempts that have ended. Keeps the ones that a rollback can affect separately, so that frequent
 * rollbacks stay fast.
 */
class Attempts {
  readonly done: SubmittedAttempt[] = [];
  /** The attempts that a rollback can affect, by phase in ascending order. */
  readonly #revocable: { readonly attempt: SubmittedAttempt; readonly index: number }[] = [];

  add(attempt: SubmittedAttempt): void {
    const { phase, status } = attempt;
    const index = this.done.push(attempt) - 1;
    if (status === "failed" || status === "rolled_back") return;
    // Its phase is the highest, unless a migration has put it before the current one: no sync with a plan changes the
    // numbers of phases up to the current one.
    const place = this.#revocable.findLastIndex((other) => other.attempt.phase <= phase) + 1;
    this.#revocable.splice(place, 0, { attempt, index });
  }

  /** Gives all attempts the numbers of a new definition. Those whose phase does not count any more are rolled back. */
  renumber(numberOf: NumberOf): void {
    const before = this.done.splice(0);
    this.#revocable.length = 0;
    for (const attempt of before) {
      if (attempt.gone !== undefined) {
        this.add(attempt);
        continue;
      }
      const { isKept, ...place } = numberOf(attempt.phase);
      const status = isKept || attempt.status === "failed" ? attempt.status : "rolled_back";
      this.add({ ...attempt, ...place, status });
    }
  }

  /** Returns the number of the next attempt at a phase. */
  next(phase: number): number {
    return (this.done.findLast((attempt) => isAttemptAt(attempt, phase))?.attempt ?? 0) + 1;
  }

  /** Marks completed attempts from a phase on as rolled back. */
  rollBack(to: number): void {
    const kept = this.#revocable.findLastIndex(({ attempt }) => attempt.phase < to) + 1;
    for (const { attempt, index } of this.#revocable.splice(kept)) {
      this.done[index] = { ...attempt, status: "rolled_back" };
    }
  }
}

/** Returns the gate's `reveal` from the structure of that time: a later one may hide more or less. */
function hidden(structure: WorkflowStructure | undefined, phase: number): PhaseAttempt["reveal"] {
  const gate = structure?.phases.find(({ number }) => number === phase)?.gate;
  const reveal = gate && revealOf(gate);
  return reveal === "fields" ? undefined : reveal;
}

/** Returns what a passed gate says of the attempt itself: all but its place, the evidence, and the ticks of a plan. */
function foundOf(event: EventOf<"gate_passed">) {
  const { type, phase, position, attempt, evidence, output, warnings, ticks, stood, stoodItems, ...found } = event;
  return found;
}

/** Accepted evidence, as later phases see it. */
interface Artifact {
  readonly phase: number;
  readonly at: string;
  readonly version: number;
  /** The phase's position, from 0. */
  readonly position: number;
  readonly evidence: EvidenceRef;
  /** The schema's output, where it differs from the evidence. */
  readonly output?: ValueRef;
  /** What was not required of it. */
  readonly waived?: readonly Waived[];
}

/** Returns the evidence of the completed phases, by phase number. */
export function artifacts(events: Iterable<RecordedEvent>): Map<number, Artifact> {
  const found = fold<Omit<Artifact, "phase">>(events, new Map(), ({ event, at, version }) => {
    const { position, evidence, output, waived } = event;
    return { position, at, version, evidence, output, waived };
  });
  return new Map([...found].map(([phase, artifact]) => [phase, { phase, ...artifact }]));
}

/** The names of what one phase has produced. */
export interface ArtifactName {
  readonly position: number;
  readonly names: readonly string[];
}

/** Returns only the names of the artifacts; `earlier` is the result for the events before these. */
export function artifactNames(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, ArtifactName>,
): Map<number, ArtifactName> {
  return fold(events, earlier, ({ event: { position, output, evidence } }) => {
    const handedOn = output ?? evidence;
    // A payload has them next to its digest.
    if ("payload" in handedOn) return { position, names: handedOn.names };
    return { position, names: isJsonObject(handedOn.inline) ? Object.keys(handedOn.inline) : [] };
  });
}

/** A passed gate adds a value; a rollback removes all from its position on; a migration moves those that stay. */
function fold<T extends { readonly position: number }>(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, T>,
  make: (passed: { event: EventOf<"gate_passed">; at: string; version: number }) => T,
): Map<number, T> {
  let found = new Map(earlier);
  for (const { event, at, version } of events) {
    if (event.type === "gate_passed") found.set(event.phase, make({ event, at, version }));
    else if (event.type === "rolled_back") {
      for (const [phase, { position }] of found) if (position >= event.position) found.delete(phase);
    } else if (event.type === "migrated" && event.places !== undefined) {
      const cameFrom = new Map(event.places.map(([from, to]) => [to, from]));
      const values = [...found.values()];
      const moved = event.structure.phases.flatMap(({ number }, position) => {
        const here = values.filter((value) => value.position === cameFrom.get(position));
        return here.map((value): [number, T] => [number, { ...value, position }]);
      });
      found = new Map(moved);
    }
  }
  return found;
}
