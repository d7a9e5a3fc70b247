/** One HTTP request of an MCP client: its body within limits, what it asks for, its refusal, and its response until it is sent. */
import { isJsonContentType } from "@modelcontextprotocol/server";
import { readText, type Unread, USED_BODY } from "../runtime/body.js";
import { isJsonObject } from "../workflow/json.js";
import { SUBSCRIPTIONS_MAX } from "./changes.js";

/** A request that was answered, for a log. Each request of a batch is one. */
export interface HttpCall {
  /** The name of the actor. */
  readonly actor: string;
  /** The method of MCP, such as `tools/call`. */
  readonly method: string;
  /** The id of the request, as the client chose it. */
  readonly requestId: string | number;
  /** The tool that was called. */
  readonly tool?: string;
  /** The action of the workflow tool. */
  readonly action?: string;
  /** The phasegate session that the call names. */
  readonly sessionId?: string;
  /** The status of the HTTP response. */
  readonly status: number;
  /** From the arrival of the request to the end of its response, in milliseconds. */
  readonly milliseconds: number;
}

export type ReadBody =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly bytes: number;
      /** The method of the request; missing for batches, notifications and responses. */
      readonly method?: string;
      /** How many messages are requests, which need an answer. */
      readonly requests: number;
      /** True if a message has its effect on a connection: it means nothing without one. */
      readonly needsConnection: boolean;
      /** The resources that a subscription stream asks for. */
      readonly subscriptions: readonly string[];
    }
  | { readonly ok: false; readonly reason: string; readonly response: Response };

/** Maximum size of a body, in bytes. */
export const BODY_BYTES = 32 * 1024 * 1024;
/** How deep JSON may be nested: deeper than evidence may be, whose own limit has a better message. */
const DEPTH_MAX = 200;
/** Maximum number of values and keys in a body. Parsed, the smallest ones take fifty times the memory of their text. */
const VALUES_MAX = 1_000_000;
/** Maximum number of messages in a batch. */
const BATCH_MAX = 100;

const NEED_CONNECTION: ReadonlySet<unknown> = new Set([
  "resources/subscribe",
  "resources/unsubscribe",
  "logging/setLevel",
]);

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

export interface BodyLimits {
  /** Maximum size, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum number of messages in a batch. */
  readonly maxMessages: number;
  /** Takes memory for so many bytes; false if the actor has none left. */
  take(bytes: number): boolean;
}

export async function readBody(request: Request, limits: BodyLimits): Promise<ReadBody> {
  const { headers } = request;
  const { maxBytes = BODY_BYTES } = limits;
  const encoding = headers.get("content-encoding") ?? "identity";
  if (!isJsonContentType(headers.get("content-type")) || encoding.toLowerCase() !== "identity") {
    return refused(415, "the body must be JSON: send Content-Type: application/json, and do not compress it");
  }
  const read = await readText(request, maxBytes, limits.take);
  if (!read.ok) return unread(read.why, maxBytes);
  const { text, bytes } = read;
  const excess = excessOf(text);
  if (excess !== undefined) return refused(400, excess, INVALID_REQUEST);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused(400, "the body is not valid JSON", PARSE_ERROR);
  }
  const messages = Array.isArray(value) ? value : [value];
  if (messages.length === 0) return refused(400, "the batch is empty: send at least one message", INVALID_REQUEST);
  const maxMessages = Math.min(BATCH_MAX, limits.maxMessages);
  if (messages.length > maxMessages) {
    return refused(400, `a batch may have ${maxMessages} messages: send fewer at once`, INVALID_REQUEST);
  }
  const requests = messages.filter((message) => !isNoRequest(message)).length;
  const { method: name, params } = isJsonObject(value) ? value : {};
  const method = typeof name === "string" ? name : undefined;
  const needsConnection = messages.some((message) => isJsonObject(message) && NEED_CONNECTION.has(message.method));
  return { ok: true, value, bytes, method, requests, needsConnection, subscriptions: subscriptionsIn(params) };
}

/** Checks for a notification or a response, which get no answer. Anything else does, if only that it is invalid. */
function isNoRequest(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  return "method" in message ? !("id" in message) : "result" in message || "error" in message;
}

export function subscriptionsIn(params: unknown): readonly string[] {
  const notifications = isJsonObject(params) ? params.notifications : undefined;
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string").slice(0, SUBSCRIPTIONS_MAX) : [];
}

