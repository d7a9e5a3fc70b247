import { RequestFailure } from "./request-failure.js";

/**
 * Runs a request with a signal of its own, and ends it after `timeoutMs`, or when the caller's signal is aborted: also
 * where the client doesn't listen to its signal. Rejects with a `RequestFailure` then.
 */
export async function bounded<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<T> {
  requireWanted(signal);
  const own = new AbortController();
  let release = () => {};
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: "timeout" | "aborted") => {
      // First the reason, then the signal: what the client makes of the signal comes too late to be the answer.
      reject(new RequestFailure(reason));
      own.abort();
    };
    const abort = () => end("aborted");
    const timer = setTimeout(() => end("timeout"), timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    release = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
  });
  try {
    return await Promise.race([work(own.signal), ended]);
  } finally {
    release();
  }
}

/** Waits, or rejects with a `RequestFailure` when the signal is aborted. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  requireWanted(signal);
  if (milliseconds <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new RequestFailure("aborted"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", abort, { once: true });
  });
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new RequestFailure("aborted");
}
