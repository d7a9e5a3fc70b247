import { isPhasegateError } from "../errors.js";
import { CommandFailure } from "./exit-codes.js";
import { withoutPasswords } from "./passwords.js";
import { printable, styled, type Terminal } from "./terminal.js";

/** Tells the user what went wrong and what to do. The stack is for those who look for it. */
export function printError({ stderr }: Terminal, error: unknown, { stack }: { readonly stack: boolean }): void {
  const message = error instanceof Error ? error.message : String(error);
  stderr.write(`${styled(stderr, "red", "phasegate: error:")} ${shown(message)}\n`);
  const hint = hintOf(error);
  if (hint !== undefined) stderr.write(`${styled(stderr, "cyan", "  hint:")} ${shown(hint)}\n`);
  if (!stack) return;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    stderr.write(`${shown(cause.stack ?? cause.message, { lines: true })}\n`);
  }
}

/** A driver's message may quote the address that it was given. */
function shown(text: string, options?: { readonly lines: boolean }): string {
  return printable(withoutPasswords(text), options);
}

function hintOf(error: unknown): string | undefined {
  if (error instanceof CommandFailure) return error.hint;
  if (isPhasegateError(error)) return error.remedy;
  return "Run it again with --log-level debug to see where this comes from.";
}
