import type { Reveal } from "../definition/structure.js";
import type { Verification } from "../session/verification.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As many results as an answer has, and as much of each. */
const RESULTS_MAX = 25;
const TEXT_MAX = 300;
const LINES_MAX = 20;
const LINE_MAX = 200;

/**
 * What a gate's verifiers have found: what was run, how it ended, and of a check that wasn't met the first lines.
 * Nothing where the gate hides what it asks for: which verifier it was says how to get past it.
 */
export function verificationNews(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  const listed = [...verification].sort((one, other) => Number(one.ok) - Number(other.ok)).slice(0, RESULTS_MAX);
  return { verification: listed.map(resultEntry) };
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
    output: ok ? undefined : output?.slice(0, LINES_MAX).map((line) => brief(line, LINE_MAX)),
  });
}
