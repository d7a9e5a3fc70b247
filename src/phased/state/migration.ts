/**
 * Moves a session to another definition of its workflow. One rule decides where it stands there: at the first phase that
 * it has not done. A phase is done if the session has completed or skipped it as the same phase, or in a form whose
 * difference the host accepts by name. What comes after that place is done again, so no work is ever passed over; the
 * history keeps what there was. A session that stays in its phase keeps its attempts and its status; otherwise it enters a
 * phase, and is active, unless it was paused. In a session on a plan, the phases up to the current one must stay in place.
 */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { firstFew, shown } from "../../workflow/names.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import {
  type CommandOf,
  invalidTransition,
  landing,
  lengthRefusal,
  positionOf,
  type SkippedBy,
  type TransitionContext,
} from "./commands.js";
import { comparePhases, firstOf, type PhaseComparison } from "./compare-phases.js";
import { type Decided, goTo, SKIPPED_BY, unlessEmpty } from "./decide-gate.js";
import type { AcceptedDifference, EventOf, SessionEvent } from "./events.js";
import type { SessionHead } from "./head.js";
import { keptTasks } from "./task-notes.js";

/** Where a session comes to stand in another definition. */
interface Standing {
  /** The position at which it goes on. */
  readonly place: number;
  /** True if that is the phase that it is in. */
  readonly staysInPhase: boolean;
  /** The old and new positions of the phases that stay done, and of the current one if the session stays in it. */
  readonly places: readonly (readonly [from: number, to: number])[];
  /** The new phases before that place that count as skipped. */
  readonly skipped: readonly Omit<EventOf<"phase_skipped">, "type">[];
  /** The names of changed phases that stay done only if the host accepts that. */
  readonly changed: readonly string[];
}

/** A migration as the definitions allow it. */
export interface Move extends Omit<Standing, "changed"> {
  /** What the definition does to the phases of the session. */
  readonly phases: readonly PhaseComparison[];
  /** The names of the differences that the host has to accept, and has not accepted. */
  readonly needsAccept: readonly string[];
  /** True if all phases up to the current one stay in their places, under their numbers. */
  readonly isInPlace: boolean;
}

