/** How a tool is registered with a host's MCP server: each call is measured, and its answer is also a text. */
import type { McpServer, ServerContext, StandardSchemaWithJSON, ToolAnnotations } from "@modelcontextprotocol/server";
import { measured, outcomeOf, type ToolAnswer, type WatchedTools } from "./calls.js";
import type { Elicited } from "./elicit-approval.js";

/** A tool as it is registered: what is published, and what runs. */
export interface Registered extends WatchedTools {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
  readonly annotations: ToolAnnotations;
  /** The values of `action` that the tool knows. */
  readonly actions?: readonly string[];
  /** Answers a call. `ask` takes what a person was asked, and returns the answer if there is one already. */
  run(input: unknown, ctx: ServerContext, ask: (asked: Elicited) => Elicited["answer"]): Promise<ToolAnswer>;
}

/** Registers a tool. Its answers are also texts, and its calls are measured. */
export function registerTool(server: McpServer, { name, telemetry, actions = [], run, ...config }: Registered): void {
  server.registerTool(name, config, async (input: unknown, ctx: ServerContext) => {
    let open: Elicited = {};
    const work = () =>
      run(input, ctx, (asked) => {
        open = asked;
        return asked.answer;
      });
    const call = measured(name, actions, input, ctx);
    const { body, isError } = await (telemetry === undefined ? work() : telemetry.measure(call, work, outcomeOf));
    // As a text, too, for clients without structured output.
    const content = [{ type: "text" as const, text: JSON.stringify(body) }];
    return open.form ?? { content, structuredContent: { ...body }, isError };
  });
}
