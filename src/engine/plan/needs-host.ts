import { PhasegateError } from "../../errors.js";
import type { Actor } from "../../session/commands.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import type { Rebuilt } from "./rebuild.js";

/** As many of the things that are taken away as a refusal names. */
const NAMED_MAX = 10;

/** Whether a sync would make gates ask for less, and whoever asks is not the one who may do that. */
export function needsHost({ options }: EngineContext, by: Actor, { takenAway }: Rebuilt): boolean {
  return by === "agent" && options.agentSync === "keeps-gates" && takenAway.length > 0;
}

/** An agent that can edit the plan must not get past a gate by taking out of it what it asks for. */
export function hostWanted({ sessionId, head }: PhasedSession, { takenAway }: Rebuilt): PhasegateError<"NOT_ALLOWED"> {
  const named = takenAway.slice(0, NAMED_MAX).map(({ id, name }) => `'${id === undefined ? name : `${id} ${name}`}'`);
  const more = takenAway.length - named.length;
  const what = `${named.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  return new PhasegateError(
    "NOT_ALLOWED",
    `the plan asks for less than is pinned: ${what} would be asked for no more`,
    {
      remedy: `Put it back into the plan, or ask the person who runs this: the host can take it over with engine.syncPlan('${sessionId}').`,
      details: { phase: head.phase, operation: "syncPlan" },
    },
  );
}
