import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import type { Terminal } from "./terminal.js";

/** Whether a person can be asked: somebody reads what is written, and types what is read. */
export function isInteractive({ stdin, stdout }: Terminal): boolean {
  return isTty(stdin) && isTty(stdout);
}

/** Asks for a line; `""` where the input has ended. */
export async function ask({ stdin, stdout }: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    lines.close();
  }
}

/** Asks whether to go on; anything but a clear yes is a no. */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  return /^(y|yes)$/i.test(await ask(terminal, `${question} [y/N] `));
}

function isTty(stream: Readable | Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}
