import type { ChildProcess } from "node:child_process";

/** What a process writes, up to a limit. */
export interface ProcessOutput {
  /** Resolves when both streams have ended, or after `ms` milliseconds. */
  drained(ms: number): Promise<void>;
  /** stdout and stderr in the order in which they came. */
  all(): Buffer;
  stdout(): Buffer;
  /** Lets go of the streams, whoever still holds their other ends. */
  close(): void;
}

/** Collects what a process writes; calls `onTooMuch` at the first byte beyond `maxBytes`, and keeps none of those. */
export function collectOutput(child: ChildProcess, maxBytes: number, onTooMuch: () => void): ProcessOutput {
  const chunks: { readonly chunk: Buffer; readonly isOut: boolean }[] = [];
  let bytes = 0;
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      const room = maxBytes - bytes;
      bytes += chunk.length;
      if (room > 0) chunks.push({ chunk: chunk.subarray(0, room), isOut: stream === child.stdout });
      if (bytes > maxBytes) onTooMuch();
    });
    // A pipe whose reading fails has no more to say; the exit code says how it went.
    stream.on("error", () => stream.destroy());
  }
  const closed = Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("close", resolve))));
  return {
    async drained(ms) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, ms);
      });
      await Promise.race([closed, late]);
      clearTimeout(timer);
    },
    all: () => Buffer.concat(chunks.map(({ chunk }) => chunk)),
    stdout: () => Buffer.concat(chunks.filter(({ isOut }) => isOut).map(({ chunk }) => chunk)),
    close() {
      for (const stream of streams) stream.destroy();
    },
  };
}
