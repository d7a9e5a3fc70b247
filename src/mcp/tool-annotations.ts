import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Action } from "../tool/actions.js";

/** What changes no session. */
const READING: ReadonlySet<Action> = new Set([
  "list_workflows",
  "get_phase",
  "get_task",
  "get_state",
  "list_sessions",
  "get_session",
  "get_errors",
  "get_history",
  "get_metrics",
]);

/** What a client may show of a tool with these actions, or ask its user about, before it is called. */
export function toolAnnotations(actions: readonly Action[]): ToolAnnotations {
  const readOnly = actions.every((action) => READING.has(action));
  return {
    title: "Phase-gated workflows",
    readOnlyHint: readOnly,
    // Only a deletion loses anything: a rollback stays in the log.
    destructiveHint: actions.includes("delete_session"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}
