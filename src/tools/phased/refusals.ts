/**
 * Refusals: the answer to a wrong request, which has all its faults and a valid call, and to each error. The message of
 * a foreign error is never shown: it may contain anything.
 */
import * as z from "zod/mini";
import { type AnyPhasegateError, isPhasegateError } from "../../errors.js";
import { nearest, shown } from "../../workflow/names.js";
import { shortMessage, WIRE_ERRORS } from "../dispatch.js";
import { compact, type Fault, unknownField, type WireObject } from "../wire.js";
import {
  type Action,
  exampleCall,
  isAction,
  isParameter,
  PARAMETERS,
  parametersOf,
  type ToolContext,
} from "./actions.js";
import { CALL } from "./next-call.js";
import { planWords } from "./plan.js";

/** Returns the answer to a call whose action is missing, unknown, or not given to agents. */
export function unknownActionAnswer(fault: Fault | undefined, action: unknown, allowed: readonly Action[]): WireObject {
  if (isAction(action)) {
    return badRequestAnswer({
      action,
      error: `'${action}' is off on this server`,
      remediation: "Ask the person who runs this to do it, or use one of valid_actions.",
      valid_actions: allowed,
    });
  }
  const meant = typeof action === "string" ? nearest(action, allowed) : undefined;
  return badRequestAnswer({
    action: typeof action === "string" ? shown(action).slice(1, -1) : "",
    error: actionProblem(fault, action),
    remediation: meant === undefined ? "Use one of valid_actions." : `Did you mean '${meant}'?`,
    example: isAction(meant) ? exampleCall(meant) : undefined,
    valid_actions: allowed,
  });
}

function actionProblem(fault: Fault | undefined, action: unknown): string {
  if (fault?.kind === "no object") return "the input must be an object with an 'action'";
  return action === undefined ? "'action' is missing" : `Unknown action: ${shown(action)}`;
}

/** Limits the problems that are named. */
const PROBLEMS_MAX = 20;

/** Returns the answer to a call with wrong parameters: what is missing first, then the others in the order given. */
export function badParametersAnswer(action: Action, faults: readonly Fault[], given: WireObject): WireObject {
  const { all } = parametersOf(action);
  const places = new Map(Object.keys(given).map((name, index) => [name, index]));
  const placeOf = ({ kind, field }: Fault) => (kind === "missing" ? -1 : (places.get(field) ?? -1));
  const found = [...faults].sort((one, other) => placeOf(one) - placeOf(other));
  const more = found.length - PROBLEMS_MAX;
  const problems = found.slice(0, PROBLEMS_MAX).map((fault) => problemWith(action, fault, given));
  if (more > 0) problems.push(`and ${more} more`);
  const wrong = new Set(faults.map(({ field }) => field));
  const right = Object.entries(given).filter(([name, value]) => !wrong.has(name) && isRepeatable(value));
  const takes = all.length === 0 ? "no parameters" : all.join(", ");
  return badRequestAnswer({
    action,
    error: `${action}: ${problems.join("; ")}`,
    remediation: `${action} takes ${takes}. Call it like the example.`,
    example: { ...exampleCall(action), ...Object.fromEntries(right) },
  });
}

function badRequestAnswer({ action, error, remediation, ...more }: WireObject): WireObject {
  return compact({
    status: "error",
    action,
    error,
    error_type: "ValueError",
    code: "INVALID_INPUT",
    remediation,
    ...more,
  });
}

function problemWith(action: Action, { field, kind }: Fault, given: WireObject): string {
  if (kind === "missing") return `'${field}' is missing`;
  // What is wrong with an item of a list, is wrong with the list.
  const [name = ""] = kind === "unknown" ? [field] : field.split(".");
  if (!isParameter(name)) return unknownField(field, parametersOf(action).all);
  if (kind === "unknown") return `${action} does not take '${name}'`;
  return `'${name}' must be ${expectedBy(PARAMETERS[name])}, got ${shown(given[name])}`;
}

/** Returns what a parameter must be by its schema, in words. */
export function expectedBy(schema: z.ZodMiniType): string {
  if (schema instanceof z.ZodMiniEnum) return `one of ${schema.options.join(", ")}`;
  if (schema instanceof z.ZodMiniCustom) return "an object";
  if (schema instanceof z.ZodMiniArray) return "a list of strings";
  if (schema instanceof z.ZodMiniBoolean) return "true or false";
  if (schema instanceof z.ZodMiniNumberFormat) return "a whole number";
  return schema instanceof z.ZodMiniNumber ? "a number" : "a string";
}

/** The longest value that is repeated in an example, in characters. */
const REPEATED_MAX = 200;

/** Returns true if a valid parameter may be repeated in the example: short, and not a claim. */
function isRepeatable(value: unknown): boolean {
  return typeof value !== "object" && String(value).length <= REPEATED_MAX;
}

/** The actions that agents get. */
type GivenTool = Pick<ToolContext, "actions">;

