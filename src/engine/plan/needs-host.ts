import { PhasegateError } from "../../errors.js";
import type { Actor } from "../../session/commands.js";
import type { PlanChange } from "../../session/plan-changes.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import type { Rebuilt } from "./rebuild.js";

/** As many of the things that are taken away as a refusal names. */
const NAMED_MAX = 10;
/** The longest text of a plan that a refusal quotes, in characters. */
const QUOTED_MAX = 200;

/** Whether a sync would ask for less, and whoever asks is not the one who may do that. */
export function needsHost({ options }: EngineContext, by: Actor, { takenAway }: Rebuilt): boolean {
  return by === "agent" && options.agentSync === "keeps-gates" && takenAway.length > 0;
}

/**
 * Returns the refusal for an agent that can edit the plan, and must not get past a gate by taking out of it what it asks
 * for. It names what belongs to the current phase; of phases ahead, which an agent doesn't see yet, it tells how much.
 */
export function hostWanted({ sessionId, head }: PhasedSession, { takenAway }: Rebuilt): PhasegateError<"NOT_ALLOWED"> {
  const here = takenAway.filter(({ phase }) => phase === head.phase);
  const ahead = takenAway.length - here.length;
  const more = here.length - NAMED_MAX;
  const parts = [
    ...here.slice(0, NAMED_MAX).map(lossText),
    ...(more > 0 ? [`${more} more in this phase`] : []),
    ...(ahead > 0 ? [`${ahead} ${ahead === 1 ? "change" : "changes"} of that kind in phases ahead`] : []),
  ];
  return new PhasegateError("NOT_ALLOWED", `the plan asks for less than is pinned: ${parts.join("; ")}`, {
    remedy: `Put it back into the plan, or ask the person who runs this: the host can take it over with engine.syncPlan('${sessionId}').`,
    details: { phase: head.phase, operation: "syncPlan" },
  });
}

/** What is lost, in the plan's own words. */
function lossText({ id, name, from, to }: PlanChange): string {
  const what = `'${quoted(id === undefined ? name : `${id} ${name}`)}'`;
  if (from !== undefined && to !== undefined) return `${what} is called '${quoted(to)}' now`;
  if (to !== undefined) return `${what} ${to}`;
  return from === undefined ? `${what} is gone` : `${what} lacks the ${quoted(from)}`;
}

function quoted(text: string): string {
  return text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
}
