/**
 * An MCP server of `@modelcontextprotocol/sdk` 1.x. Its schemas are those of zod, of version 3 until 1.23: what it is given
 * here has the members of such a schema that the SDK reads, so that one form serves all its versions.
 */
import type { PassedSchema } from "../tools/wire.js";
import { isJsonObject } from "../workflow/json.js";
import { addPrompts, handlersOf } from "./handlers.js";
import {
  ASK_MS,
  answerPrompt,
  askWithin,
  type CallingClient,
  type ClientCall,
  COMPLETABLE,
  type Complete,
  type Form,
  type Host,
  type HostServer,
  isServer,
  registerTemplate,
  tellingBy,
} from "./host.js";

/** The part of the SDK's server that is used. */
interface Server1 extends HostServer {
  readonly server: {
    setRequestHandler(schema: RequestSchema, handler: (request: Request, extra: Extra) => unknown): void;
    registerCapabilities(capabilities: object): void;
    getClientCapabilities(): ReturnType<ClientCall["capabilities"]>;
    createMessage: CallingClient["createMessage"];
    elicitInput(params: Omit<Form, "key">, options: object): Promise<{ action: string; content?: unknown }>;
    sendResourceUpdated(params: { uri: string }): Promise<void>;
    sendResourceListChanged(): Promise<void>;
    sendPromptListChanged(): Promise<void>;
  };
  registerTool(
    name: string,
    config: object,
    callback: (input: unknown, extra: Extra) => unknown,
  ): { inputSchema?: unknown };
  registerResource(name: string, template: object, config: object, read: unknown): unknown;
  registerPrompt(
    name: string,
    config: object,
    callback: (given?: Readonly<Record<string, unknown>>) => unknown,
  ): { argsSchema?: unknown };
}

interface Request {
  readonly method: string;
  readonly params: { readonly uri: string };
}

/** What the SDK hands to a handler beside the request. */
interface Extra {
  readonly signal: AbortSignal;
  readonly requestId: string | number;
  readonly sessionId?: string;
  readonly _meta?: ClientCall["meta"];
  sendNotification(notification: { method: string; params: object }): Promise<void>;
}

/** The members of a schema that the SDK reads. */
interface AcceptingSchema {
  readonly _def: { readonly typeName: "ZodAny" };
  readonly shape: object;
  parse(value: unknown): unknown;
  safeParse(value: unknown): { success: true; data: unknown };
  safeParseAsync(value: unknown): Promise<{ success: true; data: unknown }>;
}

interface RequestSchema extends AcceptingSchema {
  readonly shape: { readonly method: { readonly value: string } };
}

/** Returns a schema that accepts everything. */
function accepting<S extends object>(shape: S): AcceptingSchema & { readonly shape: S } {
  const safeParse = (data: unknown) => ({ success: true as const, data });
  const _def = { typeName: "ZodAny" as const };
  return { _def, shape, parse: (value) => value, safeParse, safeParseAsync: async (value) => safeParse(value) };
}

const requestOf = (method: string): RequestSchema => accepting({ method: { value: method } });

/** Returns true for a server of this SDK. */
export function isServer1(server: unknown): server is Server1 {
  return isServer(server) && "tool" in server;
}

export function hostOf1(server: Server1): Host {
  return {
    tool({ name, inputSchema, outputSchema, ...config }, call) {
      const registered = server.registerTool(name, config, (input, extra) => call(input ?? {}, callOf(server, extra)));
      // The tool itself checks its calls. With a schema, its callback gets the input.
      registered.inputSchema = accepting({});
      publish(server, name, inputSchema, outputSchema);
    },
    resources: (template) => registerTemplate(server, template),
    extension: (name, settings) => server.server.registerCapabilities({ extensions: { [name]: settings } }),
    prompt(prompt) {
      const { name, argument, text: _, ...about } = prompt;
      const argsSchema = { [argument.name]: optionalText(argument.description, argument.complete) };
      const registered = server.registerPrompt(name, { ...about, argsSchema }, (given) =>
        answerPrompt(prompt, given ?? {}),
      );
      registered.argsSchema = accepting(argsSchema);
    },
    prompts: (source) => addPrompts(server, source),
    subscriptions(subscribe, unsubscribe) {
      server.server.registerCapabilities({ resources: { subscribe: true } });
      server.server.setRequestHandler(requestOf("resources/subscribe"), async ({ params }) => {
        await subscribe(params.uri);
        return {};
      });
      server.server.setRequestHandler(requestOf("resources/unsubscribe"), ({ params }) => {
        unsubscribe(params.uri);
        return {};
      });
    },
    // The SDK answers a client that sets the level only if the host has declared `logging` when it made the server.
    messages: () => {},
    ...tellingBy(server),
  };
}

/** An argument of a prompt that may be left out. Versions before 1.23 show no proposals for it. */
function optionalText(description: string, complete: Complete) {
  return { description, isOptional: () => true, [COMPLETABLE]: { complete } };
}

/**
 * Lists a tool with its own JSON Schemas: the SDK can only make them of zod's. Its list is asked, so that other tools stay as
 * they are.
 */
function publish(server: Server1, name: string, input: PassedSchema, output: PassedSchema | undefined): void {
  const handlers = handlersOf(server, "registerTool");
  const list = handlers.get("tools/list");
  handlers.set("tools/list", async (request, extra) => {
    const listed = await list?.(request, extra);
    if (!isJsonObject(listed) || !Array.isArray(listed.tools)) return listed;
    const inputSchema = input["~standard"].jsonSchema.input();
    const outputSchema = output?.["~standard"].jsonSchema.output();
    const tools = listed.tools.map((tool) =>
      isJsonObject(tool) && tool.name === name ? { ...tool, inputSchema, outputSchema } : tool,
    );
    return { ...listed, tools };
  });
}

function callOf({ server }: Server1, { signal, requestId, sessionId, _meta, sendNotification }: Extra): ClientCall {
  return {
    ...{ method: "tools/call", id: requestId, meta: _meta, signal, connectionId: sessionId },
    capabilities: () => server.getClientCapabilities(),
    warn: (data) =>
      sendNotification({ method: "notifications/message", params: { level: "warning", logger: "phasegate", data } }),
    progress: (params) => sendNotification({ method: "notifications/progress", params }),
    sample: (params, options) => server.createMessage(params, options),
    ask: (form) => askWithin(form, (params) => server.elicitInput(params, { signal, timeout: ASK_MS })),
  };
}
