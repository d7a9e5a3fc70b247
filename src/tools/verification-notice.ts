/** The results of a gate's verifiers as they look on the wire. */
import { excerpt } from "../gate/excerpt.js";
import type { Verification } from "../phased/state/events.js";
import type { Reveal } from "../workflow/structure.js";
import { brief, type WireObject } from "./wire.js";

/**
 * How much is said of each check: `refused`, what was run, how it ended, and what a failed one wrote; `recorded`, also its time
 * and digest, and the end of what a passed one wrote; `passed`, what it found, and the end of what a command wrote.
 */
type Extent = "refused" | "recorded" | "passed";

/** Limits the results in an answer. */
const RESULTS_MAX = 25;

/**
 * Returns the results of a gate's verifiers, failed ones first. Nothing if the gate hides its requirements: a verifier's name
 * would reveal how to pass it.
 */
export function verificationNotice(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
  extent: Extent = "refused",
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  const listed = verification.toSorted((one, other) => Number(one.ok) - Number(other.ok)).slice(0, RESULTS_MAX);
  return { verification: listed.map((result) => resultEntry(result, extent)) };
}

/** Limits what a check found, and what it ran, in characters. */
const TEXT_MAX = 300;
/** Limits the lines of a failed check; and of a passed one, whose summary is at the end. */
const LINES_MAX = 20;
const LINES_MET = 3;
const LINE_MAX = 200;

function resultEntry(result: Verification, extent: Extent): WireObject {
  const { verifier, field, check, ok, failed, message, ran, exit, output = [], at, digest } = result;
  const about = { verifier, field, check, ok };
  const found = brief(message, TEXT_MAX);
  const end = shownLines(output.slice(-LINES_MET));
  if (extent === "passed") return { ...about, found, output: exit === undefined ? undefined : end };
  const how = { could_not_run: failed, found, ran: ran && brief(ran, TEXT_MAX), exit };
  const whole = shownLines(output);
  if (extent === "recorded") return { ...about, ...how, output: ok ? end : whole, at, digest };
  return { ...about, ...how, output: ok ? undefined : whole };
}

/** Returns the lines of an output; of a long one those that tell what failed, and the last ones. */
function shownLines(output: readonly string[]): readonly string[] | undefined {
  if (output.length === 0) return undefined;
  return excerpt(output, LINES_MAX).map((line) => brief(line, LINE_MAX));
}
