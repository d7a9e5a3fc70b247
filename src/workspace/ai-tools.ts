import { type PublishedSchema, publishedInput, type ToolResult } from "./tools/tool.js";
import type { WorkspaceConnection } from "./workspace.js";

/**
 * A schema as the AI SDK takes it (Standard Schema): it publishes JSON Schema, and the tool itself says what is wrong.
 */
export interface PassedSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Lets everything through. */
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: {
      /** What the tool takes, as JSON Schema. */
      readonly input: () => Record<string, unknown>;
      /** The same. */
      readonly output: () => Record<string, unknown>;
    };
  };
}

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
      return [tool.name, { description: tool.description, inputSchema: passed(publishedInput(tool)), execute }];
    }),
  );
}

function passed(schema: PublishedSchema): PassedSchema {
  const published = () => ({ ...schema });
  return {
    "~standard": {
      version: 1,
      vendor: "phasegate",
      validate: (value) => ({ value }),
      jsonSchema: { input: published, output: published },
    },
  };
}
