import { resolve } from "node:path";
import { type Logger, multistream, pino } from "pino";
import { CommandFailure, EXIT } from "./exit-codes.js";
import type { LogLevel } from "./option-values.js";
import { RotatingFile } from "./rotating-file.js";
import type { LogFiles } from "./routed-options.js";
import type { Terminal } from "./terminal.js";

/** The logs of a server. */
export interface Logs {
  readonly log: Logger;
  /** For what models were asked and have answered, where files are written. */
  readonly ai?: Logger;
  close(): void;
}

/** The log of a server, on stderr: one JSON object a line. Stacks are for `debug` and below. */
export function createLogger(level: LogLevel, { stderr }: Terminal): Logger {
  return pino(settings(level), stderr);
}

/** The same, and as files that rotate, where somebody has asked for those. */
export function openLogs(level: LogLevel, terminal: Terminal, files: LogFiles | undefined): Logs {
  if (files === undefined) return { log: createLogger(level, terminal), close: () => {} };
  const main = openFile(files.folder, files.main);
  const ai = openFile(files.folder, files.ai);
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

function openFile(folder: string, name: string): RotatingFile {
  try {
    return new RotatingFile(resolve(folder, name));
  } catch (cause) {
    const hint = "Check ORCHESTRATOR_LOG_DIR, and that this process may write there.";
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
  const { name, message } = error;
  return { type: name, message, ...("code" in error ? { code: error.code } : {}) };
}
