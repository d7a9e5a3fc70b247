/** What decisions about a session are made of. */
import type { AnyPhasegateError } from "../errors.js";
import { begunOf, type TransitionContext } from "./commands.js";
import type { EventOf, SessionEvent } from "./events.js";

/** What happens, in order: at least one thing. */
export type Events = readonly [SessionEvent, ...SessionEvent[]];

/** What happens, or why nothing does. */
export type Decided = Events | AnyPhasegateError;

/** The longest note or reason, in characters: it stands in the head, which stays small. */
export const NOTE_MAX = 2000;

/** Whether the phase at that place comes out of a plan whose source is written. */
export function isTicked(position: number, { structure }: TransitionContext): boolean {
  return structure.plan?.ticked === true && structure.phases[position]?.plan !== undefined;
}

/** The event that follows when a phase is left: the next one is entered, or the workflow is done. */
export function ahead(position: number, context: TransitionContext): SessionEvent {
  const next = context.structure.phases[position + 1];
  return next === undefined ? { type: "completed" } : entered(next.number, position + 1, context);
}

export function entered(phase: number, position: number, context: TransitionContext): EventOf<"phase_entered"> {
  return { type: "phase_entered", phase, position, ...begunOf(context) };
}
