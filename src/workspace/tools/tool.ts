/**
 * The tools of a workspace: their type, their answers, and the check of their arguments. The entry file of this folder:
 * - files.ts: what reading and listing return, and how a long file is paged
 * - sessions.ts: which session a path is saved to, what preloading and steps answer, and the table of all tools
 */
import type * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { type Action, action, type Failure } from "../../tools/dispatch.js";
import { fieldNames, isOptional, type ObjectSchema, publishedSchema, unknownField } from "../../tools/wire.js";
import type { Connection } from "../session/keeper.js";

/** The answer of a tool that has done what was asked; each tool adds what it found or made. */
export interface ToolSuccess {
  /** True: the tool has done what was asked. */
  readonly success: true;
}

/** The answer of a tool that has failed. It contains no absolute path. */
export interface ToolFailure {
  /** False: nothing was done. */
  readonly success: false;
  /** What is wrong. */
  readonly error: string;
  /** What to do next. */
  readonly remedy: string;
}

/** An answer of a tool. */
export type ToolResult = ToolSuccess | ToolFailure;

/** A tool as it is listed. */
export interface ToolListing {
  /** The name that agents call. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For agents; short, since it is in every context all the time. */
  readonly description: string;
  /** True if it changes nothing. */
  readonly readOnly: boolean;
  /** The schema of its arguments. */
  readonly input: z.ZodObject;
}

/** A tool of the table. MCP tools, tools of the AI SDK and plain functions are made of it. */
export interface WorkspaceTool<Done extends ToolSuccess = ToolSuccess>
  extends ToolListing,
    Pick<Action<Connection, Done>, "run"> {}

/** A tool of the table, with the types of its arguments and its answer. */
export interface DefinedTool<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess>
  extends WorkspaceTool<Done> {
  readonly input: z.ZodObject<Shape>;
}

interface ToolDefinition<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess> extends ToolListing {
  readonly input: z.ZodObject<Shape>;
  run(args: z.infer<z.ZodObject<Shape>>, connection: Connection): Promise<Done>;
}

/** Creates a tool whose arguments are checked before it runs. */
export function defineTool<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess>({
  run: runTool,
  ...listing
}: ToolDefinition<Shape, Done>): DefinedTool<Shape, Done> {
  const { run } = action(listing.input, (connection: Connection, args) => runTool(args, connection));
  return { ...listing, run };
}

/** Limits the faults that are named. */
const FAULTS_MAX = 5;

/** Returns why a tool was not run, as an error; a foreign error unchanged. */
export function errorOf({ name, input }: ToolListing, failure: Failure): unknown {
  if ("error" in failure) return failure.error;
  const fields = fieldNames(input);
  const faults = failure.faults.map(({ kind, field, message }) =>
    kind === "unknown" ? unknownField(field, fields) : `${field || "the arguments"}: ${message}`,
  );
  return new PhasegateError("INVALID_INPUT", `${name} was called wrongly: ${faults.slice(0, FAULTS_MAX).join("; ")}`, {
    remedy: `It takes ${fields.map((field) => (isOptional(input, field) ? `${field}?` : field)).join(", ")}.`,
    details: { expected: fields.join(", ") },
  });
}

/** Returns the JSON Schema of a tool's arguments. */
export function publishedInput({ input }: Pick<ToolListing, "input">): ObjectSchema {
  return publishedSchema(input, { closed: true });
}
