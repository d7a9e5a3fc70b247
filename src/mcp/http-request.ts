/** One HTTP request of an MCP client: its body within limits, what it asks for, its refusal, and its response until it is sent. */
import { isJsonContentType, readRequestBody } from "@modelcontextprotocol/server";
import { isJsonObject } from "../workflow/json.js";

/** A request that was answered, for a log. */
export interface HttpCall {
  /** The name of the actor. */
  readonly actor: string;
  /** The method of MCP, such as `tools/call`. In a batch, of its first request. */
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

/** The body of a request, or its refusal. */
export type ReadBody =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Its size; characters, if they are more than one byte each. */
      readonly bytes: number;
      /** The method of the request; missing for batches, notifications and responses. */
      readonly method?: string;
      /** True if a message is a request, which needs an answer. */
      readonly hasRequest: boolean;
      /** The resources that a subscription stream asks for. */
      readonly subscriptions: readonly string[];
    }
  | { readonly ok: false; readonly reason: string; readonly response: Response };

/** Maximum size of a body, in bytes. */
const BODY_BYTES = 32 * 1024 * 1024;
/** How deep JSON may be nested: deeper than evidence may be, whose own limit has a better message. */
const DEPTH_MAX = 200;
/** Maximum number of messages in a batch. */
const BATCH_MAX = 100;
/** Maximum number of resources that one stream may subscribe to. */
const SUBSCRIPTIONS_MAX = 100;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** Reads the body of a POST. */
export async function readBody(request: Request, maxBytes = BODY_BYTES): Promise<ReadBody> {
  const { headers } = request;
  const encoding = headers.get("content-encoding") ?? "identity";
  if (!isJsonContentType(headers.get("content-type")) || encoding.toLowerCase() !== "identity") {
    return refused(415, "the body must be JSON: send Content-Type: application/json, and do not compress it");
  }
  let text: string;
  try {
    const read = await readRequestBody(request, maxBytes);
    if (read.tooLarge) {
      return refused(413, `a request may have at most ${maxBytes} bytes: send less at once, and leave out long logs`);
    }
    text = read.text;
  } catch {
    return refused(400, "the body ended before it was complete: send it again", PARSE_ERROR);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused(400, "the body is not valid JSON", PARSE_ERROR);
  }
  if (isDeeper(value, DEPTH_MAX)) {
    return refused(400, `JSON may be nested ${DEPTH_MAX} levels deep`, INVALID_REQUEST);
  }
  const messages = Array.isArray(value) ? value : [value];
  if (messages.length > BATCH_MAX) {
    return refused(400, `a batch may have ${BATCH_MAX} messages: send fewer at once`, INVALID_REQUEST);
  }
  const hasRequest = !messages.every(isNoRequest);
  const { method, params } = isJsonObject(value) ? value : {};
  return {
    ok: true,
    value,
    bytes: Number(headers.get("content-length") ?? text.length),
    hasRequest,
    subscriptions: subscriptionsIn(params),
    ...(typeof method === "string" ? { method } : {}),
  };
}

/** Checks for a notification or a response, which get no answer. Anything else does, if only that it is invalid. */
function isNoRequest(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  return "method" in message ? !("id" in message) : "result" in message || "error" in message;
}

/** Returns the resources that a request for a subscription stream names. */
export function subscriptionsIn(params: unknown): readonly string[] {
  const notifications = isJsonObject(params) ? params.notifications : undefined;
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string").slice(0, SUBSCRIPTIONS_MAX) : [];
}

/** Checks for values that are nested deeper than `max`, without recursion. */
function isDeeper(value: unknown, max: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > max) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

function refused(status: number, reason: string, code?: number): ReadBody {
  return { ok: false, reason, response: refusal(status, reason, { code }) };
}

/** What a refusal has beside its status and its message. */
interface RefusalDetails {
  /** The code of JSON-RPC. Default: that of a server's own errors. */
  readonly code?: number | undefined;
  readonly retryAfterSeconds?: number;
}

const SERVER_ERROR = -32000;

/** Returns a refusal by HTTP itself, with an error of JSON-RPC. */
export function refusal(
  status: number,
  message: string,
  { code = SERVER_ERROR, retryAfterSeconds }: RefusalDetails = {},
): Response {
  const headers = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers });
}

/** The longest text of a client in a log, in characters. */
const LOGGED_MAX = 100;

/** Describes the first request in a body; undefined if there is none. */
export function describeCall(value: unknown): Omit<HttpCall, "actor" | "status" | "milliseconds"> | undefined {
  const message = (Array.isArray(value) ? value : [value]).find((one) => !isNoRequest(one));
  if (!isJsonObject(message)) return undefined;
  const { method, id, params } = message;
  if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) return undefined;
  const { name, arguments: given } = isJsonObject(params) ? params : {};
  const { action, session_id: sessionId } = isJsonObject(given) ? given : {};
  return {
    method: method.slice(0, LOGGED_MAX),
    requestId: typeof id === "string" ? id.slice(0, LOGGED_MAX) : id,
    ...(typeof name === "string" ? { tool: name.slice(0, LOGGED_MAX) } : {}),
    ...(typeof action === "string" ? { action: action.slice(0, LOGGED_MAX) } : {}),
    ...(typeof sessionId === "string" ? { sessionId: sessionId.slice(0, LOGGED_MAX) } : {}),
  };
}

/** Maximum number of bytes that a client may leave unread on an event stream. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * Calls `done` once when a response is complete or its client has gone. An event stream that its client does not read is
 * ended: the SDK would keep any number of its events in memory.
 */
export function sent(response: Response, done: () => void, report: (error: unknown) => void): Response {
  const { body, status, headers } = response;
  if (body === null || headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    done();
    return response;
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
