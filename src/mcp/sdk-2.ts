/** An MCP server of `@modelcontextprotocol/server` 2.x, which must be loaded already where there is such a server. */
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import { addPrompts } from "./handlers.js";
import {
  ASK_MS,
  answerPrompt,
  askWithin,
  beginAsking,
  type ClientCall,
  COMPLETABLE,
  endAsking,
  type Filled,
  type Form,
  type Host,
  type HostServer,
  isServer,
  registerTemplate,
  type ToolResult,
  tellingBy,
} from "./host.js";

/** The key of a client's capabilities in a request. */
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** The part of the SDK's server that is used. A template has the members that the SDK reads, and need not be its own. */
interface Server2 extends HostServer {
  readonly server: McpServer["server"];
  registerTool(
    name: string,
    config: object,
    callback: (input: unknown, ctx: ServerContext) => Promise<ToolResult>,
  ): unknown;
  registerResource(name: string, template: object, config: object, read: object): unknown;
  readonly registerPrompt: McpServer["registerPrompt"];
}

/** Returns true for a server of this SDK, which has no `tool` any more. */
export function isServer2(server: unknown): server is Server2 {
  return isServer(server) && !("tool" in server);
}

export function hostOf2(server: Server2): Host {
  return {
    tool({ name, ...config }, call) {
      server.registerTool(name, config, (input: unknown, ctx: ServerContext) => call(input, callOf(server, ctx)));
    },
    resources: (template) => registerTemplate(server, template),
    extension: (name, settings) => server.server.registerCapabilities({ extensions: { [name]: settings } }),
    prompt(prompt) {
      const { name, argument, text: _, ...about } = prompt;
      const completable = Object.defineProperty(z.string().describe(argument.description), COMPLETABLE, {
        value: { complete: argument.complete },
      });
      const argsSchema = z.looseObject({ [argument.name]: completable.optional() });
      server.registerPrompt(name, { ...about, argsSchema }, (given) => answerPrompt(prompt, given));
    },
    prompts: (source) => addPrompts(server, source),
    subscriptions(subscribe, unsubscribe) {
      server.server.registerCapabilities({ resources: { subscribe: true } });
      server.server.setRequestHandler("resources/subscribe", async ({ params }) => {
        await subscribe(params.uri);
        return {};
      });
      server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
        unsubscribe(params.uri);
        return {};
      });
    },
    messages: () => server.server.registerCapabilities({ logging: {} }),
    ...tellingBy(server),
  };
}

function callOf({ server }: Server2, ctx: ServerContext): ClientCall {
  const { mcpReq, sessionId: connectionId } = ctx;
  const { method, id, _meta: meta, signal } = mcpReq;
  return {
    ...{ method, id, meta, signal, connectionId },
    capabilities() {
      const envelope: object = mcpReq.envelope ?? {};
      const own: unknown = Reflect.get(envelope, CAPABILITIES);
      return own ?? server.getClientCapabilities();
    },
    warn: (data) => mcpReq.log("warning", data, "phasegate"),
    progress: (params) => mcpReq.notify({ method: "notifications/progress", params }),
    sample: (params, options) => mcpReq.requestSampling(params, options),
    // Clients of protocols up to 2025-11-25 are asked during the call.
    ask: (form) =>
      mcpReq.envelope === undefined
        ? askWithin(form, (params) => mcpReq.elicitInput(params, { signal, timeout: ASK_MS }))
        : ask(mcpReq.inputResponses, form),
  };
}

/** The client makes the call twice, the second time with the answer. One that can't ask makes it without: it is asked once. */
async function ask(responses: Record<string, unknown> | undefined, form: Form): Promise<Filled> {
  const { key, ...params } = form;
  const { inputRequired, inputResponse } = await import("@modelcontextprotocol/server");
  const response = inputResponse(responses, key);
  if (response.kind === "missing") {
    if (!beginAsking(key)) return {};
    return { first: inputRequired({ inputRequests: { [key]: inputRequired.elicit(params) } }) };
  }
  endAsking(key);
  return response.kind === "elicit" && response.action === "accept" ? { content: response.content } : {};
}
