import { type Action, isAction } from "./actions.js";

/** The engine's names of commands and operations, as the tool's actions are called. */
const ACTIONS_BY_NAME: Readonly<Record<string, Action | undefined>> = {
  listWorkflows: "list_workflows",
  getPhase: "get_phase",
  getTask: "get_task",
  completePhase: "complete_phase",
  getState: "get_state",
  getFullState: "get_state",
  getOptions: "get_session",
  listSessions: "list_sessions",
  delete: "delete_session",
  deleteSession: "delete_session",
  retryPhase: "retry_phase",
  syncPlan: "sync_plan",
  errors: "get_errors",
  history: "get_history",
};

/** The action that an agent calls for a command of the engine's; undefined where it has none for it. */
export function actionOf(command: string): Action | undefined {
  if (Object.hasOwn(ACTIONS_BY_NAME, command)) return ACTIONS_BY_NAME[command];
  return isAction(command) ? command : undefined;
}

/**
 * A message that begins with a command, such as `completePhase is not possible`, as an agent calls it. Nowhere
 * else: names of phases and tasks are told as they are, whatever they look like.
 */
export function inToolWords(message: string): string {
  return message.replace(/^\w+(?= (?:failed for|is not possible)\b)/, (command) => actionOf(command) ?? command);
}
