import type { Request } from "./actions.js";
import { complete } from "./handle-complete.js";
import { listSessions, listWorkflows } from "./handle-lists.js";
import { getPhase, getTask, resume, retryPhase, rollback, start } from "./handle-phases.js";
import { deleteSession, getErrors, getHistory, getMetrics, pause } from "./handle-sessions.js";
import { getSession, getState } from "./handle-state.js";
import { syncPlan } from "./handle-sync.js";
import type { ToolContext } from "./tool-context.js";
import type { WireObject } from "./wire-object.js";

/** Carries out a checked call. */
export function handle(context: ToolContext, request: Request): Promise<WireObject> {
  switch (request.action) {
    case "list_workflows":
      return listWorkflows(context, request.params);
    case "start":
      return start(context, request.params);
    case "get_phase":
      return getPhase(context, request.params);
    case "get_task":
      return getTask(context, request.params);
    case "complete_phase":
      return complete(context, request.params);
    case "get_state":
      return getState(context, request.params);
    case "list_sessions":
      return listSessions(context, request.params);
    case "get_session":
      return getSession(context, request.params);
    case "delete_session":
      return deleteSession(context, request.params);
    case "pause":
      return pause(context, request.params);
    case "resume":
      return resume(context, request.params);
    case "retry_phase":
      return retryPhase(context, request.params);
    case "rollback":
      return rollback(context, request.params);
    case "sync_plan":
      return syncPlan(context, request.params);
    case "get_errors":
      return getErrors(context, request.params);
    case "get_history":
      return getHistory(context, request.params);
    case "get_metrics":
      return getMetrics(context);
  }
}
