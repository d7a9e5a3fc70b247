import type { Verification } from "../../session/verification.js";
import type { VerifyOutcome } from "./run-verifiers.js";

/** How many characters of output all results of one submission may have together, and each for itself. */
const OUTPUT_TOTAL = 64 * 1024;
const OUTPUT_EACH = 4000;
const MESSAGE_MAX = 1000;
const RAN_MAX = 500;
const DIGEST_MAX = 200;

/** What verifiers have found, as the log holds it: bounded, so that a commit stays one however many there are. */
export function recordedResults(
  results: readonly { readonly outcome: VerifyOutcome; readonly field: string | undefined }[],
  at: string,
): Verification[] {
  const room = Math.min(OUTPUT_EACH, Math.floor(OUTPUT_TOTAL / Math.max(1, results.length)));
  return results.map(({ outcome, field }) => {
    const { verifier, ok, failed, message, ran, exit, digest, output } = outcome;
    return {
      verifier,
      ...(field === undefined ? {} : { field }),
      ok,
      ...(failed === undefined ? {} : { failed }),
      message: cut(message, MESSAGE_MAX),
      ...(ran === undefined ? {} : { ran: cut(ran, RAN_MAX) }),
      ...(exit === undefined ? {} : { exit }),
      ...(digest === undefined ? {} : { digest: cut(digest, DIGEST_MAX) }),
      ...(output === undefined || output.length === 0 ? {} : { output: firstLines(output, room) }),
      at,
    };
  });
}

/** As many lines as there is room for; `…` stands for the others. */
function firstLines(lines: readonly string[], room: number): string[] {
  const kept: string[] = [];
  let left = room;
  for (const line of lines) {
    if (line.length > left) return [...kept, "…"];
    kept.push(line);
    left -= line.length + 1;
  }
  return kept;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
