import type { CallToolResult } from "@modelcontextprotocol/server";
import type { WorkflowResponse } from "../tool/tool-context.js";

/** An answer of the tool as MCP carries it: structured, and as text for clients that know no other. */
export function callResult(response: WorkflowResponse): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(response) }],
    structuredContent: { ...response },
    isError: response.status === "error",
  };
}
