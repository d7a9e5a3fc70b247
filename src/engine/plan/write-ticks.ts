import type { WorkflowStructure } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { DueTicks } from "../../session/head.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedCommit, PhasedSession } from "../pinned.js";
import { dueTasks } from "./due-tasks.js";
import { findParser } from "./find-parser.js";
import { requirePlans, requireSource } from "./read-source.js";
import { canTick, type TickedText, tickText } from "./tick-text.js";

/** How often a file that changes under the pen is read again. */
const WRITES_MAX = 5;

/** What came of writing. */
export type Written = Omit<TickedText, "text">;

/**
 * Writes what is due into the source of a session's plan. Done is what a reading after the writing has seen: somebody
 * else may have put his own text in its place in the meantime.
 */
export async function writeTicks(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  recent: PhasedCommit | undefined,
): Promise<Written> {
  const { dynamic, plan } = structure;
  const nothing = { ticked: [], unticked: [], missing: [], unwritable: [] };
  if (dynamic === undefined || plan === undefined) return nothing;
  const tasks = await dueTasks(context, session, structure, due, recent);
  const plans = requirePlans(context.options, structure);
  const parser = await findParser(context.options, structure, dynamic);
  if (!canTick(parser)) return nothing;
  let source = await requireSource(plans, plan.path, true);
  for (let tries = 1; tries <= WRITES_MAX; tries += 1) {
    const { text, ...written } = tickText(parser, source.text, source.path, tasks, dynamic.tickCriteria);
    if (text === source.text) return written;
    const replaced = await plans.replace(source.path, source.hash, text);
    source = await requireSource(plans, plan.path, true);
    if (replaced && source.text === text) return written;
  }
  throw new PhasegateError("CONFLICT", `${plan.path} changed again and again while it was written`, {
    remedy: "It is tried again at the next call.",
    details: { sessionId: session.sessionId },
  });
}
