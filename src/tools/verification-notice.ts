/** The results of a gate's verifiers as they look on the wire. */
import type { Verification } from "../phased/state/events.js";
import type { Reveal } from "../workflow/structure.js";
import { brief, compact, type WireObject } from "./wire.js";

/**
 * Returns the results of a gate's verifiers: what was run, how it ended, and the first and last lines of failed
 * checks. Nothing if the gate hides its requirements: a verifier's name would reveal how to pass it.
 */
export function verificationNotice(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  return shownAs(resultEntry, verification, reveal);
}

/** Returns the same with the time and digest of each check, and the last lines of passed checks. */
export function verificationRecord(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  return shownAs(recordEntry, verification, reveal);
}

/** Returns the results for a gate that has passed: what each check found, and the last lines that a command wrote. */
export function verificationPassed(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  return shownAs(passedEntry, verification, reveal);
}

/** Limits the results in an answer. */
const RESULTS_MAX = 25;

/** Failed checks come first. */
function shownAs(
  entry: (result: Verification) => WireObject,
  verification: readonly Verification[] | undefined,
  reveal: Reveal,
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  const listed = verification.toSorted((one, other) => Number(one.ok) - Number(other.ok)).slice(0, RESULTS_MAX);
  return { verification: listed.map(entry) };
}

/** Limits the lines of a passed check. */
const LINES_MET = 3;

const LINES_MAX = 20;

function recordEntry(result: Verification): WireObject {
  const { ok, output, at, digest } = result;
  return compact({ ...resultEntry(result), output: shownLines(ok ? output?.slice(-LINES_MET) : output), at, digest });
}

/** A summary is at the end of what a command writes. */
function passedEntry({ verifier, field, check, ok, message, exit, output }: Verification): WireObject {
  const last = exit === undefined ? undefined : shownLines(output?.slice(-LINES_MET));
  return compact({ verifier, field, check, ok, found: brief(message, TEXT_MAX), output: last });
}

/** Limits what a check found, and what it ran, in characters. */
const TEXT_MAX = 300;

function resultEntry({ verifier, field, check, ok, failed, message, ran, exit, output }: Verification): WireObject {
  return compact({
    verifier,
    field,
    check,
    ok,
    could_not_run: failed,
    found: brief(message, TEXT_MAX),
    ran: ran === undefined ? undefined : brief(ran, TEXT_MAX),
    exit,
    output: ok ? undefined : shownLines(output),
  });
}

const LINE_MAX = 200;

/** Returns the first lines, of a long output with `…` and its last ones, where a summary is. */
function shownLines(output: readonly string[] | undefined): readonly string[] | undefined {
  if (output === undefined || output.length === 0) return undefined;
  const cut = output.length <= LINES_MAX ? output : [...output.slice(0, LINES_MAX), "…", ...output.slice(-LINES_MET)];
  return cut.map((line) => brief(line, LINE_MAX));
}