/** What a move depends on. */
export interface Moving {
  readonly before: WorkflowStructure;
  readonly after: WorkflowStructure;
  readonly by: string;
  /** Why the host accepts differences, by the names of phases. */
  readonly accept?: ReadonlyMap<string, string> | undefined;
  /** Returns why the phase at a position of the new structure is skipped. */
  readonly skips?: ((position: number) => SkippedBy | undefined) | undefined;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Returns where a session comes to stand; the error if it can't be moved, whatever the host accepts. */
export function moveTo(head: SessionHead, request: Moving): Move | AnyPhasegateError {
  const { before, after, accept = NOTHING, skips } = request;
  if (head.status === "completed") return invalidTransition(head, before, "migrate");
  if (after.type !== head.workflowType) return notTheSame(head, after, "is another workflow");
  if (before.plan !== undefined || after.plan !== undefined) return moveOnPlan(head, request);
  const phases = comparePhases(before, after, head.position);
  const { changed, ...standing } = stand(head.position, request, phases);
  const { place, places, staysInPhase } = standing;
  if (place === after.phases.length || (!staysInPhase && landing(place, after, skips) === after.phases.length)) {
    return notTheSame(head, after, "has nothing left to do for this session", phases);
  }
  const gone = phases.flatMap(({ is, name }) => (is === "gone" ? [name] : []));
  const needsAccept = [...new Set([...changed, ...gone])].filter((name) => !accept.has(name));
  const isInPlace =
    staysInPhase &&
    places.every(([from, to]) => from === to && before.phases[from]?.number === after.phases[to]?.number) &&
    places.length === head.position + 1 - firstOf(before);
  return { ...standing, phases, needsAccept, isInPlace };
}

/** Goes through the new phases up to the first one that the session has not done. */
function stand(
  position: number,
  { before, after, accept = NOTHING, by, skips }: Moving,
  phases: readonly PhaseComparison[],
): Standing {
  const compared = new Map(phases.map((one) => [one.will, one]));
  const places: (readonly [number, number])[] = [];
  const skipped: Standing["skipped"][number][] = [];
  const changed: string[] = [];
  const at = (place: number, staysInPhase: boolean) => ({ place, staysInPhase, places, skipped, changed });
  for (const [to, { number: phase, name }] of after.phases.entries()) {
    if (to < firstOf(after)) continue;
    const { is, was } = compared.get(phase) ?? {};
    if (is === undefined) return at(to, false);
    if (was === undefined) {
      const reason = accept.get(name);
      const skip = reason === undefined ? skips?.(to) : { reason };
      if (skip === undefined) return at(to, false);
      skipped.push({ phase, position: to, by: reason === undefined ? SKIPPED_BY : by, ...skip });
      continue;
    }
    const from = positionOf(before, was);
    if (from === position && is === "changed") return at(to, false);
    places.push([from, to]);
    if (from === position) return at(to, true);
    if (is === "changed") changed.push(name);
  }
  return at(after.phases.length, false);
}

/** A session on a plan stays in place: the static phases must be the same, and its plan has matched the others. */
function moveOnPlan(head: SessionHead, { before, after }: Moving): Move | AnyPhasegateError {
  const [was, will] = [withoutPlanned(before), withoutPlanned(after)];
  const phases = comparePhases(was, will, head.position);
  const differing = phases.filter(({ is }) => is !== "same");
  if (differing.length > 0) {
    return notTheSame(head, after, `is not the same up to phase ${head.phase}: ${differencesIn(differing)}`, phases);
  }
  const refusal = numbersRefusal(head, before, after, "migrate");
  if (refusal !== undefined) return refusal;
  const places = before.phases.slice(0, head.position + 1).map((_, place) => [place, place] as const);
  return { place: head.position, staysInPhase: true, places, skipped: [], phases, needsAccept: [], isInPlace: true };
}

function withoutPlanned(structure: WorkflowStructure): WorkflowStructure {
  return { ...structure, phases: structure.phases.filter(({ plan }) => plan === undefined) };
}

/** Returns the refusal of a structure whose phases up to the current one have other numbers. */
export function numbersRefusal(
  head: SessionHead,
  before: WorkflowStructure,
  after: WorkflowStructure,
  operation: "migrate" | "syncPlan",
): AnyPhasegateError | undefined {
  const numbersIn = ({ phases }: WorkflowStructure) => phases.slice(0, head.position + 1).map(({ number }) => number);
  const done = numbersIn(before).join(", ");
  if (after.type === head.workflowType && done === numbersIn(after).join(", ")) return undefined;
  return notTheSame(head, after, `does not have the phases ${done} at its beginning`, undefined, operation);
}

/** Decides a migration: the session is pinned to the new structure, and enters the phase that is to be done now. */
export function migrate(head: SessionHead, command: CommandOf<"migrate">, context: TransitionContext): Decided {
  const { structure, by, accept = NOTHING } = command;
  const { snapshots, kept, skips } = context;
  const move = moveTo(head, { before: context.structure, after: structure, by, accept, skips });
  if (move instanceof Error) return move;
  const refusal = acceptRefusal(accept, move.phases) ?? lengthRefusal({ by });
  if (refusal !== undefined) return refusal;
  const { needsAccept, phases, place, staysInPhase, isInPlace } = move;
  if (needsAccept.length > 0) {
    const wanted = phases.filter(({ is, name }) => (is === "changed" || is === "gone") && needsAccept.includes(name));
    return notAccepted(head, structure, differencesIn(wanted), phases, needsAccept);
  }
  const migrated: EventOf<"migrated"> = {
    type: "migrated",
    structure,
    position: place,
    by,
    snapshots: staysInPhase ? snapshots : kept,
    places: isInPlace ? undefined : move.places.map(([from, to]): [number, number] => [from, to]),
    accepted: unlessEmpty(acceptedIn(accept, phases)),
    ...(staysInPhase ? keptTasks(head, context.structure, command, place) : {}),
  };
  const skipped = move.skipped.map((skip): SessionEvent => ({ type: "phase_skipped", ...skip }));
  if (staysInPhase) return [migrated, ...skipped];
  const entered = goTo(place, { ...context, structure });
  const pause: SessionEvent[] = head.status === "paused" ? [{ type: "paused", note: head.note }] : [];
  return [migrated, ...skipped, ...entered, ...pause];
}

function acceptedIn(accept: ReadonlyMap<string, string>, phases: readonly PhaseComparison[]): AcceptedDifference[] {
  return phases.flatMap(({ name, is, what }): AcceptedDifference[] => {
    const reason = accept.get(name);
    if (reason === undefined || is === "same" || is === "moved") return [];
    return [{ name, is, what: what && [...what], reason }];
  });
}

/** Returns the error for an accepted name without a reason, or that no difference has. */
export function acceptRefusal(
  accept: ReadonlyMap<string, string>,
  phases: readonly PhaseComparison[],
): AnyPhasegateError | undefined {
  const differing = new Set(phases.filter(({ is }) => is !== "same" && is !== "moved").map(({ name }) => name));
  for (const [name, reason] of accept) {
    if (!differing.has(name)) {
      const expected = differing.size === 0 ? "nothing: no phase differs" : firstFew([...differing], NAMES_SHOWN);
      return new PhasegateError("INVALID_INPUT", `accept: ${shown(name)} is not among the differences`, {
        remedy: `Accept ${expected}.`,
        details: { field: "accept", expected },
      });
    }
    if (reason.trim() === "") {
      return new PhasegateError("INVALID_INPUT", `accept: ${shown(name)} has no reason`, {
        remedy: "Say why the difference is accepted: the log keeps it.",
        details: { field: "accept", expected: "a reason for each name" },
      });
    }
    const tooLong = lengthRefusal({ reason });
    if (tooLong !== undefined) return tooLong;
  }
  return undefined;
}

/** Limits the names in an error. */
const NAMES_SHOWN = 20;

/** Returns differences in words. */
function differencesIn(phases: readonly PhaseComparison[]): string {
  const words = phases.map((one) => `${one.name} ${differenceOf(one)}`);
  return [...words.slice(0, NAMES_SHOWN), ...(words.length > NAMES_SHOWN ? ["…"] : [])].join("; ");
}

/** Returns what a definition does to a phase, in words. */
export function differenceOf({ is, what = [], was, will }: PhaseComparison): string {
  switch (is) {
    case "same":
      return "is the same";
    case "moved":
      return `is phase ${will}, not ${was}`;
    case "changed":
      return `has ${what.map((part) => (part === "gate" ? "another gate" : "other tasks")).join(" and ")}`;
    case "new":
      return "is new";
    case "gone":
      return "is gone";
  }
}

function notTheSame(
  head: SessionHead,
  { type, revision }: WorkflowStructure,
  message: string,
  phases?: readonly PhaseComparison[],
  operation = "migrate",
): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `revision ${revision} of ${type} ${message}`, {
    remedy: "Finish or delete this session, and start a new one on the new definition.",
    details: { phase: head.phase, operation, ...(phases && { phases }) },
  });
}

function notAccepted(
  { phase }: SessionHead,
  { type, revision }: WorkflowStructure,
  differences: string,
  phases: readonly PhaseComparison[],
  names: readonly string[],
): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `revision ${revision} of ${type} differs: ${differences}`, {
    remedy: `Accept each by its name, with a reason (\`phasegate migrate --accept "NAME=reason"\`): ${names.join(", ")}. Or finish the session as it is.`,
    details: { phase, operation: "migrate", phases },
  });
}
