/**
 * What tools, resources and prompts need of a host's MCP server, and of a call: the same for both SDKs. No SDK is imported,
 * since a host has one of them installed; sdk-1.ts and sdk-2.ts know the differences, and sdks.ts which one a server is of.
 */
import { systemClock } from "../ports/clock.js";
import type { PassedSchema } from "../tools/wire.js";
import { RecentMap } from "../workflow/cache.js";
import { shown } from "../workflow/names.js";

/**
 * An MCP server of a host: the `McpServer` of `@modelcontextprotocol/server` 2.x, or the one of `@modelcontextprotocol/sdk`
 * from 1.20 on.
 */
export interface HostServer {
  /** The SDK's server of requests and notifications. */
  readonly server: object;
  /** Registers a tool. */
  registerTool(name: string, config: never, callback: never): unknown;
  /** Registers a resource. */
  registerResource(name: string, uriOrTemplate: never, config: never, callback: never): unknown;
  /** Registers a prompt. */
  registerPrompt(name: string, config: never, callback: never): unknown;
  /** Returns true while a client is connected. */
  isConnected(): boolean;
}

/** The hints for a client that decides whether to ask its user before a call. */
export interface ToolHints {
  readonly title?: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

/** A tool as clients list it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: PassedSchema;
  readonly outputSchema?: PassedSchema;
  readonly annotations: ToolHints;
  /** For the client alone: what shows its answers. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The answer to a call of a tool, or what the SDK sends instead to ask the client's user first. */
export type ToolResult =
  | {
      readonly content: TextPart[];
      readonly structuredContent: Record<string, unknown>;
      readonly isError: false;
      /** For the client alone: no model reads it. */
      readonly _meta?: Readonly<Record<string, unknown>>;
    }
  | { readonly content: TextPart[]; readonly isError: true; readonly _meta?: Readonly<Record<string, unknown>> }
  | AskedFirst;

interface TextPart {
  type: "text";
  text: string;
}

/** A result of the SDK that asks the client's user; the client then makes the call again. */
export interface AskedFirst {
  readonly resultType: "input_required";
}

/** What the user of a client is asked. */
export interface Form {
  /** Identifies the question: an answer counts for no other one. */
  readonly key: string;
  readonly message: string;
  readonly requestedSchema: {
    type: "object";
    properties: Record<
      string,
      { type: "string"; title: string; description?: string; enum?: string[]; maxLength?: number }
    >;
    required: string[];
  };
}

/** What came of a form: the user's answer, or what must be sent first. Neither if the user has declined or was not reached. */
export interface Filled {
  readonly content?: unknown;
  readonly first?: AskedFirst;
}

/** How long the client's user has for an answer, in milliseconds. The call is answered sooner, and a late answer counts, too. */
export const ASK_MS = 600_000;

/** The questions that clients have not answered, with the time. Some clients say that they can ask, and can't. */
const asking = new RecentMap<string, number>(1000);

/** Returns false if the question was put already and may still be answered: it is not put again by each repeated call. */
export function beginAsking(key: string): boolean {
  const now = systemClock.elapsed();
  if (now - (asking.get(key) ?? Number.NEGATIVE_INFINITY) < ASK_MS) return false;
  asking.set(key, now);
  return true;
}

export function endAsking(key: string): void {
  asking.delete(key);
}

/** Asks by a request to the client. Never rejects: where the client can't ask, or its answer is invalid, the question stays open. */
export async function askWithin(
  { key, ...form }: Form,
  send: (form: Omit<Form, "key">) => Promise<{ readonly action: string; readonly content?: unknown }>,
): Promise<Filled> {
  if (!beginAsking(key)) return {};
  try {
    const { action, content } = await send(form);
    return action === "accept" ? { content } : {};
  } catch {
    return {};
  } finally {
    endAsking(key);
  }
}

/** A client during a call, whose model a `SamplingDecider` can ask. */
export interface CallingClient {
  /** Returns what the client can do; undefined if it has not said so. */
  getClientCapabilities(): { readonly sampling?: object | undefined } | undefined;
  /** Asks the client's model. */
  createMessage(
    params: {
      messages: { role: "user"; content: { type: "text"; text: string } }[];
      systemPrompt: string;
      maxTokens: number;
    },
    options: { signal: AbortSignal; timeout: number },
  ): Promise<unknown>;
}

/** A call that a client has made. */
export interface ClientCall {
  readonly method: string;
  readonly id: string | number;
  readonly meta: { readonly progressToken?: string | number | undefined; readonly [key: string]: unknown } | undefined;
  readonly signal: AbortSignal;
  /** The transport's connection, if it has an id. */
  readonly connectionId: string | undefined;
  /** Returns what the client can do; undefined if it has not said so. */
  capabilities():
    | {
        readonly sampling?: object | undefined;
        readonly elicitation?: object | undefined;
        readonly extensions?: Readonly<Record<string, object | undefined>> | undefined;
      }
    | undefined;
  /** Sends a message about a session. Rejects if the client is gone, or the server sends no messages. */
  warn(data: unknown): Promise<void>;
  /** Sends the progress of the call. Rejects if the client is gone. */
  progress(params: { progressToken: string | number; progress: number; total: number; message: string }): Promise<void>;
  /** Asks the client's model. */
  sample: CallingClient["createMessage"];
  /** Asks the client's user. Never rejects. */
  ask(form: Form): Promise<Filled>;
}

/** Returns proposals for a value that begins with a text; `others` are the other values of the same URI. */
export type Complete = (value: string, others?: Readonly<Record<string, string>>) => Promise<readonly string[]>;

/** A resource in a list. */
export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: { readonly lastModified: string };
}

