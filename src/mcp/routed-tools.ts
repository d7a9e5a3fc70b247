/** The tools of routed workflows on a host's MCP server. */
import type { RoutedEngine } from "../routed/engine.js";
import { ALL_CALLS, namedCalls, READING } from "../tools/routed/calls.js";
import { createRoutedTools, type RoutedTool, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import { passThroughSchema } from "../tools/wire.js";
import { followCall, type WatchedTools } from "./calls.js";
import type { CallingClient, HostServer } from "./host.js";
import { registerTool } from "./register-tool.js";
import { hostOf } from "./sdks.js";

/** Options of {@link registerRoutedTools}. */
export interface RegisterRoutedToolsOptions extends RoutedToolsOptions, WatchedTools {
  /**
   * Runs each call of a client. With `AsyncLocalStorage` a `SamplingDecider` finds the client that is calling:
   * `during: (client, call) => clients.run(client, call)` and `new SamplingDecider({ server: () => clients.getStore() })`.
   * Default: just runs it.
   */
  readonly during?: <T>(client: CallingClient, call: () => Promise<T>) => Promise<T>;
}

/**
 * Registers the tools of routed workflows with a host's own MCP server, of either SDK: one for each
 * call (list, start, advance, resume, status, suspend, cancel, retry, history), or a single one for all. Returns them.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function registerRoutedTools(
  server: HostServer,
  engine: RoutedEngine,
  options: RegisterRoutedToolsOptions = {},
): readonly RoutedTool[] {
  const { during = (_, call) => call(), telemetry, ...toolsOptions } = options;
  const tools = createRoutedTools(engine, toolsOptions);
  const host = hostOf("registerRoutedTools", server);
  const actions = [...namedCalls(options.calls ?? ALL_CALLS, options.names ?? {}).values()];
  for (const { name, title, description, inputSchema, outputSchema, calls, dispatch } of tools) {
    const readOnlyHint = calls.every((call) => READING.has(call));
    // Only a cancelled instance cannot be continued.
    const hints = { readOnlyHint, destructiveHint: calls.includes("cancel"), idempotentHint: readOnlyHint };
    registerTool(host, {
      name,
      title,
      description,
      inputSchema: passThroughSchema(inputSchema),
      outputSchema: passThroughSchema(outputSchema),
      annotations: { title, ...hints, openWorldHint: false },
      telemetry,
      actions,
      async run(input, asked, ask) {
        const client: CallingClient = {
          // A request without a connection says nothing about its client, whose answers would not reach this process.
          getClientCapabilities: () => asked.capabilities() ?? {},
          createMessage: (params, options) => asked.sample(params, options),
        };
        const { end, ...followed } = followCall(asked);
        const call = () =>
          dispatch(input, {
            ...followed,
            askPerson: async (question) => {
              const { elicitApproval } = await import("./elicit-approval.js");
              const about = `The step ${question.step} of ${question.workflowType}, instance ${question.sessionId}`;
              return ask(await elicitApproval(asked, { ...question, warnings: [], about }));
            },
          });
        return during(client, call).finally(end);
      },
    });
  }
  return tools;
}
