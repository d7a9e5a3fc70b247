/** Counts and times an engine's operations in bounded memory: percentiles are of the last 512 calls only. */

/** The statistics of one operation since the engine was created; times in milliseconds. */
export interface OperationMetrics {
  /** How many calls have ended. */
  readonly count: number;
  /** Calls that threw, and submissions that a gate refused. */
  readonly errors: number;
  /** The mean duration of all calls. */
  readonly mean: number;
  /** The median of the last 512 calls. */
  readonly p50: number;
  /** The 95th percentile of the last 512 calls. */
  readonly p95: number;
}

interface Series {
  count: number;
  errors: number;
  total: number;
  readonly recent: Float64Array;
}

/** How many durations are kept for each operation. */
const SAMPLES = 512;

/** Counts operations in bounded memory. */
export class Metrics {
  readonly #series = new Map<string, Series>();

  /** Adds one call. */
  record(operation: string, milliseconds: number, succeeded: boolean): void {
    let series = this.#series.get(operation);
    if (series === undefined) {
      series = { count: 0, errors: 0, total: 0, recent: new Float64Array(SAMPLES) };
      this.#series.set(operation, series);
    }
    series.recent[series.count % SAMPLES] = milliseconds;
    series.count += 1;
    series.total += milliseconds;
    if (!succeeded) series.errors += 1;
  }

  /** Returns the statistics of every operation that was called. */
  report(): Record<string, OperationMetrics> {
    return Object.fromEntries([...this.#series].map(([operation, series]) => [operation, figures(series)]));
  }
}

function figures({ count, errors, total, recent }: Series): OperationMetrics {
  const sorted = recent.slice(0, Math.min(count, SAMPLES)).sort();
  return { count, errors, mean: total / count, p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}

/** Returns the nearest-rank quantile of sorted samples. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
