/** Checks calls of the tool. All problems are reported at once, with a valid call as example. */

import * as z from "zod/mini";
import { nearest, shown } from "../../workflow/names.js";
import {
  type Action,
  exampleCall,
  isAction,
  PARAMETERS,
  type Parameter,
  parametersOf,
  type Request,
} from "./actions.js";

/** A call that can't be executed: its problems and a valid call. */
export interface BadRequest {
  readonly action: string;
  readonly message: string;
  readonly remediation: string;
  /** A right call of the action that was meant. */
  readonly example?: Record<string, unknown>;
  /** For an unknown action. */
  readonly validActions?: readonly Action[];
}

/** Checks a call; returns its parameters, or all its problems. */
export function parseRequest(input: unknown, allowed: readonly Action[]): Request | BadRequest {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return unknownAction(undefined, "the input must be an object with an 'action'", allowed);
  }
  const entries = Object.entries(input).filter(([, value]) => value !== undefined && value !== null);
  const action: unknown = entries.find(([name]) => name === "action")?.[1];
  if (!isAction(action) || !allowed.includes(action)) {
    const problem = action === undefined ? "'action' is missing" : `Unknown action: ${shown(action)}`;
    return unknownAction(action, problem, allowed);
  }
  const given = entries.filter(([name]) => name !== "action");
  const problems = problemsOf(action, given);
  if (problems.length > 0) return badParameters(action, problems, given);
  return checked(action, Object.fromEntries(given));
}

/** Returns true if a call was refused. */
export function isBadRequest(parsed: Request | BadRequest): parsed is BadRequest {
  return "message" in parsed;
}

function unknownAction(action: unknown, message: string, allowed: readonly Action[]): BadRequest {
  const meant = typeof action === "string" ? nearest(action, allowed) : undefined;
  const example = meant === undefined || !isAction(meant) ? undefined : exampleCall(meant);
  return {
    action: typeof action === "string" ? shown(action).slice(1, -1) : "",
    message,
    remediation: meant === undefined ? "Use one of valid_actions." : `Did you mean '${meant}'?`,
    validActions: allowed,
    ...(example === undefined ? {} : { example }),
  };
}

function problemsOf(action: Action, given: readonly (readonly [string, unknown])[]): string[] {
  const { required, all } = parametersOf(action);
  const missing = required
    .filter((name) => given.every(([other]) => other !== name))
    .map((name) => `'${name}' is missing`);
  const wrong = given.flatMap(([name, value]) => {
    if (!isParameter(name)) return [unknownParameter(name, all)];
    if (!all.includes(name)) return [`${action} does not take '${name}'`];
    return typeProblem(name, value);
  });
  return [...missing, ...wrong];
}

function isParameter(name: string): name is Parameter {
  return Object.hasOwn(PARAMETERS, name);
}

function unknownParameter(name: string, all: readonly Parameter[]): string {
  const meant = nearest(name, all);
  return `${shown(name)} is unknown${meant === undefined ? "" : `: did you mean '${meant}'?`}`;
}

function typeProblem(name: Parameter, value: unknown): string[] {
  const result = PARAMETERS[name].safeParse(value);
  if (result.success) return [];
  return [`'${name}' must be ${expected(name)}, got ${shown(value)}`];
}

function expected(name: Parameter): string {
  const schema: z.ZodMiniType = PARAMETERS[name];
  if (schema instanceof z.ZodMiniEnum) return `one of ${schema.options.join(", ")}`;
  if (schema instanceof z.ZodMiniRecord) return "an object";
  if (schema instanceof z.ZodMiniBoolean) return "true or false";
  return schema instanceof z.ZodMiniNumber ? "a whole number" : "a string";
}

/** Limits the problems that are named. */
const PROBLEMS_MAX = 20;

function badParameters(
  action: Action,
  found: readonly string[],
  given: readonly (readonly [string, unknown])[],
): BadRequest {
  const { all } = parametersOf(action);
  const right = new Map(given.filter(([name, value]) => isRight(name, value, all)));
  const example = {
    ...exampleCall(
      action,
      all.filter((name) => right.has(name)),
    ),
    ...Object.fromEntries(right),
  };
  const more = found.length - PROBLEMS_MAX;
  const problems = more > 0 ? [...found.slice(0, PROBLEMS_MAX), `and ${more} more`] : found;
  const takes = all.length === 0 ? "no parameters" : all.join(", ");
  return {
    action,
    message: `${action}: ${problems.join("; ")}`,
    remediation: `${action} takes ${takes}. Call it like the example.`,
    example,
  };
}

/** The longest value that is repeated, in characters. */
const SHOWN_MAX = 200;

/** Returns true if a given parameter may be repeated in the example: valid, short, and not a claim. */
function isRight(name: string, value: unknown, all: readonly Parameter[]): boolean {
  if (!isParameter(name) || !all.includes(name) || typeof value === "object") return false;
  return typeProblem(name, value).length === 0 && String(value).length <= SHOWN_MAX;
}

/** The one place where checked values get the types of their action. */
function checked(action: Action, params: object): Request {
  const request: { action: Action; params: object } = { action, params };
  if (isChecked(request)) return request;
  throw new Error("an action that is none");
}

function isChecked(request: { action: Action; params: object }): request is Request {
  return parametersOf(request.action).required.every((name) => Object.hasOwn(request.params, name));
}
