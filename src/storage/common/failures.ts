/** The errors that adapters share, the check of their options that are numbers, and the pause of those that poll. */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";

/** A failure of a storage, in words: the message is `The SUBJECT failed to OPERATION: CAUSE`. */
export interface StorageFailure {
  /** The storage. Default: `session storage`. */
  readonly subject?: string;
  /** The operation, such as `append`. */
  readonly operation: string;
  /** The reason, without passwords and addresses. */
  readonly cause: string;
  /** What to do about it, as a sentence. */
  readonly remedy: string;
  /** The error of the driver. */
  readonly error?: unknown;
}

/** Builds `STORAGE_FAILED`: nothing was acknowledged. */
export function storageFailure(failure: StorageFailure): PhasegateError<"STORAGE_FAILED"> {
  const { subject = "session storage", operation, cause, remedy, error } = failure;
  const details = { operation, cause };
  return new PhasegateError("STORAGE_FAILED", `The ${subject} failed to ${operation}: ${cause}`, {
    remedy,
    details,
    cause: error,
  });
}

/** Builds `STORAGE_FAILED` for a failure after which what was to be written may exist, complete, or not. */
export function unknownOutcome(failure: Omit<StorageFailure, "remedy">): PhasegateError<"STORAGE_FAILED"> {
  const { subject = "session storage", operation, cause, error } = failure;
  const message = `The ${subject} failed to ${operation}: ${cause}; it may have been written`;
  return new PhasegateError("STORAGE_FAILED", message, {
    remedy: "Look at the session's state before you repeat the call, or repeat it with its idempotency key.",
    details: { operation, cause, outcome: "unknown" },
    cause: error,
  });
}

/** Builds `TAMPERED`: a commit or payload is not what was written. */
export function tampered(sessionId: string, version: number, reason: string, remedy: string): PhasegateError {
  return new PhasegateError("TAMPERED", `Version ${version} of session ${sessionId} is damaged: ${reason}`, {
    remedy,
    details: { sessionId, version, reason },
  });
}

/** Treats what is damaged as missing: reading its session reports the damage. Rethrows any other failure. */
export function orDamaged(error: unknown): undefined {
  if (!isPhasegateError(error, "TAMPERED")) throw error;
}

/** Returns what was read, unless it is damaged. */
export function ifSound<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    orDamaged(error);
    return [];
  }
}

/** Builds `FORMAT_TOO_NEW`. */
export function tooNew(what: string, found: number, supported: number, otherwise: string): PhasegateError {
  return new PhasegateError("FORMAT_TOO_NEW", `${what} ${found}, and ${supported} is supported`, {
    remedy: `Update phasegate, or use another ${otherwise}.`,
    details: { found, supported },
  });
}

interface NumberOption {
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the options that are numbers, or their defaults. Throws `INVALID_INPUT` if one is not valid. */
export function numberOptions<Field extends string>(
  given: { readonly [F in NoInfer<Field>]?: number | undefined },
  options: Readonly<Record<Field, NumberOption>>,
): Readonly<Record<Field, number>> {
  const fields = Object.keys(options) as Field[];
  const values = fields.map((field) => [field, numberOption(field, given[field], options[field])] as const);
  return Object.fromEntries(values) as Record<Field, number>;
}

function numberOption(field: string, given: unknown, { value, min, max }: NumberOption): number {
  if (given === undefined) return value;
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= min && given <= max) return given;
  throw new PhasegateError("INVALID_INPUT", `${field} is not valid: ${shown(given)}`, {
    remedy: `Give a whole number from ${min} to ${max}, or leave it out for ${value}.`,
    details: { field, expected: `a whole number from ${min} to ${max}` },
  });
}

/** A pause that can be ended from outside, also before it has begun: who wakes it is never missed. */
export class Pause {
  #isWoken = false;
  #end: (() => void) | undefined;

  /** Ends the pause, or the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#end?.();
  }

  /** Waits until it is woken, or for so many milliseconds. */
  async wait(milliseconds?: number): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#end = undefined;
    this.#isWoken = false;
  }
}
