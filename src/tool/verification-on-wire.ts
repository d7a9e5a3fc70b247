import type { Reveal } from "../definition/structure.js";
import type { Verification } from "../session/verification.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As many results as an answer has, and as much of each. */
const RESULTS_MAX = 25;
const TEXT_MAX = 300;
const LINES_MAX = 20;
const LINE_MAX = 200;
/** As many lines of a check that was met. */
const LINES_MET = 3;

/**
 * What a gate's verifiers have found: what was run, how it ended, and of a check that wasn't met the first lines.
 * Nothing where the gate hides what it asks for: which verifier it was says how to get past it.
 */
export function verificationNews(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  return { verification: listed(verification).map(resultEntry) };
}

/** The same for the record: with when each was looked up, its digest, and also of those that were met the first lines. */
export function verificationRecord(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  return { verification: listed(verification).map(recordEntry) };
}

/** Those that were not met come first. */
function listed(verification: readonly Verification[]): readonly Verification[] {
  return [...verification].sort((one, other) => Number(one.ok) - Number(other.ok)).slice(0, RESULTS_MAX);
}

function recordEntry(result: Verification): WireObject {
  const { ok, output, at, digest } = result;
  const lines = ok ? LINES_MET : LINES_MAX;
  return compact({ ...resultEntry(result), output: firstLines(output, lines), at, digest });
}

function firstLines(output: readonly string[] | undefined, most: number): readonly string[] | undefined {
  if (output === undefined || output.length === 0) return undefined;
  return output.slice(0, most).map((line) => brief(line, LINE_MAX));
}

function resultEntry({ verifier, field, ok, failed, message, ran, exit, output }: Verification): WireObject {
  return compact({
    verifier,
    field,
    ok,
    could_not_run: failed,
    found: brief(message, TEXT_MAX),
    ran: ran === undefined ? undefined : brief(ran, TEXT_MAX),
    exit,
    output: ok ? undefined : firstLines(output, LINES_MAX),
  });
}
