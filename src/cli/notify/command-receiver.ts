/** A receiver that is a command: the message as JSON on its standard input. It is not run again if it fails. */
import process from "node:process";
import { resolveCommands } from "../../verifiers/allowed-commands.js";
import { runProcess } from "../../verifiers/run-process.js";
import { jsonOf } from "./formats.js";
import type { Receiver } from "./outbox.js";

/** The time that a command may take, in milliseconds, and what is read of its output, in bytes. */
const TIMEOUT = 30_000;
const OUTPUT_MAX = 64 * 1024;

/**
 * Throws `INVALID_INPUT` if there is no such program. It is not looked up in the current folder, which may be a project of
 * somebody else.
 */
export async function commandReceiver(line: string): Promise<Receiver> {
  const { executables, lines } = await resolveCommands([line], process.cwd(), process.env.PATH ?? "");
  const [command] = lines.values();
  const [program] = executables.values();
  const { executable, words } = command ?? { executable: program ?? line, words: [line] };
  const [name = "", ...args] = words;
  return {
    name,
    async send(message, signal) {
      const input = `${JSON.stringify(jsonOf(message))}\n`;
      const limits = { timeoutMs: TIMEOUT, maxOutputBytes: OUTPUT_MAX, signal };
      const { exit, killedBy, stopped } = await runProcess({
        ...{ executable, args, cwd: process.cwd(), env: environment(), input },
        ...limits,
      });
      if (stopped === "timeout") return { why: `it did not end within ${TIMEOUT / 1000} seconds` };
      if (stopped === "output") return { why: `it wrote more than ${OUTPUT_MAX} bytes` };
      return exit === 0 ? undefined : { why: exit === undefined ? `ended by ${killedBy}` : `exit code ${exit}` };
    },
  };
}

/** The server's variables, without those of phasegate: some are secrets, and a command needs none. */
function environment(): Record<string, string> {
  const all = Object.entries(process.env);
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === undefined || name.startsWith("PHASEGATE_") ? [] : [[name, value]])),
  );
}
