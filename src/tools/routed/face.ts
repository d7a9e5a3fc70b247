/** What the interfaces to a routed engine share (MCP's tools and HTTP), and the schemas of the tools. */

import * as z from "zod";
import { ROUTED_STATUSES } from "../../routed/decision/request.js";
import type { RoutedEngine } from "../../routed/engine.js";
import type { RoutedQuestion } from "../../routed/types.js";
import type { PersonsAnswer } from "../context.js";
import type { ObjectSchema } from "../phased/actions.js";
import { cursorSchema, REQUESTS, type RoutedCall } from "./requests.js";

/** What a host adds to a call. */
export interface RoutedCallOptions {
  /** Asks a person, if one is present; returns undefined if there is no answer. */
  readonly askPerson?: (question: RoutedQuestion) => Promise<PersonsAnswer | undefined>;
}

/** An interface to a routed engine: MCP's tools, or HTTP. */
export interface RoutedFace extends RoutedCallOptions {
  readonly engine: RoutedEngine;
  /** The calls that clients are given, each under the name that they know it by. */
  readonly names: ReadonlyMap<RoutedCall, string>;
  /** How many characters of JSON a page of a history may have. */
  readonly pageRoom: number;
}

/** Translates operations of the engine into calls that clients have. */
export function toCall({ names }: RoutedFace, operations: readonly string[]): string[] {
  return [...names].flatMap(([call, name]) => (operations.includes(call) ? [name] : []));
}

/** An answer of a tool. */
export interface RoutedToolAnswer {
  readonly isError: boolean;
  readonly body: { readonly [key: string]: unknown };
}

/** A tool that can be registered with any server that takes a name, schemas and a function. */
export interface RoutedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What may be asked through it. */
  readonly calls: readonly RoutedCall[];
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  /** Executes a call. Never throws and never rejects: every error is an answer. */
  dispatch(input: unknown, options?: RoutedCallOptions): Promise<RoutedToolAnswer>;
}

/** The calls whose answers can come in pages. */
export const READING: ReadonlySet<RoutedCall> = new Set(["list", "status", "history"]);

/** Returns the input schema of one call. */
export function callInput(call: RoutedCall): ObjectSchema {
  return published(z.strictObject(shapeOf(call)));
}

/** Returns the input schema of one tool for several calls: an action, and the fields of all. */
export function actionInput(names: ReadonlyMap<RoutedCall, string>): ObjectSchema {
  const fields = [...names.keys()].flatMap((call) => Object.entries(shapeOf(call)));
  const optional = Object.fromEntries(fields.map(([name, schema]) => [name, z.optional(schema)]));
  return published(z.strictObject({ action: z.enum([...names.values()]), ...optional }));
}

/** Returns the schema that all answers share, including pages and refusals. */
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

/** Omits what only validates: every word of a schema is in every context all the time. */
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