function unread(why: Unread, maxBytes: number): ReadBody {
  switch (why) {
    case "large":
      return refused(413, `a request may have at most ${maxBytes} bytes: send less at once, and leave out long logs`);
    case "refused": {
      const response = refusal(503, "your requests under way are too large together: wait for one to end");
      return { ok: false, reason: "too many bytes at once", response };
    }
    case "broken":
      return refused(400, "the body ended before it was complete: send it again", PARSE_ERROR);
    case "encoding":
      return refused(400, "the body is not UTF-8", PARSE_ERROR);
    case "used":
      return refused(500, `${USED_BODY.message} ${USED_BODY.remedy}`, INTERNAL_ERROR);
  }
}

/** Returns what is too much in a JSON text, before it is parsed: some need gigabytes, and seconds. */
function excessOf(text: string): string | undefined {
  let [depth, values] = [0, 0];
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (inText) {
      if (character === BACKSLASH) at += 1;
      else if (character === QUOTE) inText = false;
      continue;
    }
    if (character === QUOTE) inText = true;
    else if (character === COMMA || character === COLON) values += 1;
    else if (character === BRACKET || character === BRACE) {
      depth += 1;
      values += 1;
      if (depth > DEPTH_MAX) return `JSON may be nested ${DEPTH_MAX} levels deep`;
    } else if (character === BRACKET + 2 || character === BRACE + 2) depth -= 1;
  }
  return values > VALUES_MAX ? `JSON may have ${VALUES_MAX} values and keys: send less at once` : undefined;
}

const [QUOTE, COMMA, COLON, BRACKET, BACKSLASH, BRACE] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b];

function refused(status: number, reason: string, code?: number): ReadBody {
  return { ok: false, reason, response: refusal(status, reason, code) };
}

const SERVER_ERROR = -32000;

/** Returns a refusal by HTTP itself, with an error of JSON-RPC. After a 503 the client may try again a little later. */
export function refusal(status: number, message: string, code = SERVER_ERROR): Response {
  const headers: Record<string, string> = status === 503 ? { "retry-after": "1" } : {};
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers });
}

/** The longest text of a client in a log, in characters. */
const LOGGED_MAX = 100;

type Called = Omit<HttpCall, "actor" | "status" | "milliseconds">;

export function describeCalls(value: unknown): readonly Called[] {
  return (Array.isArray(value) ? value : [value]).flatMap((message) => describeCall(message) ?? []);
}

function describeCall(message: unknown): Called | undefined {
  if (isNoRequest(message) || !isJsonObject(message)) return undefined;
  const { method, id, params } = message;
  if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) return undefined;
  const { name, arguments: given } = isJsonObject(params) ? params : {};
  const { action, session_id: sessionId } = isJsonObject(given) ? given : {};
  return {
    method: method.slice(0, LOGGED_MAX),
    requestId: typeof id === "string" ? id.slice(0, LOGGED_MAX) : id,
    tool: logged(name),
    action: logged(action),
    sessionId: logged(sessionId),
  };
}

function logged(text: unknown): string | undefined {
  return typeof text === "string" ? text.slice(0, LOGGED_MAX) : undefined;
}

/** Maximum number of bytes that a client may leave unread on an event stream. */
const UNREAD_BYTES = 16 * 1024 * 1024;

export interface Sending {
  /** Called once, when it is complete or its client has gone. */
  done(): void;
  /** Called with the bytes that it has, as they are known. */
  count(bytes: number): void;
  report(error: unknown): void;
}

/**
 * Follows a response until it is sent. An event stream that its client does not read is ended: the SDK would keep any number
 * of its events in memory.
 */
export async function sent(response: Response, { done, count, report }: Sending): Promise<Response> {
  const { body, status, headers } = response;
  if (body === null) {
    done();
    return response;
  }
  if (headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    const whole = await response.arrayBuffer();
    done();
    count(whole.byteLength);
    return new Response(whole, { status, headers });
  }
  const reader = body.getReader();
  let isOver = false;
  const end = () => {
    if (!isOver) done();
    isOver = true;
  };
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      for (let part = await reader.read(); !part.done && !isOver; part = await reader.read()) {
        controller.enqueue(part.value);
        count(part.value.length);
        if ((controller.desiredSize ?? 0) <= 0) throw new Error(`a client left ${UNREAD_BYTES} bytes unread`);
      }
      if (!isOver) controller.close();
    } catch (error) {
      report(error);
      controller.error(error);
      await reader.cancel(error).catch(report);
    }
    end();
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void pump(controller);
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: UNREAD_BYTES }),
  );
  return new Response(stream, { status, headers });
}
