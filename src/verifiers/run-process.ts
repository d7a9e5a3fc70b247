/**
 * Runs a process without a shell, in a process group of its own, with limits on time and output. The whole group is
 * killed at the end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { PhasegateError } from "../errors.js";
import { codeOf } from "../sandbox/refusals.js";

/** How a process ended. */
export interface ProcessResult {
  /** Missing where it was ended by a signal. */
  readonly exit?: number;
  /** The signal that ended it. */
  readonly killedBy?: NodeJS.Signals;
  /** Why it was stopped from here. */
  readonly stopped?: "timeout" | "output";
  /** stdout and stderr as they came, at most `maxOutputBytes`. */
  readonly output: Buffer;
  readonly stdout: Buffer;
}

/** A process to be run. No shell is anywhere near it. */
interface ProcessRequest {
  /** An absolute path. */
  readonly executable: string;
  readonly args: readonly string[];
  /** An absolute path. */
  readonly cwd: string;
  /** All that it gets: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of stdout and stderr together. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
}

/**
 * How long output may still come when the process and its group have ended, in milliseconds: only a process
 * that has left the group can hold the stream open.
 */
const DRAIN_MS = 500;

/**
 * Runs a process in a group of its own, with an empty stdin, and ends the whole group when the process has
 * ended, takes too long, writes too much, or `signal` is aborted. Resolves once it has ended; rejects if it
 * can't be started, and with the signal's reason. On Windows, which has no groups, only the process is ended.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const { executable, args, cwd, env, signal, timeoutMs, maxOutputBytes } = request;
  signal.throwIfAborted();
  const child = start(executable, args, { cwd, env });
  let stopped: ProcessResult["stopped"];
  const stop = (reason: NonNullable<ProcessResult["stopped"]>) => {
    stopped ??= reason;
    killGroup(child);
  };
  const output = collectOutput(child, maxOutputBytes, () => stop("output"));
  const abort = () => killGroup(child);
  const timer = setTimeout(() => stop("timeout"), timeoutMs);
  signal.addEventListener("abort", abort);
  try {
    const { code, killedBy } = await exitOf(child);
    // Whatever it has started and left behind ends with it, and lets go of the streams.
    killGroup(child);
    await output.drained(DRAIN_MS);
    signal.throwIfAborted();
    return {
      ...(code === null ? {} : { exit: code }),
      ...(killedBy === null ? {} : { killedBy }),
      ...(stopped === undefined ? {} : { stopped }),
      output: output.all(),
      stdout: output.stdout(),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    output.close();
  }
}

function start(executable: string, args: readonly string[], { cwd, env }: Pick<ProcessRequest, "cwd" | "env">) {
  try {
    // Detached is setsid: the process leads a session and a group, and has no terminal.
    return spawn(executable, args, { cwd, env, detached: true, shell: false, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    // E2BIG, and whatever else the system doesn't tell in an event.
    throw notStarted(error);
  }
}

/** Without the system's message, which holds whole paths. */
function notStarted(error: unknown): PhasegateError<"INTERNAL"> {
  const cause = codeOf(error) ?? "unknown";
  return new PhasegateError("INTERNAL", `the command can't be started (${cause})`, {
    remedy: "Ask the host to look at its list of commands.",
    details: { cause },
  });
}

/**
 * SIGKILL, which can't be ignored. A group keeps its number from being given away as long as anybody is in it;
 * ESRCH says that nobody is.
 */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (process.platform === "win32") {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // EPERM: on macOS, a group in which only zombies are left.
    const code = codeOf(error);
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/** What a process writes, up to a limit. */
interface ProcessOutput {
  /** Resolves when both streams have ended, or after `ms` milliseconds. */
  drained(ms: number): Promise<void>;
  /** stdout and stderr in the order in which they came. */
  all(): Buffer;
  stdout(): Buffer;
  /** Lets go of the streams, whoever still holds their other ends. */
  close(): void;
}

/** Collects what a process writes; calls `onTooMuch` at the first byte beyond `maxBytes`, and keeps none of those. */
function collectOutput(child: ChildProcess, maxBytes: number, onTooMuch: () => void): ProcessOutput {
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

function exitOf(child: ChildProcess): Promise<{ code: number | null; killedBy: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(notStarted(error)));
    child.once("exit", (code, killedBy) => resolve({ code, killedBy }));
  });
}
