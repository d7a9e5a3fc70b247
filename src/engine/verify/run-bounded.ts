/** How much runs side by side, and for how long. */
export interface BoundedOptions {
  /** How many at once. */
  readonly limit: number;
  /** How long all of them may take together, in milliseconds. */
  readonly deadlineMs: number;
  /** Ends all that run. */
  readonly signal?: AbortSignal | undefined;
}

/** A timer with a longer time would go off at once. */
const TIMER_MAX = 2 ** 31 - 1;

/** What became of one job. */
export type Settled<T> =
  | { readonly status: "done"; readonly value: T }
  | { readonly status: "failed"; readonly error: unknown }
  /** Not ended, or not even begun, at the deadline, or when the caller's signal came. */
  | { readonly status: "late" | "stopped" };

/**
 * Runs jobs side by side under a limit, with one deadline for all, and gives what became of each, in their
 * order. Never rejects. A job that doesn't heed its signal is left alone, not waited for.
 */
export async function runBounded<T>(
  jobs: readonly ((signal: AbortSignal) => Promise<T>)[],
  { limit, deadlineMs, signal }: BoundedOptions,
): Promise<readonly Settled<T>[]> {
  const controller = new AbortController();
  let end: "late" | "stopped" | undefined;
  const stop = (why: "late" | "stopped") => {
    end ??= why;
    controller.abort();
  };
  const timer = setTimeout(() => stop("late"), Math.min(deadlineMs, TIMER_MAX));
  const onAbort = () => stop("stopped");
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  const aborted = new Promise<void>((resolve) => {
    if (controller.signal.aborted) resolve();
    controller.signal.addEventListener("abort", () => resolve());
  });
  const over = aborted.then((): Settled<T> => ({ status: end ?? "stopped" }));
  const settled: Settled<T>[] = [];
  const waiting = [...jobs.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, job] = next;
      settled[index] = await (end === undefined ? Promise.race([settle(job, controller.signal), over]) : over);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, limit) }, worker));
  clearTimeout(timer);
  signal?.removeEventListener("abort", onAbort);
  return settled;
}

async function settle<T>(job: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Settled<T>> {
  try {
    return { status: "done", value: await job(signal) };
  } catch (error) {
    return { status: "failed", error };
  }
}
