/**
 * The wrapper around every operation of an engine or a workspace: a limit on how many run at once, metrics, and
 * one class of errors. A foreign error of a port becomes `INTERNAL`, so that its text never reaches an agent.
 */
import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../errors.js";
import { type FullClock, pause } from "../ports/clock.js";
import type { EngineKind, Telemetry } from "../ports/telemetry.js";

interface OperationsOptions<Context> {
  readonly context: (operation: string) => Context | Promise<Context>;
  readonly notifications: { report(operation: string, error: unknown): void };
  readonly clock: Pick<FullClock, "elapsed" | "after">;
  /** Default: no limit. */
  readonly maxConcurrent?: number;
  readonly engine: EngineKind;
  readonly telemetry?: Telemetry | undefined;
}

export class Operations<Context> {
  readonly metrics = new Metrics();
  readonly #options: OperationsOptions<Context>;
  readonly #maxConcurrent: number;
  /** The operations of all callers, which share the limit. */
  readonly #all: Operations<Context>;
  #running = 0;

  constructor(options: OperationsOptions<Context>, all?: Operations<Context>) {
    this.#options = options;
    this.#maxConcurrent = options.maxConcurrent ?? Number.POSITIVE_INFINITY;
    this.#all = all ?? this;
  }

  /**
   * Returns these operations for one caller, with metrics of their own, and with the context that `limit` returns. A session
   * that does not exist takes as long as one that the caller can't see.
   */
  within(limit: (context: Context, operation: string) => Context): Operations<Context> {
    const context = async (operation: string) => limit(await this.#options.context(operation), operation);
    return new Operations({ ...this.#options, context }, this.#all);
  }

  /** Runs an operation; `succeeded` tells if an outcome counts as a success in the metrics. */
  async run<T>(
    operation: string,
    work: (context: Context) => Promise<T>,
    succeeded?: (outcome: T) => boolean,
  ): Promise<T> {
    const all = this.#all;
    if (all.#running >= this.#maxConcurrent) {
      this.metrics.turnAway(operation);
      if (all !== this) all.metrics.turnAway(operation);
      throw this.#toKnownError(operation, busy(all.#running, this.#maxConcurrent));
    }
    all.#running += 1;
    const { clock, engine, telemetry } = this.#options;
    const begun = clock.elapsed();
    let success = false;
    let refused = false;
    let isRunning = true;
    try {
      const context = await this.#options.context(operation);
      const outcome = await (telemetry === undefined
        ? work(context)
        : telemetry.measure({ kind: "operation", name: operation, engine }, () => work(context)));
      success = succeeded?.(outcome) ?? true;
      return outcome;
    } catch (error) {
      refused = isPhasegateError(error) && isStepAhead(operation, error);
      if (all !== this && isPhasegateError(error, "SESSION_NOT_FOUND")) {
        // Guesses that wait must not keep others from calling.
        all.#running -= 1;
        isRunning = false;
        await conceal(clock, begun);
      }
      throw this.#toKnownError(operation, error);
    } finally {
      if (isRunning) all.#running -= 1;
      const took = clock.elapsed() - begun;
      this.metrics.record(operation, took, success, refused);
      if (all !== this) all.metrics.record(operation, took, success, refused);
    }
  }

  /** Handles only the errors of work that has no duration, such as a watch. */
  async guard<T>(name: string, work: (context: Context) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#options.context(name));
    } catch (error) {
      throw this.#toKnownError(name, error);
    }
  }

  /** Notifies the host of an error, and returns the error for the caller. */
  #toKnownError(operation: string, error: unknown): AnyPhasegateError | PhasegateError {
    this.#options.notifications.report(operation, error);
    if (isPhasegateError(error)) return error;
    return new PhasegateError("INTERNAL", `${operation} failed: internal error`, {
      remedy: "Call it again. If it fails again, tell the operator of this server: the cause is in its log.",
      details: { cause: error instanceof Error ? error.name : undefined },
      cause: error,
    });
  }
}

/** The shortest time until a caller learns that there is no such session, in milliseconds. */
const NOT_FOUND_MS = 50;

async function conceal(clock: Pick<FullClock, "after" | "elapsed">, begun: number): Promise<void> {
  const left = NOT_FOUND_MS - (clock.elapsed() - begun);
  if (left > 0) await pause(clock, left);
}

function busy(running: number, limit: number): PhasegateError<"BUSY"> {
  return new PhasegateError("BUSY", `${running} operations are running, which is as many as this host allows`, {
    remedy: "Wait a moment, then call again.",
    details: { running, limit },
  });
}

/**
 * The statistics of one operation since the engine or workspace was created, in this process. Counts are numbers of calls;
 * durations are milliseconds with fractions, from the call to its answer, including waits for storage and verifiers.
 */
export interface OperationMetrics {
  /** The number of calls that have ended. */
  readonly count: number;
  /** The number of calls that threw, and of submissions that a gate refused. Part of `count`. */
  readonly errors: number;
  /**
   * The number of calls that were refused as a step ahead: of a locked phase or task, or evidence for another phase. Part of
   * `errors`.
   */
  readonly refused: number;
  /** The number of calls that were turned away with `BUSY`, since too many were running. Not part of `count`. */
  readonly busy: number;
  /** The mean duration of all calls, in milliseconds; 0 if none has ended. */
  readonly mean: number;
  /** The median duration of the last 512 calls, in milliseconds. */
  readonly p50: number;
  /** The 95th percentile of the durations of the last 512 calls, in milliseconds. */
  readonly p95: number;
}

/** Returns true if an error refuses a locked phase or task, or evidence for another phase than the current one. */
export function isStepAhead(operation: string, { code }: Pick<AnyPhasegateError, "code">): boolean {
  if (code === "PHASE_ALREADY_COMPLETED") return operation === "completePhase";
  return code === "PHASE_LOCKED" || code === "TASK_LOCKED";
}

interface Series {
  count: number;
  errors: number;
  refused: number;
  busy: number;
  total: number;
  readonly recent: Float64Array;
}

/** The number of durations that are kept for each operation. */
const SAMPLES = 512;

export class Metrics {
  readonly #series = new Map<string, Series>();

  record(operation: string, milliseconds: number, succeeded: boolean, refused = false): void {
    const series = this.#series.get(operation) ?? this.#begin(operation);
    series.recent[series.count % SAMPLES] = milliseconds;
    series.count += 1;
    series.total += milliseconds;
    if (!succeeded) series.errors += 1;
    if (refused) series.refused += 1;
  }

  turnAway(operation: string): void {
    const series = this.#series.get(operation) ?? this.#begin(operation);
    series.busy += 1;
  }

  #begin(operation: string): Series {
    const series = { count: 0, errors: 0, refused: 0, busy: 0, total: 0, recent: new Float64Array(SAMPLES) };
    this.#series.set(operation, series);
    return series;
  }

  report(): Record<string, OperationMetrics> {
    return Object.fromEntries([...this.#series].map(([operation, series]) => [operation, figures(series)]));
  }
}

function figures({ count, errors, refused, busy, total, recent }: Series): OperationMetrics {
  const sorted = recent.slice(0, Math.min(count, SAMPLES)).sort();
  const mean = count === 0 ? 0 : total / count;
  return { count, errors, refused, busy, mean, p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}

/** Returns the nearest-rank quantile of sorted samples. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
