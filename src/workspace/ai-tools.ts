import { type PassedSchema, passThroughSchema } from "../tools/wire.js";
import { publishedInput, type ToolResult } from "./tools/tool.js";
import type { WorkspaceConnection } from "./workspace.js";

/** A tool of the Vercel AI SDK, as far as this library has to know it: what `tool()` takes. */
export interface AiTool {
  readonly description: string;
  readonly inputSchema: PassedSchema;
  /** Calls the tool; never rejects. */
  readonly execute: (input: unknown) => Promise<ToolResult>;
}

/**
 * A workspace's tools for the Vercel AI SDK: `generateText({ tools: workspaceTools(workspace.connect()), … })`. Make a
 * connection of its own for each conversation: it may write the sessions that it has begun, and no others.
 */
export function workspaceTools(connection: WorkspaceConnection): Record<string, AiTool> {
  return Object.fromEntries(
    connection.tools.map((tool) => {
      const execute = (input: unknown) => connection.call(tool.name, input);
      return [
        tool.name,
        { description: tool.description, inputSchema: passThroughSchema(publishedInput(tool)), execute },
      ];
    }),
  );
}
