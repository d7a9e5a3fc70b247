import { type Logger, pino } from "pino";
import type { LogLevel } from "./option-values.js";
import type { Terminal } from "./terminal.js";

/** The log of a server, on stderr: one JSON object a line. Stacks are for `debug` and below. */
export function createLogger(level: LogLevel, { stderr }: Terminal): Logger {
  const whole = level === "debug" || level === "trace";
  return pino(
    {
      name: "phasegate",
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: whole ? pino.stdSerializers.err : briefError },
    },
    stderr,
  );
}

function briefError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  return { type: name, message, ...("code" in error ? { code: error.code } : {}) };
}
