import type * as z from "zod";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { PhasegateError } from "../../errors.js";
import type { Connection } from "../connection.js";
import type { ToolDefinition, ToolSuccess, WorkspaceTool } from "./workspace-tool.js";

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
