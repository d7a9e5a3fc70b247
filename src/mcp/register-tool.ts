/** How a tool is registered with a host's MCP server: each call is measured, and its answer is a text, with its structure if it is no error. */
import { measured, outcomeOf, type ToolAnswer, type WatchedTools } from "./calls.js";
import type { Elicited } from "./elicit-approval.js";
import type { ClientCall, Host, ListedTool } from "./host.js";

/** A tool as it is registered: what is published, and what runs. */
export interface Registered extends WatchedTools, ListedTool {
  /** The values of `action` that the tool knows. */
  readonly actions?: readonly string[];
  /** Answers a call. `ask` takes what a person was asked, and returns the answer if there is one already. */
  run(input: unknown, call: ClientCall, ask: (asked: Elicited) => Elicited["answer"]): Promise<ToolAnswer>;
}

/** Registers a tool, whose calls are measured. */
export function registerTool(host: Host, { telemetry, actions = [], run, ...listed }: Registered): void {
  host.tool(listed, async (input, client) => {
    let open: Elicited = {};
    const work = () =>
      run(input, client, (asked) => {
        open = asked;
        return asked.answer;
      });
    const call = measured(listed.name, actions, input, client);
    const { body, isError, meta } = await (telemetry === undefined ? work() : telemetry.measure(call, work, outcomeOf));
    if (open.form !== undefined) return open.form;
    const json = JSON.stringify(body);
    const _meta = meta && { _meta: meta };
    // Gemini CLI gives all parts of an error to its model, and makes a structure of a text that is JSON.
    if (isError) return { content: [{ type: "text", text: `Error: ${json}` }], isError, ..._meta };
    // As a text, too, for clients without structured output.
    return { content: [{ type: "text", text: json }], structuredContent: { ...body }, isError, ..._meta };
  });
}
