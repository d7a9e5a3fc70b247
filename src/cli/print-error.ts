import { isPhasegateError } from "../errors.js";
import { CommandFailure } from "./exit-codes.js";
import { printable, styled, type Terminal } from "./terminal.js";

/** Tells the user what went wrong and what to do. The stack is for those who look for it. */
export function printError({ stderr }: Terminal, error: unknown, { stack }: { readonly stack: boolean }): void {
  const message = error instanceof Error ? error.message : String(error);
  stderr.write(`${styled(stderr, "red", "phasegate: error:")} ${printable(message)}\n`);
  const hint = hintOf(error);
  if (hint !== undefined) stderr.write(`${styled(stderr, "cyan", "  hint:")} ${printable(hint)}\n`);
  if (!stack) return;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    stderr.write(`${printable(cause.stack ?? cause.message, { lines: true })}\n`);
  }
}

function hintOf(error: unknown): string | undefined {
  if (error instanceof CommandFailure) return error.hint;
  if (isPhasegateError(error)) return error.remedy;
  return "Run it again with --log-level debug to see where this comes from.";
}