/** Resources that are read at the URIs of one template, such as `phasegate://session/{id}`, or at one URI that is not listed. */
export interface ResourceTemplate {
  readonly name: string;
  readonly uri: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  /** `_meta` of a text: how a client shows it. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly list?: (() => Promise<ListedResource[]>) | undefined;
  readonly complete?: Readonly<Record<string, Complete>> | undefined;
  /** Returns the text at a URI, whose variables are decoded. */
  read(uri: URL, values: Readonly<Record<string, string>>): Promise<string>;
}

/** A prompt with one argument that may be left out. */
export interface ListedPrompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly argument: { readonly name: string; readonly description: string; readonly complete: Complete };
  /** Returns the text. */
  text(value: string | undefined): Promise<string>;
}

/** A prompt as clients list it. */
export interface PromptEntry {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
}

/** Prompts that are known only when a client asks. For a name that is not theirs, `text` and `complete` return undefined. */
export interface PromptSource {
  /** Returns a page, from a cursor on. */
  list(cursor: string | undefined): Promise<{ prompts: readonly PromptEntry[]; nextCursor?: string | undefined }>;
  /** Returns a prompt's text; `given` are the arguments, unchecked. */
  text(name: string, given: unknown): Promise<string | undefined>;
  complete(name: string, argument: string, value: string): Promise<readonly string[] | undefined>;
}

/** Maximum number of proposals of a completion that MCP allows. */
export const PROPOSALS = 100;

/** An MCP server that things are registered with. */
export interface Host {
  tool(listed: ListedTool, call: (input: unknown, call: ClientCall) => Promise<ToolResult>): void;
  resources(template: ResourceTemplate): void;
  /** Says that the server has an extension of the protocol. */
  extension(name: string, settings: Record<string, string[]>): void;
  prompt(prompt: ListedPrompt): void;
  /** Adds prompts of a source to those that are registered; one must be. */
  prompts(source: PromptSource): void;
  /** Lets clients subscribe to resources. */
  subscriptions(subscribe: (uri: string) => Promise<void>, unsubscribe: (uri: string) => void): void;
  /** Says that messages may be sent, where that can still be said. */
  messages(): void;
  /** Tells a client that is connected. Never rejects: the client may be gone. */
  tellUpdated(uri: string): Promise<void>;
  tellResourcesChanged(): Promise<void>;
  tellPromptsChanged(): Promise<void>;
}

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** An error that a client gets with its code. Both SDKs send the numeric `code` of whatever is thrown. */
export class McpFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(kind: "invalid params" | "internal error", message: string, data: unknown) {
    super(message);
    this.code = kind === "invalid params" ? INVALID_PARAMS : INTERNAL_ERROR;
    this.data = data;
  }
}

/** The error for a resource that does not exist, in the form that clients know it by. */
export function resourceNotFound(uri: string): McpFailure {
  return new McpFailure("invalid params", `Resource not found: ${uri}`, { uri });
}

