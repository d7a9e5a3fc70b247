/** What an agent is told to do when a gate has refused its evidence. */
import { isJsonObject } from "../definition/json.js";
import type { CompleteResult } from "../engine/gate-answer.js";
import { ITEMS_FIELD, TASKS_FIELD } from "../gate/check-plan-gate.js";
import { compact, type WireObject } from "./wire-object.js";

/** A gate's no. */
export type Refused = Extract<CompleteResult, { passed: false }>;

/** As many fields as are named. */
const FIELDS_MAX = 25;
/** As many fields as the call that comes next shows. */
const BLANKS_MAX = 12;

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

/** What of a plan was not claimed. */
interface PlanClaims {
  readonly missing_tasks?: readonly string[];
  readonly unclaimed_items?: { readonly [number: string]: unknown };
}

/** All that a plan's gate has not been told of, however much it is: ids of tasks, items by number with their text. */
export function planClaims({ problems, requiredFormat }: Refused): PlanClaims {
  const tasks = problems.flatMap(({ field, example }) =>
    field === TASKS_FIELD && typeof example === "string" ? [example] : [],
  );
  const format = isJsonObject(requiredFormat) ? requiredFormat[ITEMS_FIELD] : undefined;
  const texts = isJsonObject(format) && isJsonObject(format.items) ? format.items : {};
  const numbers = problems.flatMap(({ field }) => {
    const [name, number = ""] = field.split(".");
    return name === ITEMS_FIELD && texts[number] !== undefined ? [number] : [];
  });
  return {
    ...(tasks.length === 0 ? {} : { missing_tasks: tasks }),
    ...(numbers.length === 0 ? {} : { unclaimed_items: Object.fromEntries(numbers.map((at) => [at, texts[at]])) }),
  };
}

/** The same as evidence, in words that would not pass. */
function planBlanks({ missing_tasks: tasks, unclaimed_items: items }: PlanClaims): WireObject {
  const named = tasks?.slice(0, BLANKS_MAX).map((id) => `<${id} once it is done>`);
  const numbers = Object.keys(items ?? {}).slice(0, BLANKS_MAX);
  return compact({
    [TASKS_FIELD]: named && ["<all that were claimed before>", ...named],
    [ITEMS_FIELD]: items && Object.fromEntries(numbers.map((number) => [number, "<true once it holds>"])),
  });
}
