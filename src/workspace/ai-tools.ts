/** The tools of a workspace for the Vercel AI SDK. */

import { type PassedSchema, passThroughSchema } from "../tools/wire.js";
import { publishedInput, type ToolResult } from "./tools/tool.js";
import type { WorkspaceConnection } from "./workspace.js";

/** A tool of the Vercel AI SDK: the part of what `tool()` takes that this library needs. */
export interface AiTool {
  /** The description for the model. */
  readonly description: string;
  /** The schema of the arguments. It accepts everything: the tool itself reports what is wrong. */
  readonly inputSchema: PassedSchema;
  /** Calls the tool; never rejects. */
  readonly execute: (input: unknown) => Promise<ToolResult>;
}

/**
 * Returns a workspace's tools for the Vercel AI SDK: `generateText({ tools: workspaceTools(workspace.connect()), … })`.
 * Use a new connection for each conversation: it may write the sessions that it has created or reopened, and no others.
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
