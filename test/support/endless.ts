/** A check, or a question to a decider, that never ends by itself, and counts how often it was stopped. `onBegin` is called when it has begun. */
export function endless(onBegin = () => {}) {
  const seen = { begun: 0, stopped: 0 };
  const run = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      seen.begun += 1;
      signal.addEventListener("abort", () => {
        seen.stopped += 1;
        reject(new Error("stopped"));
      });
      onBegin();
    });
  const verify = (_: unknown, { signal }: { readonly signal: AbortSignal }) => run(signal);
  return { seen, run, verify };
}
