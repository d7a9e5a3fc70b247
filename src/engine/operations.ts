import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import { Metrics } from "./metrics.js";
import type { Notifications } from "./notifications.js";

const SECURITY_CODES: ReadonlySet<ErrorCode> = new Set(["PATH_REFUSED", "TAMPERED", "EVIDENCE_UNSAFE"]);

/**
 * What every operation of an engine goes through: a bound on how many run at once, figures, and
 * errors of one class. What a port throws that is none of ours becomes `INTERNAL`.
 */
export class Operations {
  readonly metrics = new Metrics();
  readonly #notifications: Notifications;
  readonly #limit: number;
  #running = 0;

  constructor(notifications: Notifications, limit: number) {
    this.#notifications = notifications;
    this.#limit = limit;
  }

  /** Runs an operation; `succeeded` says whether an outcome counts as one in the figures. */
  async run<T>(operation: string, work: () => Promise<T>, succeeded?: (outcome: T) => boolean): Promise<T> {
    if (this.#running >= this.#limit) throw busy(this.#running, this.#limit);
    this.#running += 1;
    const begun = performance.now();
    let success = false;
    try {
      const outcome = await work();
      success = succeeded?.(outcome) ?? true;
      return outcome;
    } catch (error) {
      throw this.#known(operation, error);
    } finally {
      this.#running -= 1;
      this.metrics.record(operation, performance.now() - begun, success);
    }
  }

  #known(operation: string, error: unknown): AnyPhasegateError | PhasegateError {
    if (!isPhasegateError(error)) {
      this.#notifications.notify("internalError", { operation, error });
      return new PhasegateError("INTERNAL", `${operation} failed for a reason of the host's, not of the request`, {
        remedy: "Try once more; if it fails again, tell the person who runs this server: its log has the cause.",
        details: { ...(error instanceof Error ? { cause: error.name } : {}) },
        cause: error,
      });
    }
    if (error.code === "INTERNAL") this.#notifications.notify("internalError", { operation, error });
    if (SECURITY_CODES.has(error.code)) {
      this.#notifications.notify("security", { operation, code: error.code, message: error.message });
    }
    return error;
  }
}

function busy(running: number, limit: number): PhasegateError<"BUSY"> {
  return new PhasegateError("BUSY", `${running} operations are running, which is as many as this host allows`, {
    remedy: "Wait a moment and call again with the same parameters.",
    details: { running, limit },
  });
}
