import type { CallToolResult, McpServer, ToolAnnotations } from "@modelcontextprotocol/server";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedQuestion } from "../routed/types.js";
import { READING, type RoutedTool, type RoutedToolAnswer } from "../tools/routed/face.js";
import { createRoutedTools, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import { ElicitedApproval } from "./elicit-approval.js";
import { passThroughSchema } from "./workspace-tools.js";
/**
 * Registers the tools of routed workflows with a host's own MCP server (`@modelcontextprotocol/server` 2.x): seed 003's
 * five, and suspend, cancel, retry and history beside them; or one for all. The tools that were registered come back.
 */
export function registerRoutedTools(
  server: McpServer,
  engine: RoutedEngine,
  options: RoutedToolsOptions = {},
): readonly RoutedTool[] {
  const tools = createRoutedTools(engine, options);
  for (const tool of tools) registerTool(server, tool);
  return tools;
}

function registerTool(server: McpServer, tool: RoutedTool): void {
  const { name, title, description, inputSchema, outputSchema } = tool;
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: passThroughSchema(inputSchema),
      outputSchema: passThroughSchema(outputSchema),
      annotations: annotations(tool),
    },
    async (input, ctx) => {
      const person = new ElicitedApproval(server, ctx);
      const answered = await tool.dispatch(input, {
        askPerson: (question) => person.ask({ ...question, warnings: [], about: aboutOf(question) }),
      });
      return person.question() ?? resultOf(answered);
    },
  );
}

function aboutOf({ step, workflowType, sessionId }: RoutedQuestion): string {
  return `The step ${step} of ${workflowType}, instance ${sessionId}`;
}

/** Structured, and as text for clients that know no other. */
function resultOf({ body, isError }: RoutedToolAnswer): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(body) }], structuredContent: { ...body }, isError };
}

function annotations({ title, calls }: RoutedTool): ToolAnnotations {
  const readOnly = calls.every((call) => READING.has(call));
  return {
    title,
    readOnlyHint: readOnly,
    // Only what is cancelled can't be gone on with.
    destructiveHint: calls.includes("cancel"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}