/** Returns an error as an answer; a foreign error without its message. */
export function errorAnswer(tool: GivenTool, action: string, error: unknown, sessionId?: string): WireObject {
  if (!isPhasegateError(error)) {
    return {
      status: "error",
      action,
      error: "internal error of the server",
      error_type: "RuntimeError",
      code: "INTERNAL",
      remediation: "Call it again. If it fails again, tell the operator of this server.",
    };
  }
  const message = shortMessage(inToolWords(error.message));
  const hint = shortMessage(remediation(tool, error));
  return compact({
    status: "error",
    action,
    session_id: sessionId,
    error: message,
    error_type: WIRE_ERRORS[error.code].type,
    code: error.code,
    remediation: hint,
    ...violation(error),
    ...planWords(error, message, hint),
    next: nextAfter(error, sessionId),
  });
}

/**
 * Replaces the command at the beginning of a message, such as `completePhase is not possible`. Only there:
 * names of phases and tasks must stay unchanged.
 */
function inToolWords(message: string): string {
  return message.replace(/^\w+(?= (?:failed:|is not possible))/, (command) => actionOf(command) ?? command);
}

/** The actions whose names are not those of the engine's commands and operations in other letters. */
const OTHER_NAMES: Readonly<Record<string, Action | undefined>> = {
  getFullState: "get_state",
  artifact: "get_state",
  startChild: "start",
  getOptions: "get_session",
  delete: "delete_session",
  errors: "get_errors",
  history: "get_history",
};

/** Returns the action for a command of the engine, such as `complete_phase` for `completePhase`; undefined if agents have none. */
export function actionOf(command: string): Action | undefined {
  if (Object.hasOwn(OTHER_NAMES, command)) return OTHER_NAMES[command];
  const name = command.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return isAction(name) ? name : undefined;
}

function remediation({ actions: given }: GivenTool, error: AnyPhasegateError): string {
  // The name of the action, without the tool's: over HTTP each action is a route.
  const lists = (action: Action, why = "") => (given.includes(action) ? ` Use ${action}${why}.` : "");
  switch (error.code) {
    case "SESSION_NOT_FOUND":
      return `${error.remedy}${lists("list_sessions")}`;
    // The engine's remedy is for the host, which is told, too: an agent can't raise the limit.
    case "SESSION_LIMIT":
      if (error.details.actor !== undefined) return `${error.remedy}${lists("list_sessions")}`;
      return `Finish a session that you work on, or wait until one ends.${lists("list_sessions")}`;
    case "WORKFLOW_NOT_FOUND":
      return `${error.remedy}${lists("list_workflows", " to see available workflows")}`;
    case "INVALID_TRANSITION": {
      if (error.details.status === "completed") return "The session is completed: nothing is left to do in it.";
      if (error.details.submission !== undefined) return error.remedy;
      // Nobody should be led to delete a session, and what it proves, because of a wrong call.
      const allowed = allowedActions(error.details.allowed).filter((action) => action !== "delete_session");
      const actions = allowed.filter((action) => given.includes(action));
      if (actions.length > 0) return `Possible now: ${actions.join(", ")}.`;
      return allowed.length === 0
        ? error.remedy
        : `Ask the person who runs this: agents may not ${allowed.join(" or ")}.`;
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
        reason: `Currently on Phase ${error.details.current}`,
        required_action: `Complete Phase ${error.details.current} checkpoint first`,
      };
    case "PHASE_ALREADY_COMPLETED":
      return {
        violation_type: "already_completed",
        current_phase: error.details.current,
        required_action: `Continue with Phase ${error.details.current}`,
      };
    case "INVALID_TRANSITION":
      return { session_status: error.details.status, valid_actions: allowedActions(error.details.allowed) };
    default:
      return {};
  }
}

function nextAfter(error: AnyPhasegateError, sessionId: string | undefined): WireObject | null | undefined {
  switch (error.code) {
    case "WORKFLOW_NOT_FOUND":
      return CALL.workflows();
    case "SESSION_NOT_FOUND":
    case "SESSION_LIMIT":
      return CALL.sessions();
    case "INVALID_TRANSITION":
      if (error.details.status === "completed") return null;
      if (sessionId === undefined) return undefined;
      return error.details.status === "paused" ? CALL.resume(sessionId) : CALL.state(sessionId);
    case "TASK_LOCKED": {
      const [ready] = error.details.ready;
      if (sessionId === undefined) return undefined;
      return ready === undefined ? CALL.phase(sessionId) : CALL.task(sessionId, error.details.phase, ready);
    }
    case "PHASE_LOCKED":
    case "PHASE_ALREADY_COMPLETED":
    case "PHASE_OUT_OF_RANGE":
    case "TASK_NOT_FOUND":
      return sessionId === undefined ? undefined : CALL.phase(sessionId);
    case "APPROVAL_REFUSED":
    case "CONFLICT":
    case "STORAGE_FAILED":
      return sessionId === undefined ? undefined : CALL.state(sessionId);
    default:
      return undefined;
  }
}
