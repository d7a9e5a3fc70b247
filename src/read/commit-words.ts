/** The log of a phased session in words: what happened, where, and who did it. */
import type { SessionEvent } from "../phased/state/events.js";
import type { WorkflowStructure } from "../workflow/structure.js";

const TARGET_MAX = 200;

/** Returns an event in words: `Completed task 1 'Read the issue'`, `Deleted by ann`. */
export function eventWords(event: SessionEvent, { phases }: Pick<WorkflowStructure, "phases">): string {
  const find = (number: number) => phases.find((phase) => phase.number === number);
  const at = (number: number) => `${number} ${find(number)?.name ?? ""}`.trim();
  const by = (who: string | undefined) => (who === undefined ? "" : ` by ${who}`);
  switch (event.type) {
    case "started":
      return event.target === "" ? "Started" : `Started on ${event.target.slice(0, TARGET_MAX)}`;
    case "child_claimed":
      return `Began session ${event.child} for ${at(event.phase)}${by(event.by)}`;
    case "assigned":
      return `Handed over to ${event.owner.name}${by(event.by)}`;
    case "phase_entered":
      return `Entered ${at(event.phase)}`;
    case "approval_requested":
      return `Asked for an approval of ${at(event.phase)}`;
    case "approved":
      return `Approved${by(event.by)}`;
    case "denied":
      return `Denied${by(event.by)}`;
    case "waiver_requested":
      return `Asked for a waiver of ${event.fields.join(", ")}`;
    case "waiver_granted":
      return `Waiver of ${event.fields.join(", ")} granted${by(event.by)}`;
    case "waiver_denied":
      return `Waiver denied${by(event.by)}`;
    case "gate_passed":
      return `Passed the gate of ${at(event.phase)}`;
    case "gate_failed":
      return `Refused at ${at(event.phase)}`;
    case "task_completed":
    case "task_given_up": {
      const name = find(event.phase)?.tasks.find(({ number }) => number === event.task)?.name;
      const what = event.type === "task_completed" ? "Completed" : "Gave up";
      return `${what} task ${event.task}${name === undefined ? "" : ` '${name}'`}`;
    }
    case "step_refused":
      return `Refused a step ahead: ${event.operation}${event.requested === undefined ? "" : ` of ${at(event.requested)}`}`;
    case "gate_overridden":
      return `Gate of ${at(event.phase)} overridden${by(event.by)}`;
    case "phase_skipped":
      return `Skipped ${at(event.phase)}${by(event.rule === undefined ? event.by : "the workflow’s rule")}`;
    case "paused":
      return `Paused${by(event.operator)}`;
    case "resumed":
      return `Resumed${by(event.operator)}`;
    case "retried":
      return `Retry of ${at(event.phase)} granted${by(event.operator)}`;
    case "rolled_back":
      return `Went back from ${at(event.from)} to ${at(event.to)}`;
    case "completed":
      return "Completed";
    case "failed":
      return `Failed at ${at(event.phase)}`;
    case "migrated":
      return `Moved to another revision${by(event.by)}`;
    case "plan_synced":
      return `Took over the changed plan${by(event.operator)}`;
    case "plan_ticked":
      return "Wrote ticks into the plan";
    case "snapshots_taken":
      return `Took the snapshots of ${at(event.phase)}`;
    case "deleted":
      return `Deleted${by(event.operator)}`;
  }
}
