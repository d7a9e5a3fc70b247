/**
 * Runs a process without a shell, in a process group of its own, with limits on time and output. The whole group is
 * killed at the end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { errnoOf, PhasegateError } from "../errors.js";

export interface ProcessResult {
  /** The exit code; missing if a signal ended the process. */
  readonly exit?: number;
  readonly killedBy?: NodeJS.Signals;
  /** The limit for which it was stopped. */
  readonly stopped?: "timeout" | "output";
  /** stdout and stderr in the order in which they were written, at most `maxOutputBytes`. */
  readonly output: Buffer;
  readonly stdout: Buffer;
}

interface ProcessRequest {
  /** An absolute path. */
  readonly executable: string;
  readonly args: readonly string[];
  /** An absolute path. */
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum size of stdout and stderr together. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
  /** Its stdin. Default: empty. */
  readonly input?: string;
  /** Called with the number of its group, once it runs. Default: not called. */
  started?(group: number): void;
}

/**
 * Time for output to arrive after the process and its group have ended, in milliseconds. Only a process that has left
 * the group can keep the stream open.
 */
const DRAIN_MS = 500;

/** The processes that run. They end with this one, unless a signal without a handler ends it: then no code runs. */
const running = new Set<ChildProcess>();

function endAll(): void {
  for (const child of running) killGroup(child);
}

/**
 * Runs a process in a group of its own. The whole group is killed when the process has ended, takes too long or writes
 * too much, when `signal` is aborted, or when this process exits; on Windows, which has no groups, the process alone.
 * Rejects if the process can't be started, and with the signal's reason.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const { executable, args, cwd, env, signal, timeoutMs, maxOutputBytes } = request;
  signal.throwIfAborted();
  const child = start(executable, args, { cwd, env });
  if (running.size === 0) process.once("exit", endAll);
  running.add(child);
  if (child.pid !== undefined) request.started?.(child.pid);
  // A process that ends before it has read all of it closes the pipe; its exit code says whether that is wrong.
  child.stdin.on("error", () => child.stdin.destroy());
  child.stdin.end(request.input ?? "");
  let stopped: ProcessResult["stopped"];
  const stop = (reason: NonNullable<ProcessResult["stopped"]>) => {
    stopped ??= reason;
    killGroup(child);
  };
  const streams = [child.stdout, child.stderr];
  const chunks: { readonly chunk: Buffer; readonly isOut: boolean }[] = [];
  let bytes = 0;
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      const left = maxOutputBytes - bytes;
      bytes += chunk.length;
      if (left > 0) chunks.push({ chunk: chunk.subarray(0, left), isOut: stream === child.stdout });
      if (bytes > maxOutputBytes) stop("output");
    });
    // A pipe that can't be read has no more output; the exit code is still reported.
    stream.on("error", () => stream.destroy());
  }
  const closed = Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("close", resolve))));
  const abort = () => killGroup(child);
  const timer = globalThis.setTimeout(() => stop("timeout"), timeoutMs);
  signal.addEventListener("abort", abort);
  try {
    const { code, killedBy } = await exitOf(child);
    // Kills what the process has started and left behind, which would keep the streams open.
    killGroup(child);
    await Promise.race([closed, setTimeout(DRAIN_MS, undefined, { ref: false })]);
    signal.throwIfAborted();
    return {
      exit: code ?? undefined,
      killedBy: killedBy ?? undefined,
      stopped,
      output: Buffer.concat(chunks.map(({ chunk }) => chunk)),
      stdout: Buffer.concat(chunks.filter(({ isOut }) => isOut).map(({ chunk }) => chunk)),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    // Another process may keep the other ends open.
    for (const stream of streams) stream.destroy();
    running.delete(child);
    if (running.size === 0) process.off("exit", endAll);
  }
}

function start(executable: string, args: readonly string[], { cwd, env }: Pick<ProcessRequest, "cwd" | "env">) {
  try {
    // Detached means setsid: the process leads a session and a group, and has no terminal.
    return spawn(executable, args, { cwd, env, detached: true, shell: false, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    // E2BIG, and other errors that are not reported by an event.
    throw notStarted(error);
  }
}

/** Returns the error for a process that can't be started, without the system's message, which has absolute paths. */
function notStarted(error: unknown): PhasegateError<"INTERNAL"> {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError("INTERNAL", `the command can't be started (${cause})`, {
    remedy: "Ask the host to check its list of commands.",
    details: { cause },
  });
}

/**
 * Kills the group with SIGKILL, which can't be ignored. Its number is not reused while a process is in it; ESRCH means
 * that there is none.
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
    const code = errnoOf(error);
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; killedBy: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(notStarted(error)));
    child.once("exit", (code, killedBy) => resolve({ code, killedBy }));
  });
}
