/** What an agent is told to do when a gate has refused its evidence. */
import type { CompleteResult } from "../engine/gate-answer.js";
import { BLANKS_MAX } from "./next-call.js";
import { planBlanks, planClaims } from "./plan-claims.js";
import type { WireObject } from "./wire-object.js";

/** A gate's no. */
export type Refused = Extract<CompleteResult, { passed: false }>;

/** As many fields as are named. */
const FIELDS_MAX = 25;

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
  return fields.length === 0 ? "" : ` with all required fields: ${fields.join(", ")}`;
}

/** The call that comes next; null where none of the agent's would help. */
export function callAfterRefusal(result: Refused): WireObject | null {
  const { status, sessionId, phase, problems, exhausted } = result;
  if (exhausted) return null;
  if (status !== "active") return { action: "retry_phase", session_id: sessionId, phase };
  const wanted = problems
    .slice(0, BLANKS_MAX)
    .map(({ field, problem, expected }) =>
      problem === "unverified"
        ? [field || "<all fields>", "<as before, once it is true>"]
        : [field.split(".")[0] || "<field>", `<${expected ?? "see required_format"}>`],
    );
  const claims = planClaims(result);
  const evidence = { ...Object.fromEntries(wanted), ...planBlanks(claims) };
  return { action: "complete_phase", session_id: sessionId, phase, evidence };
}
