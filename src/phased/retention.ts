import { PhasegateError } from "../errors.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { shown } from "../workflow/names.js";
/** All of them. */
export const LIVING = ["active", "paused", "completed", "failed"] as const satisfies readonly SessionStatus[];
/** Where a session that is still there can stand. */
export type LivingStatus = (typeof LIVING)[number];

/**
 * How long sessions are kept after their last commit, in milliseconds, by where they stand; those of a status that isn't
 * named are kept for ever. Nothing is deleted by itself: it is what {@link Engine.cleanup} goes by when the host calls it.
 */
export type Retention = Readonly<Partial<Record<LivingStatus, number>>>;

/** Checks a retention that a host has given. Throws `INVALID_INPUT`. */
export function checkRetention(retention: Retention): void {
  for (const [status, age] of Object.entries(retention)) {
    if (!LIVING.some((known) => known === status)) throw unknownStatus(status);
    if (age !== undefined && !isAge(age)) throw badAge(`retention.${status}`, age);
  }
}

/** Whether a number is an age. */
export function isAge(age: number): boolean {
  return Number.isFinite(age) && age >= 0;
}

/** What isn't an age, under the name that it was given by. */
export function badAge(field: string, age: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is ${age}: it must be a number of milliseconds`, {
    remedy: "Give an age in milliseconds, 0 or more; leave it out for the default.",
    details: { field, expected: "milliseconds, 0 or more" },
  });
}

function unknownStatus(status: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `retention.${shown(status)} is nothing that a session can be`, {
    remedy: `Name ${LIVING.join(", ")}, as many as are to be cleaned up.`,
    details: { field: `retention.${shown(status)}`, expected: LIVING.join(", ") },
  });
}
