/** What an agent is told to do when a gate has refused its evidence. */
import type { CompleteResult } from "../engine/gate-answer.js";
import { BLANKS_MAX } from "./next-call.js";
import { planBlanks, planClaims } from "./plan-claims.js";
import type { WireObject } from "./wire-object.js";

/** A gate's no. */
export type Refused = Extract<CompleteResult, { passed: false }>;

/** As many fields as are named. */
const FIELDS_MAX = 25;
const ALL_FIELDS = "<all fields>";

/** What an agent is to do, in words. */
export function remediation({ status, phase, problems, exhausted }: Refused): string {
  if (exhausted) {
    return `All attempts at phase ${phase} are used up. Ask the person who runs this: only the host can grant more.`;
  }
  const fields = [...new Set(problems.map(({ field }) => field))].filter((field) => field !== "").slice(0, FIELDS_MAX);
  const isComplete = problems.every(({ problem }) => problem === "unverified");
  const named = isComplete ? ", all of it: it is complete, but what was looked up says otherwise" : asked(fields);
  const mend = `Do what is missing, then submit evidence for phase ${phase}${named}`;
  if (status === "active") return mend;
  return `The session has failed. Call retry_phase for phase ${phase} first. ${mend}`;
}

function asked(fields: readonly string[]): string {
  return fields.length === 0 ? "" : `, all of its fields, with these mended: ${fields.join(", ")}`;
}

/**
 * The call that comes next; null where none of the agent's would help. It names all of the evidence, as nothing of what was
 * refused is kept: what must be mended first, then what was submitted beside it.
 */
export function callAfterRefusal(result: Refused, submitted: readonly string[]): WireObject | null {
  const { status, sessionId, phase, exhausted } = result;
  if (exhausted) return null;
  if (status !== "active") return { action: "retry_phase", session_id: sessionId, phase };
  return { action: "complete_phase", session_id: sessionId, phase, evidence: blanksAfter(result, submitted) };
}

function blanksAfter(result: Refused, submitted: readonly string[]): WireObject {
  if (result.reveal === "none") return { "<what was done>": "<result>" };
  const named = { ...mended(result.problems), ...planBlanks(planClaims(result)) };
  return { ...named, ...others(result, submitted, named) };
}

function mended(problems: Refused["problems"]): WireObject {
  const wanted = problems.flatMap(({ field, problem, expected }) => {
    if (problem === "unverified") return [[field || ALL_FIELDS, "<as before, once it is true>"]];
    // What is wrong between fields is told in words: no field of its own could mend it.
    return field === "" ? [] : [[field.split(".")[0], `<${expected ?? "see required_format"}>`]];
  });
  return Object.fromEntries(wanted.slice(0, BLANKS_MAX));
}

function others({ problems }: Refused, submitted: readonly string[], named: WireObject): WireObject {
  if (ALL_FIELDS in named) return {};
  const isBetween = problems.some(({ field }) => field === "");
  const blank = isBetween ? "<as validation_errors want it>" : "<as before>";
  const rest = submitted.filter((name) => !(name in named));
  const shown = rest.slice(0, Math.max(0, BLANKS_MAX - Object.keys(named).length));
  const blanks = Object.fromEntries(shown.map((name) => [name, blank]));
  return shown.length === rest.length ? blanks : { ...blanks, "<all other fields>": blank };
}
