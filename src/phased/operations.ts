/**
 * The wrapper around every operation of an engine: a limit on how many run at once, metrics, and one class
 * of errors. A foreign error of a port becomes `INTERNAL`, so that its text never reaches an agent.
 */

import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../errors.js";
import type { EvidenceLimits } from "../gate/evidence.js";
import { Metrics } from "../runtime/metrics.js";
import type { EngineContext } from "./engine-context.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import type { Phased } from "./phased.js";

interface Loaded {
  readonly phased: Phased;
  readonly context: EngineContext;
}

/** Runs the operations of an engine. */
export class Operations {
  readonly metrics = new Metrics();
  readonly #options: ResolvedOptions;
  readonly #notifications: Notifications;
  #loaded: Loaded | undefined;
  #running = 0;

  /** The limits of evidence. */
  get evidenceLimits(): EvidenceLimits {
    return this.#options.evidenceLimits;
  }

  constructor(options: ResolvedOptions, notifications: Notifications) {
    this.#options = options;
    this.#notifications = notifications;
  }

  /** Runs an operation; `succeeded` tells if an outcome counts as a success in the metrics. */
  async run<T>(
    operation: string,
    work: (phased: Phased, context: EngineContext) => Promise<T>,
    succeeded?: (outcome: T) => boolean,
  ): Promise<T> {
    const limit = this.#options.limits.maxConcurrent;
    if (this.#running >= limit) throw await this.#toKnownError(operation, busy(this.#running, limit));
    this.#running += 1;
    const begun = performance.now();
    let success = false;
    try {
      // No await once it is loaded, so that an operation begins with the call.
      const { phased, context } = this.#loaded ?? (await this.#load());
      const outcome = await work(phased, context);
      success = succeeded?.(outcome) ?? true;
      return outcome;
    } catch (error) {
      throw await this.#toKnownError(operation, error);
    } finally {
      this.#running -= 1;
      this.metrics.record(operation, performance.now() - begun, success);
    }
  }

  /** Runs something that is not an operation and has no duration, such as a watch; handles only its errors. */
  async guard<T>(name: string, work: (phased: Phased, context: EngineContext) => Promise<T>): Promise<T> {
    try {
      const { phased, context } = this.#loaded ?? (await this.#load());
      return await work(phased, context);
    } catch (error) {
      throw await this.#toKnownError(name, error);
    }
  }

  async #load(): Promise<Loaded> {
    const { phased, createContext } = await import("./phased.js");
    // Concurrent first calls share one context.
    this.#loaded ??= { phased, context: createContext(this.#options, this.#notifications) };
    return this.#loaded;
  }

  async #toKnownError(operation: string, error: unknown): Promise<AnyPhasegateError | PhasegateError> {
    if (!isPhasegateError(error)) {
      this.#notifications.notify("internalError", { operation, error });
      return new PhasegateError("INTERNAL", `${operation} failed for a reason of the host's, not of the request`, {
        remedy: "Try once more; if it fails again, tell the person who runs this server: its log has the cause.",
        details: { ...(error instanceof Error ? { cause: error.name } : {}) },
        cause: error,
      });
    }
    const { phased } = this.#loaded ?? (await this.#load());
    phased.reportFailure(this.#notifications, operation, error);
    return error;
  }
}

function busy(running: number, limit: number): PhasegateError<"BUSY"> {
  return new PhasegateError("BUSY", `${running} operations are running, as many as this host allows`, {
    remedy: "Wait a moment, then call again.",
    details: { running, limit },
  });
}
