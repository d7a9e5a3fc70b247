/**
 * How errors are reported to agents. The message of a foreign error is never shown: it may contain
 * anything.
 */

import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../../errors.js";
import { compact, type WireObject } from "../wire-object.js";
import { type Action, isAction } from "./actions.js";
import { phaseCall, taskCall } from "./next-call.js";
import { planWords } from "./plan.js";

/** The kinds of errors on the wire. */
type ErrorType = "ValueError" | "NotFoundError" | "ValidationError" | "StateError" | "RuntimeError";

/** The kind of each error code; the compiler requires all codes. */
export const ERROR_TYPES: Record<ErrorCode, ErrorType> = {
  INVALID_INPUT: "ValueError",
  CURSOR_INVALID: "ValueError",
  WORKFLOW_NOT_FOUND: "NotFoundError",
  DEFINITION_INVALID: "RuntimeError",
  DEFINITION_CHANGED: "StateError",
  CONTENT_UNAVAILABLE: "NotFoundError",
  SESSION_NOT_FOUND: "NotFoundError",
  SESSION_LIMIT: "RuntimeError",
  PHASE_LOCKED: "StateError",
  PHASE_ALREADY_COMPLETED: "StateError",
  PHASE_OUT_OF_RANGE: "ValueError",
  TASK_NOT_FOUND: "NotFoundError",
  INVALID_TRANSITION: "StateError",
  ATTEMPTS_EXHAUSTED: "StateError",
  NOT_ALLOWED: "StateError",
  APPROVAL_REFUSED: "StateError",
  EVIDENCE_UNSAFE: "ValueError",
  EVIDENCE_TOO_LARGE: "ValueError",
  IDEMPOTENCY_KEY_REUSED: "ValueError",
  CONFLICT: "StateError",
  BUSY: "RuntimeError",
  TAMPERED: "StateError",
  FORMAT_TOO_NEW: "RuntimeError",
  STORAGE_FAILED: "RuntimeError",
  UNSUPPORTED: "RuntimeError",
  PATH_REFUSED: "ValueError",
  FILE_NOT_FOUND: "NotFoundError",
  TOO_LARGE: "ValueError",
  PLAN_PARSE: "ValueError",
  TEMPLATE: "RuntimeError",
  TASK_LOCKED: "StateError",
  DEFINITION_UNAVAILABLE: "RuntimeError",
  STEP_NOT_CURRENT: "StateError",
  DECIDER_FAILED: "RuntimeError",
  INTERNAL: "RuntimeError",
};

/** Returns an error as an answer; a foreign error without its message. */
export function errorAnswer(tool: string, action: string, error: unknown, sessionId?: string): WireObject {
  if (!isPhasegateError(error)) {
    return {
      status: "error",
      action,
      error: "the server failed for a reason of its own",
      error_type: "RuntimeError",
      code: "INTERNAL",
      remediation: "Try once more; if it fails again, tell the person who runs this server.",
    };
  }
  const message = shorten(inToolWords(error.message));
  const hint = shorten(remediation(tool, error));
  return compact({
    status: "error",
    action,
    session_id: sessionId,
    error: message,
    error_type: ERROR_TYPES[error.code],
    code: error.code,
    remediation: hint,
    ...violation(error),
    ...planWords(error, message, hint),
    next: nextAfter(error, sessionId),
  });
}

/** The longest message, in characters. */
const MESSAGE_MAX = 1500;

function shorten(text: string): string {
  return text.length <= MESSAGE_MAX
    ? text
    : `${text.slice(0, MESSAGE_MAX)}… (${text.length - MESSAGE_MAX} more characters)`;
}

/**
 * Replaces the command at the beginning of a message, such as `completePhase is not possible`. Only there:
 * names of phases and tasks must stay unchanged.
 */
function inToolWords(message: string): string {
  return message.replace(/^\w+(?= (?:failed for|is not possible)\b)/, (command) => actionOf(command) ?? command);
}

/** The tool's actions by the engine's names of commands and operations. */
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

/** Returns the action for a command of the engine; undefined if agents have none. */
function actionOf(command: string): Action | undefined {
  if (Object.hasOwn(ACTIONS_BY_NAME, command)) return ACTIONS_BY_NAME[command];
  return isAction(command) ? command : undefined;
}

function remediation(tool: string, error: AnyPhasegateError): string {
  switch (error.code) {
    case "SESSION_NOT_FOUND":
    case "SESSION_LIMIT":
      return `${error.remedy} Use ${tool}(action='list_sessions').`;
    case "WORKFLOW_NOT_FOUND":
      return `${error.remedy} Use ${tool}(action='list_workflows') to see available workflows.`;
    case "INVALID_TRANSITION": {
      const actions = allowedActions(error.details.allowed);
      return actions.length === 0 ? error.remedy : `Possible now: ${actions.join(", ")}.`;
    }
    default:
      return error.remedy;
  }
}

function allowedActions(commands: readonly string[]): Action[] {
  return commands.flatMap((command) => actionOf(command) ?? []);
}

/** Returns the additional fields of refusals by phase. */
function violation(error: AnyPhasegateError): WireObject {
  switch (error.code) {
    case "PHASE_LOCKED":
      return {
        violation_type: "attempted_skip",
        required_action: `Complete Phase ${error.details.current} checkpoint first`,
      };
    case "PHASE_ALREADY_COMPLETED":
      return {
        violation_type: "already_completed",
        current_phase: error.details.current,
        required_action: `Go on with Phase ${error.details.current}`,
      };
    case "INVALID_TRANSITION":
      return { session_status: error.details.status, valid_actions: allowedActions(error.details.allowed) };
    default:
      return {};
  }
}

function nextAfter(error: AnyPhasegateError, sessionId: string | undefined): WireObject | undefined {
  switch (error.code) {
    case "WORKFLOW_NOT_FOUND":
      return { action: "list_workflows" };
    case "SESSION_NOT_FOUND":
    case "SESSION_LIMIT":
      return { action: "list_sessions" };
    case "PHASE_LOCKED":
    case "PHASE_ALREADY_COMPLETED":
    case "PHASE_OUT_OF_RANGE":
    case "TASK_NOT_FOUND":
      return sessionId === undefined ? undefined : phaseCall(sessionId);
    case "TASK_LOCKED": {
      const [ready] = error.details.ready;
      if (sessionId === undefined) return undefined;
      return ready === undefined ? phaseCall(sessionId) : taskCall(sessionId, error.details.phase, ready);
    }
    case "INVALID_TRANSITION":
      if (sessionId !== undefined && error.details.status === "paused")
        return { action: "resume", session_id: sessionId };
      return sessionId === undefined ? undefined : { action: "get_state", session_id: sessionId, brief: true };
    case "APPROVAL_REFUSED":
    case "CONFLICT":
    case "STORAGE_FAILED":
      return sessionId === undefined ? undefined : { action: "get_state", session_id: sessionId, brief: true };
    default:
      return undefined;
  }
}
