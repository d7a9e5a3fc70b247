/**
 * An MCP server of `@modelcontextprotocol/sdk` 1.x. Its schemas are those of zod, of version 3 until 1.23: what it is given
 * here has the members of such a schema that the SDK reads, so that one form serves all its versions.
 */
import { PhasegateError } from "../errors.js";
import type { PassedSchema } from "../tools/wire.js";
import { isJsonObject } from "../workflow/json.js";
import {
  type ClientCall,
  COMPLETABLE,
  type Complete,
  type Filled,
  type Form,
  type Host,
  type HostServer,
  isServer,
  promptAnswer,
  registerTemplate,
  type SamplingRequest,
  tellingBy,
} from "./host.js";

/** How long the client's user has for an answer, in milliseconds: clients themselves give up on a call after 60 s. */
const ASK_MS = 50_000;

/** The part of the SDK's server that is used. */
interface Server1 extends HostServer {
  readonly server: {
    setRequestHandler(schema: RequestSchema, handler: (request: Request, extra: Extra) => unknown): void;
    registerCapabilities(capabilities: object): void;
    getClientCapabilities(): ReturnType<ClientCall["capabilities"]>;
    createMessage(params: SamplingRequest, options: object): Promise<unknown>;
    elicitInput(params: Omit<Form, "key">, options: object): Promise<{ action: string; content?: unknown }>;
    sendResourceUpdated(params: { uri: string }): Promise<void>;
    sendResourceListChanged(): Promise<void>;
  };
  registerTool(
    name: string,
    config: object,
    callback: (input: unknown, extra: Extra) => unknown,
  ): { inputSchema?: unknown };
  registerResource(name: string, template: object, config: object, read: unknown): unknown;
  registerPrompt(name: string, config: object, callback: (given: Given) => unknown): { argsSchema?: unknown };
}

/** Handlers of requests by method, which the SDK has no public way to. */
type Handlers = Map<string, (request: unknown, extra: unknown) => Promise<unknown>>;

type Given = Readonly<Record<string, string | undefined>>;

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
    prompt({ name, argument, text, ...about }) {
      const argsSchema = { [argument.name]: optionalText(argument.description, argument.complete) };
      const registered = server.registerPrompt(name, { ...about, argsSchema }, async (given) =>
        promptAnswer(await text(given[argument.name])),
      );
      registered.argsSchema = accepting(argsSchema);
    },
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
  const handlers: Handlers | undefined = Reflect.get(server.server, "_requestHandlers");
  if (handlers === undefined) {
    throw new PhasegateError("UNSUPPORTED", "this version of @modelcontextprotocol/sdk keeps its handlers elsewhere", {
      remedy: "Use a version from 1.20 to 1.32, or @modelcontextprotocol/server.",
      details: { operation: "registerTool" },
    });
  }
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
    async ask({ key: _, ...form }): Promise<Filled> {
      // Declined, not answered in time, or a client that says it can ask and can't: the request stays open.
      const answer = await server.elicitInput(form, { signal, timeout: ASK_MS }).catch(() => undefined);
      return answer?.action === "accept" ? { content: answer.content } : {};
    },
  };
}
