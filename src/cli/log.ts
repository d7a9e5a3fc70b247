/**
 * The log of a server: one JSON object per line on stderr and, on request, in files that rotate. Notifications of engines
 * and workspaces are logged at the level that their tables say, without the contents of evidence, reports and files.
 */
import { resolve } from "node:path";
import { type Logger, multistream, pino } from "pino";
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import { PHASED_LEVELS } from "../phased/notifications.js";
import type { Telemetry } from "../ports/telemetry.js";
import type { RoutedEngine } from "../routed/engine.js";
import { ROUTED_LEVELS } from "../routed/notifications.js";
import type { Levels } from "../runtime/notifier.js";
import { WORKSPACE_LEVELS } from "../workspace/notifications.js";
import type { Workspace } from "../workspace/workspace.js";
import type { LogLevel } from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { RotatingFile } from "./rotating-file.js";
import type { Terminal } from "./terminal.js";

export interface Logs {
  readonly log: Logger;
  /** The requests to models and their answers; missing if no files are written. */
  readonly ai?: Logger;
  close(): void;
}

export interface LogFiles {
  readonly folder: string;
  readonly main: string;
  readonly ai: string;
}

/** Errors are logged with their stacks at `debug` and `trace` only. */
export function createLogger(level: LogLevel, { stderr }: Terminal): Logger {
  return pino(settings(level), stderr);
}

export function openLogs(level: LogLevel, terminal: Terminal, files: LogFiles | undefined): Logs {
  const stderr = createLogger(level, terminal);
  if (files === undefined) return { log: stderr, close: () => {} };
  const main = openFile(files.folder, files.main, stderr);
  const ai = openFile(files.folder, files.ai, stderr);
  const streams = [terminal.stderr, main].map((stream) => ({ stream, level: level === "silent" ? "fatal" : level }));
  return {
    log: pino(settings(level), multistream(streams)),
    ai: pino(settings("info"), ai),
    close: () => {
      main.close();
      ai.close();
    },
  };
}

function openFile(folder: string, name: string, stderr: Logger): RotatingFile {
  try {
    return new RotatingFile(resolve(folder, name), stderr);
  } catch (cause) {
    const hint = "Check --log-dir, and that this process may write to that folder.";
    throw new CommandFailure(`the log file ${name} can't be written in ${folder}`, EXIT.environment, hint, { cause });
  }
}

function settings(level: LogLevel) {
  const whole = level === "debug" || level === "trace";
  return {
    name: "phasegate",
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: whole ? pino.stdSerializers.err : briefError },
  };
}

function briefError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error ? error.code : undefined;
  const remedy = "remedy" in error ? error.remedy : undefined;
  return {
    type: error.name,
    message: error.message,
    code,
    remedy,
    url: isPhasegateError(error) ? error.url : undefined,
  };
}

interface Source<Name extends string> {
  on(name: Name, listener: (payload: object) => void): unknown;
}

export function logPhased(engine: Engine, log: Logger): void {
  logNotifications(engine, PHASED_LEVELS, log);
}

export function logRouted(engine: RoutedEngine, log: Logger): void {
  logNotifications(engine, ROUTED_LEVELS, log);
}

export function logWorkspace(workspace: Pick<Workspace, "on">, log: Logger): void {
  logNotifications(workspace, WORKSPACE_LEVELS, log);
}

function logNotifications<Name extends string>(source: Source<Name>, levels: Levels<Name>, log: Logger): void {
  for (const name of namesOf(levels)) source.on(name, (payload) => log[levels[name]](loggable(name, payload), name));
}

function namesOf<Name extends string>(levels: Levels<Name>): Name[] {
  return Object.keys(levels).filter((name): name is Name => Object.hasOwn(levels, name));
}

/** Returns what is logged: texts of problems and refusals may quote evidence, so only fields, kinds and codes stay. */
function loggable(name: string, payload: object): object {
  if (name === "refused" && "message" in payload) {
    const { message: _, ...about } = payload;
    return about;
  }
  if ("error" in payload) {
    const { error: err, ...about } = payload;
    return { ...about, err };
  }
  if (!("problems" in payload) || !Array.isArray(payload.problems)) return payload;
  return { ...payload, problems: payload.problems.map(({ field, problem }) => ({ field, problem })) };
}

/** Logs each call of a tool in one line, without what it gives and its answer. `next` measures the calls as well. */
export function logCalls(
  log: Logger,
  { actor, next }: { readonly actor?: string; readonly next?: Pick<Telemetry, "measure"> } = {},
): Pick<Telemetry, "measure"> {
  return {
    async measure(what, work, outcomeOf) {
      const run = () => (next === undefined ? work() : next.measure(what, work, outcomeOf));
      if (what.kind !== "call") return run();
      const { tool, action, sessionId: session, requestId, connectionId } = what;
      const begun = performance.now();
      const line = (error: string | undefined, session: string | undefined) => {
        const durationMs = Math.round(performance.now() - begun);
        log.info({ actor, session, tool, action, durationMs, error, requestId, connectionId }, "call");
      };
      let result: Awaited<ReturnType<typeof work>>;
      try {
        result = await run();
      } catch (error) {
        line(isPhasegateError(error) ? error.code : "INTERNAL", session);
        throw error;
      }
      const outcome = outcomeOf?.(result);
      line(outcome?.error, outcome?.sessionId ?? session);
      return result;
    },
  };
}
