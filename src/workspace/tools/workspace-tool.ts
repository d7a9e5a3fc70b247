import type * as z from "zod";
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
export interface ToolDefinition<Shape extends z.core.$ZodLooseShape, Done extends ToolSuccess> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly input: z.ZodObject<Shape>;
  run(args: z.infer<z.ZodObject<Shape>>, connection: Connection): Promise<Done>;
}
