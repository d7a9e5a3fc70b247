/** An MCP server of `@modelcontextprotocol/server` 2.x, which must be loaded already where there is such a server. */
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import {
  type ClientCall,
  type Filled,
  type Form,
  type Host,
  type HostServer,
  sdkReading,
  sdkTemplate,
  type ToolResult,
} from "./host.js";

/** The key of a client's capabilities in a request. */
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const COMPLETABLE = Symbol.for("mcp.completable");

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

/** Returns true for what has an `McpServer`'s methods, of either SDK. */
export function isServer(server: unknown): server is object {
  if (typeof server !== "object" || server === null) return false;
  return ["registerTool", "registerResource", "registerPrompt", "isConnected"].every(
    (name) => typeof Reflect.get(server, name) === "function",
  );
}

export function hostOf2(server: Server2): Host {
  /** The client may disconnect at any time, which is not an error. */
  const tell = async (send: () => Promise<void>) => {
    if (server.isConnected()) await send().catch(() => undefined);
  };
  return {
    tool({ name, ...config }, call) {
      server.registerTool(name, config, (input: unknown, ctx: ServerContext) => call(input, callOf(server, ctx)));
    },
    resources(template) {
      const { name, title, description, mimeType } = template;
      server.registerResource(name, sdkTemplate(template), { title, description, mimeType }, sdkReading(template));
    },
    prompt({ name, argument, text, ...about }) {
      const completable = Object.defineProperty(z.string().describe(argument.description), COMPLETABLE, {
        value: { complete: argument.complete },
      });
      const argsSchema = z.object({ [argument.name]: completable.optional() });
      server.registerPrompt(name, { ...about, argsSchema }, async (given) => ({
        messages: [{ role: "user", content: { type: "text", text: await text(given[argument.name]) } }],
      }));
    },
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
    tellUpdated: (uri) => tell(() => server.server.sendResourceUpdated({ uri })),
    tellListChanged: () => tell(async () => server.server.sendResourceListChanged()),
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
    ask: (form) => ask(mcpReq.inputResponses, form),
  };
}

/** The client makes the call twice, the second time with the answer. */
async function ask(responses: Record<string, unknown> | undefined, form: Form): Promise<Filled> {
  const { key, ...params } = form;
  const { inputRequired, inputResponse } = await import("@modelcontextprotocol/server");
  const response = inputResponse(responses, key);
  if (response.kind === "missing")
    return { first: inputRequired({ inputRequests: { [key]: inputRequired.elicit(params) } }) };
  return response.kind === "elicit" && response.action === "accept" ? { content: response.content } : {};
}
