import * as z from "zod";
import { ROUTED_STATUSES } from "../../routed/decision/request.js";
import type { RoutedEngine } from "../../routed/engine.js";
import type { RoutedQuestion } from "../../routed/types.js";
import type { PersonsAnswer } from "../context.js";
import type { ObjectSchema } from "../phased/actions.js";
import { cursorSchema, REQUESTS, type RoutedCall } from "./requests.js";
/** What a host gives a call beside the client's input. */
export interface RoutedCallOptions {
  /** Asks the person who is there, if one is; undefined if there is no answer. */
  readonly askPerson?: (question: RoutedQuestion) => Promise<PersonsAnswer | undefined>;
}

/** Through what a routed engine is called: MCP's tools, or HTTP. */
export interface RoutedFace extends RoutedCallOptions {
  readonly engine: RoutedEngine;
  /** The calls that clients are given, each under the name that they know it by. */
  readonly names: ReadonlyMap<RoutedCall, string>;
  /** How many characters of JSON a page of a history may have. */
  readonly pageRoom: number;
}

/** Engine's words for what may be done, as the calls that clients are given for it. */
export function toCall({ names }: RoutedFace, operations: readonly string[]): string[] {
  return [...names].flatMap(([call, name]) => (operations.includes(call) ? [name] : []));
}

/** An answer of a tool. */
export interface RoutedToolAnswer {
  readonly isError: boolean;
  readonly body: { readonly [key: string]: unknown };
}

/** A tool that can be registered with anything that takes a name, schemas and a function. */
export interface RoutedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What may be asked through it. */
  readonly calls: readonly RoutedCall[];
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  /** Carries out a call. Never throws and never rejects: whatever is wrong is an answer. */
  dispatch(input: unknown, options?: RoutedCallOptions): Promise<RoutedToolAnswer>;
}

/** What is read can be too long for one answer: then it comes in pages. */
export const READING: ReadonlySet<RoutedCall> = new Set(["list", "status", "history"]);

/** What one call takes. */
export function callInput(call: RoutedCall): ObjectSchema {
  return published(z.strictObject(shapeOf(call)));
}

/** What one tool for several calls takes: an action, and the fields of all; which action takes what, it says when asked. */
export function actionInput(names: ReadonlyMap<RoutedCall, string>): ObjectSchema {
  const fields = [...names.keys()].flatMap((call) => Object.entries(shapeOf(call)));
  const optional = Object.fromEntries(fields.map(([name, schema]) => [name, z.optional(schema)]));
  return published(z.strictObject({ action: z.enum([...names.values()]), ...optional }));
}

/** What all answers share: pages and refusals are answers, too. */
export function answerOutput(): ObjectSchema {
  return published(
    z.looseObject({
      instance_id: z.string().optional(),
      status: z.enum(ROUTED_STATUSES).optional(),
      next_step: z.looseObject({ step_name: z.string(), instructions: z.string() }).optional(),
      current_context: z.looseObject({}).optional(),
      error_code: z.string().optional(),
      message: z.string().optional(),
    }),
  );
}

function shapeOf(call: RoutedCall): Readonly<Record<string, z.core.$ZodType>> {
  const { shape } = REQUESTS[call];
  return READING.has(call) ? { ...shape, cursor: z.optional(cursorSchema) } : shape;
}

/** Every word of a schema is in every context all the time: what only checks is left out. */
function published(schema: z.ZodType): ObjectSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    unrepresentable: "any",
    io: "input",
    override: ({ jsonSchema }) => {
      for (const key of ["minLength", "maxLength", "pattern", "additionalProperties", "propertyNames"] as const) {
        delete jsonSchema[key];
      }
    },
  });
  return { ...rest, type: "object" };
}