/** A template of URIs, whose parts between slashes are texts, variables `{id}`, or one for the rest of the URI, `{+path}`. */
class UriTemplate {
  readonly variableNames: string[];
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.variableNames = text.split("/").flatMap((part) => nameIn(part) ?? []);
  }

  /** Returns the values of the variables, as they are in the URI; null if it does not match. */
  match(uri: string): Record<string, string> | null {
    const parts = this.#text.split("/");
    const given = uri.split("/");
    // A variable for the rest takes all of it.
    if (parts.at(-1)?.startsWith("{+")) given.push(given.splice(parts.length - 1).join("/"));
    if (given.length !== parts.length) return null;
    const values: Record<string, string> = {};
    for (const [index, part] of parts.entries()) {
      const [name, value = ""] = [nameIn(part), given[index]];
      if (name === undefined ? part !== value : value === "") return null;
      if (name !== undefined) values[name] = value;
    }
    return values;
  }

  toString(): string {
    return this.#text;
  }
}

/** Returns the name of the variable that a part of a template is; undefined for a text. */
function nameIn(part: string): string | undefined {
  return part.startsWith("{") ? part.replace(/^\{\+?/, "").slice(0, -1) : undefined;
}

/** Registers the resources of a template: both SDKs take them in the same way. */
export function registerTemplate(
  server: { registerResource(name: string, template: object, config: object, read: object): unknown },
  template: ResourceTemplate,
): void {
  const { name, title, description, mimeType } = template;
  server.registerResource(name, sdkTemplate(template), { title, description, mimeType }, sdkReading(template));
}

/** Returns what tells a connected client of changes. */
export function tellingBy(server: {
  readonly server: {
    sendResourceUpdated(params: { uri: string }): Promise<void>;
    sendResourceListChanged(): Promise<void>;
    sendPromptListChanged(): Promise<void>;
  };
  isConnected(): boolean;
}): Pick<Host, "tellUpdated" | "tellResourcesChanged" | "tellPromptsChanged"> {
  /** The client may disconnect at any time, which is not an error. */
  const tell = async (send: () => Promise<void>) => {
    if (server.isConnected()) await send().catch(() => undefined);
  };
  return {
    tellUpdated: (uri) => tell(() => server.server.sendResourceUpdated({ uri })),
    tellResourcesChanged: () => tell(() => server.server.sendResourceListChanged()),
    tellPromptsChanged: () => tell(() => server.server.sendPromptListChanged()),
  };
}

/** Answers a client that asks for a prompt with one argument. */
export async function answerPrompt({ name, argument, text }: ListedPrompt, given: Readonly<Record<string, unknown>>) {
  const unknown = Object.keys(given).find((key) => key !== argument.name);
  if (unknown !== undefined) {
    const problem = `the prompt ${name} has no argument ${shown(unknown)}. It has ${argument.name}.`;
    throw new McpFailure("invalid params", problem, { argument: unknown });
  }
  const value = given[argument.name];
  return promptAnswer(await text(typeof value === "string" ? value : undefined));
}

/** Returns the answer to a client that asks for a prompt. */
export function promptAnswer(text: string) {
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}

/** The key under which both SDKs look for proposals of a prompt's argument. */
export const COMPLETABLE = Symbol.for("mcp.completable");

/** Returns true for what has an `McpServer`'s methods, of either SDK. */
export function isServer(server: unknown): server is object {
  if (typeof server !== "object" || server === null) return false;
  return ["registerTool", "registerResource", "registerPrompt", "isConnected"].every(
    (name) => typeof Reflect.get(server, name) === "function",
  );
}

/** Returns a template as both SDKs take it: of their own `ResourceTemplate` they read these members. */
function sdkTemplate({ uri, list, complete = {} }: ResourceTemplate) {
  return {
    uriTemplate: new UriTemplate(uri),
    listCallback: list && (async () => ({ resources: await list() })),
    completeCallback(name: string) {
      const own = Object.hasOwn(complete, name) ? complete[name] : undefined;
      return (
        own && ((value: string, context?: { arguments?: Record<string, string> }) => own(value, context?.arguments))
      );
    },
  };
}

/** Returns the callback that reads the resources of a template. */
function sdkReading({ mimeType, meta, read }: ResourceTemplate) {
  return async (uri: URL, variables: Readonly<Record<string, string | string[]>>) => {
    const values = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, decoded(value)]));
    return { contents: [{ uri: uri.href, mimeType, text: await read(uri, values), ...(meta && { _meta: meta }) }] };
  };
}

/** Returns the value of a variable; `""`, which names nothing, if it can't be decoded. */
function decoded(value: string | readonly string[]): string {
  try {
    return decodeURIComponent(typeof value === "string" ? value : "");
  } catch {
    return "";
  }
}
