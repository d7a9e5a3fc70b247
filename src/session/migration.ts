import type { WorkflowStructure } from "../definition/structure.js";
import { type AnyPhasegateError, PhasegateError } from "../errors.js";
import { begunOf, type CommandOf, type TransitionContext } from "./commands.js";
import type { EventOf } from "./events.js";
import type { SessionHead } from "./head.js";
import { invalidTransition } from "./refusals.js";

/**
 * Moves a session to another structure of the same workflow. Its phase must still be there, and so
 * must all that it has done, in the same order: what was completed stays completed. A session that
 * is complete stays what it was completed on.
 */
export function migration(
  head: SessionHead,
  command: CommandOf<"migrate">,
  context: TransitionContext,
): readonly [EventOf<"migrated">] | AnyPhasegateError {
  const { structure, by } = command;
  const refusal = refusalOf(head, structure, context, "migrate");
  return refusal ?? [{ type: "migrated", structure, position: head.position, by, ...begunOf(context) }];
}

/** Moves a session to what its plan says now, by the same rules. */
export function planSync(
  head: SessionHead,
  command: CommandOf<"syncPlan">,
  context: TransitionContext,
): readonly [EventOf<"plan_synced">] | AnyPhasegateError {
  const { structure, by, changes } = command;
  const refusal = refusalOf(head, structure, context, "syncPlan");
  return refusal ?? [{ type: "plan_synced", structure, position: head.position, by, changes }];
}

function refusalOf(
  head: SessionHead,
  structure: WorkflowStructure,
  context: TransitionContext,
  operation: "migrate" | "syncPlan",
): AnyPhasegateError | undefined {
  if (head.status === "completed") return invalidTransition(head, context.structure, operation);
  const done = context.structure.phases.slice(0, head.position + 1).map(({ number }) => number);
  const kept = structure.phases.slice(0, head.position + 1).map(({ number }) => number);
  if (structure.type !== head.workflowType || done.join() !== kept.join()) {
    return new PhasegateError(
      "NOT_ALLOWED",
      `revision ${structure.revision} of ${structure.type} does not have the phases ${done.join(", ")} at its beginning`,
      {
        remedy: "Finish or delete this session, and start a new one on the new definition.",
        details: { phase: head.phase, operation },
      },
    );
  }
  return undefined;
}
