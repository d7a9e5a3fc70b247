/**
 * The calls as tools publish them: names, descriptions and schemas, and the context that a call runs in. A host may choose
 * other names.
 */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { STATUS_WORDS } from "../../routed/decision/request.js";
import type { RoutedEngine } from "../../routed/engine.js";
import type { FollowedReport, RoutedQuestion } from "../../routed/types.js";
import { nearest } from "../../workflow/names.js";
import type { PersonsAnswer } from "../person.js";
import { type ObjectSchema, publishedSchema } from "../schemas.js";
import { cursorSchema, REQUESTS, type RoutedCall } from "./requests.js";

export const CALL_TEXTS: Record<RoutedCall, Readonly<Record<"name" | "title" | "description", string>>> = {
  list: {
    name: "list_workflows",
    title: "List workflows",
    description: "Lists the workflows that can be started, and what they are for.",
  },
  start: {
    name: "start_workflow",
    title: "Start a workflow",
    description:
      "Starts a workflow. The answer has its instance_id and next_step: follow the instructions, then call advance_workflow.",
  },
  advance: {
    name: "advance_workflow",
    title: "Report on a step",
    description:
      "Reports how the current step went, and gives the next one. Where next_step has report_details, report.details must show what it asks for: an answer with `gate` says what is missing. Done when next_step is FINISH.",
  },
  resume: {
    name: "resume_workflow",
    title: "Resume a workflow",
    description:
      "Continues after a break or a lost context: say which step you think you are on and what you have done, and get the right next step.",
  },
  status: {
    name: "get_workflow_status",
    title: "Look at a workflow",
    description: "Returns the state of an instance, with the instructions of its current step. Changes nothing.",
  },
  suspend: {
    name: "suspend_workflow",
    title: "Suspend a workflow",
    description: "Suspends an instance; resume_workflow continues it.",
  },
  cancel: {
    name: "cancel_workflow",
    title: "Cancel a workflow",
    description: "Ends an instance for good. It can't be retried.",
  },
  retry: {
    name: "retry_workflow",
    title: "Retry a workflow",
    description: "Continues a failed instance with the report that was not decided.",
  },
  history: {
    name: "get_workflow_history",
    title: "Read a workflow's history",
    description: "Reports and decisions so far, oldest first, in pages.",
  },
};

export const ALL_CALLS = Object.keys(CALL_TEXTS).filter(isCall);

function isCall(name: string): name is RoutedCall {
  return Object.hasOwn(CALL_TEXTS, name);
}

/** Returns the calls that a host offers, by name. Throws `INVALID_INPUT` for invalid or duplicate names. */
export function namedCalls(
  calls: readonly RoutedCall[],
  names: Partial<Readonly<Record<RoutedCall, string>>>,
): ReadonlyMap<RoutedCall, string> {
  const unknown = [...calls, ...Object.keys(names)].find((call) => !isCall(call));
  if (unknown !== undefined || calls.length === 0) {
    const near = unknown === undefined ? undefined : nearest(unknown, ALL_CALLS);
    const message = unknown === undefined ? "tools need at least one call" : `there is no call ${unknown}`;
    throw new PhasegateError("INVALID_INPUT", message, {
      remedy: near === undefined ? `Choose from ${ALL_CALLS.join(", ")}.` : `Did you mean ${near}?`,
      details: { field: "calls", expected: ALL_CALLS.join(", ") },
    });
  }
  const chosen = ALL_CALLS.filter((call) => calls.includes(call));
  const given = new Map(chosen.map((call) => [call, names[call] ?? CALL_TEXTS[call].name]));
  const all = [...given.values()];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice === undefined) return given;
  throw new PhasegateError("INVALID_INPUT", `two tools would be called ${twice}`, {
    remedy: "Give each call a name of its own.",
    details: { field: "names", expected: "different names" },
  });
}

/** Returns a description with the names that the host has chosen. */
export function describe(call: RoutedCall, names: ReadonlyMap<RoutedCall, string>): string {
  const chosen = new Map(ALL_CALLS.map((other) => [CALL_TEXTS[other].name, names.get(other)]));
  // All at once: a name that was chosen for one call may be the usual one of another.
  return CALL_TEXTS[call].description.replace(/\b[a-z_]+\b/g, (word) => chosen.get(word) ?? word);
}

/** The calls whose answers can come in pages. */
export const READING: ReadonlySet<RoutedCall> = new Set(["list", "status", "history"]);

/** Returns the fields that a call takes, with the cursor of the page before where its answer can come in pages. */
function shapeOf(call: RoutedCall): Readonly<Record<string, z.core.$ZodType>> {
  const { shape } = REQUESTS[call];
  return READING.has(call) ? { ...shape, cursor: z.optional(cursorSchema) } : shape;
}

export function callInput(call: RoutedCall): ObjectSchema {
  return publishedSchema(z.strictObject(shapeOf(call)));
}

/** Returns the input schema of one tool for several calls: an action, and the fields of all. */
export function actionInput(names: ReadonlyMap<RoutedCall, string>): ObjectSchema {
  const fields = [...names.keys()].flatMap((call) => Object.entries(shapeOf(call)));
  const optional = Object.fromEntries(fields.map(([name, schema]) => [name, z.optional(schema)]));
  return publishedSchema(z.strictObject({ action: z.enum([...names.values()]), ...optional }));
}

/** Returns the schema that all answers share, including pages and refusals. */
export function answerOutput(): ObjectSchema {
  return publishedSchema(
    z.looseObject({
      instance_id: z.string().optional(),
      status: z.enum(STATUS_WORDS).optional(),
      next_step: z.looseObject({ step_name: z.string(), instructions: z.string() }).optional(),
      current_context: z.looseObject({}).optional(),
      error_code: z.string().optional(),
      message: z.string().optional(),
    }),
  );
}

/**
 * The options that a host adds to a call. `signal` and `onAsk` are those of the calls that may ask the decider: start,
 * advance, resume and retry. `onCheck` is that of advance and resume.
 */
export interface RoutedCallOptions extends FollowedReport {
  /** Asks a person, if one is present; returns undefined if there is no answer. */
  readonly askPerson?: (question: RoutedQuestion) => Promise<PersonsAnswer | undefined>;
}

/** An interface to a routed engine: MCP's tools, or HTTP. */
export interface RoutedContext extends RoutedCallOptions {
  readonly engine: RoutedEngine;
  /** The calls that clients are given, each under the name that they know it by. */
  readonly names: ReadonlyMap<RoutedCall, string>;
  /** The budget of a page of a history, in characters of JSON. */
  readonly pageChars: number;
}

/** Translates operations of the engine into calls that clients have. */
export function toCalls({ names }: RoutedContext, operations: readonly string[]): string[] {
  return [...names].flatMap(([call, name]) => (operations.includes(call) ? [name] : []));
}
