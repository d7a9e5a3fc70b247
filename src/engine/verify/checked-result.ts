import type { VerifyResult } from "../../ports/verifier.js";

/** What of a result stands in the log, at most. */
const TEXT_MAX = 2000;
const LINES_MAX = 50;
const LINE_MAX = 500;

/**
 * A result as it may be recorded: what a host's own verifier gives is bounded, and read by what it is.
 * Undefined for what is no result: `ok` must be a boolean, and the message a text.
 */
export function checkedResult(given: unknown): VerifyResult | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { ok, message, ran, exit, digest, output }: { [K in keyof VerifyResult]?: unknown } = given;
  if (typeof ok !== "boolean" || typeof message !== "string") return undefined;
  return {
    ok,
    message: message.slice(0, TEXT_MAX),
    ...(typeof ran === "string" ? { ran: ran.slice(0, TEXT_MAX) } : {}),
    ...(typeof exit === "number" && Number.isFinite(exit) ? { exit } : {}),
    ...(typeof digest === "string" ? { digest: digest.slice(0, TEXT_MAX) } : {}),
    ...(Array.isArray(output) ? { output: linesOf(output) } : {}),
  };
}

function linesOf(output: readonly unknown[]): string[] {
  return output
    .slice(0, LINES_MAX)
    .filter((line) => typeof line === "string")
    .map((line) => line.slice(0, LINE_MAX));
}
