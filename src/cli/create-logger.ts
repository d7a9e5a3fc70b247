import { type Logger, pino } from "pino";
import type { LogLevel } from "./option-values.js";
import { withoutPasswords } from "./passwords.js";
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
    // A line at a time: what a driver says of an address that it can't reach may quote it, password and all.
    { write: (line: string) => void stderr.write(withoutPasswords(line)) },
  );
}

function briefError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  return { type: name, message, ...("code" in error ? { code: error.code } : {}) };
}
