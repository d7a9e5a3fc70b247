import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { nearest, shown } from "../../workflow/names.js";
import type { Connection } from "../connection.js";
/** What a tool answers when it has done what was asked; each adds what it has found or made. */
export interface ToolSuccess {
  readonly success: true;
}

/** What a tool answers when it hasn't: what is wrong, and what to do next. Names no place on the disk. */
export interface ToolFailure {
  readonly success: false;
  readonly error: string;
  readonly remedy: string;
}

/** An answer of a tool. */
export type ToolResult = ToolSuccess | ToolFailure;

/** What a tool says of itself. */
export interface ToolListing {
  /** As agents call it. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For agents; short, for it is in every context all the time. */
  readonly description: string;
  /** Whether it changes nothing. */
  readonly readOnly: boolean;
  /** What it takes. */
  readonly input: z.ZodObject;
}

/** A tool as it stands in the table: MCP, the AI SDK and plain functions are made of it. */
export interface WorkspaceTool extends ToolListing {
  /** Does it with arguments that aren't checked yet. Throws a `PhasegateError` for what can't be done. */
  run(input: unknown, connection: Connection): Promise<ToolSuccess>;
}

/** What a tool is made of. */
interface ToolDefinition<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly input: z.ZodObject<Shape>;
  run(args: z.infer<z.ZodObject<Shape>>, connection: Connection): Promise<Done>;
}

/** A tool of the table, and the types of what it takes and gives. */
export interface DefinedTool<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess> extends WorkspaceTool {
  readonly input: z.ZodObject<Shape>;
  run(input: unknown, connection: Connection): Promise<Done>;
}

/** Puts the check of its arguments before a tool. */
export function defineTool<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess>(
  tool: ToolDefinition<Shape, Done>,
): DefinedTool<Shape, Done> {
  return { ...tool, run: (input, connection) => tool.run(checked(tool.name, tool.input, input), connection) };
}

function checked<Shape extends z.core.$ZodLooseShape>(tool: string, schema: z.ZodObject<Shape>, input: unknown) {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const takes = Object.keys(schema.shape);
  const faults = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => unknownKey(key, takes))
      : [`${issue.path.join(".") || "the arguments"}: ${issue.message}`],
  );
  throw new PhasegateError("INVALID_INPUT", `${tool} was called wrongly: ${faults.slice(0, 5).join("; ")}`, {
    remedy: `It takes ${takes.map((name) => (schema.shape[name]?.safeParse(undefined).success ? `${name}?` : name)).join(", ")}.`,
    details: { expected: takes.join(", ") },
  });
}

function unknownKey(key: string, takes: readonly string[]): string {
  const near = nearest(key, takes);
  return near === undefined ? `${shown(key)} is not known` : `${shown(key)} is not known; did you mean ${near}?`;
}

/** A JSON Schema of an object, as faces list it. */
export interface PublishedSchema {
  readonly type: "object";
  readonly [key: string]: unknown;
}

/** What only checks. */
const CHECKS = [
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "minLength",
  "maxLength",
  "maxItems",
  "propertyNames",
] as const;

/** What a tool takes, as JSON Schema. Every word of it is in every context all the time: what only checks is left out. */
export function publishedInput({ input }: Pick<ToolListing, "input">): PublishedSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => {
      for (const key of CHECKS) delete jsonSchema[key];
      // What the values of a record may be is said where they are wrong.
      if (typeof jsonSchema.additionalProperties === "object") delete jsonSchema.additionalProperties;
    },
  });
  return { ...rest, type: "object" };
}
