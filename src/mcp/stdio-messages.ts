/**
 * The messages on stdio, independent of streams: cuts chunks of bytes into lines within a size limit, and reads a line as
 * a JSON-RPC message, or as the error to answer it with.
 */
import {
  INVALID_REQUEST,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PARSE_ERROR,
  type RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../workflow/json.js";

const LINE_FEED = 10;
const FIRST_BYTES = 4096;

/** A line without its line end, or the note that a line was too long. */
export type StdioLine = Uint8Array | "too long";

/**
 * Returns a function that cuts chunks into lines: it returns the lines that end in a chunk. The bytes of an unfinished line
 * are copied into one buffer, so that a line in chunks of one byte needs no more memory than its length. A line over
 * `maxBytes` is reported once, and the rest of it is dropped.
 */
export function createStdioLines(maxBytes: number): (chunk: Uint8Array) => StdioLine[] {
  let held = new Uint8Array(0);
  let length = 0;
  let dropping = false;

  const hold = (part: Uint8Array) => {
    if (length + part.length > held.length) {
      const larger = new Uint8Array(Math.max(held.length * 2, length + part.length, FIRST_BYTES));
      larger.set(held.subarray(0, length));
      held = larger;
    }
    held.set(part, length);
    length += part.length;
  };
  const release = (): Uint8Array => {
    const line = held.subarray(0, length);
    held = new Uint8Array(0);
    length = 0;
    return line;
  };
  const ended = (part: Uint8Array): StdioLine | undefined => {
    if (dropping) {
      dropping = false;
      return undefined;
    }
    if (length + part.length > maxBytes) {
      release();
      return "too long";
    }
    if (length === 0) return part;
    hold(part);
    return release();
  };

  return (chunk) => {
    const lines: StdioLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      const line = ended(chunk.subarray(from, end));
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    if (dropping || rest.length === 0) return lines;
    if (length + rest.length <= maxBytes) hold(rest);
    else {
      release();
      dropping = true;
      lines.push("too long");
    }
    return lines;
  };
}

/** An error response of JSON-RPC 2.0. The id is null if the one of the message cannot be read. */
export interface RpcError {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** A line by its kind. Notifications and responses are checked only as far as their kind requires. */
export type ReadMessage =
  | { readonly kind: "request"; readonly message: JSONRPCRequest }
  | { readonly kind: "notification"; readonly message: JSONRPCNotification }
  | { readonly kind: "response"; readonly id: RequestId; readonly message: JsonObject }
  | { readonly kind: "refused"; readonly answer: RpcError }
  /** A blank line, or an invalid notification or response, which JSON-RPC leaves without an answer. */
  | { readonly kind: "nothing" };

/**
 * Reads a line. The SDK's transport drops invalid messages without an answer. It also tries a notification as each of the
 * other kinds first, which costs fifty times as much as parsing it.
 */
export function readMessage(line: Uint8Array): ReadMessage {
  const text = decoded(line);
  if (text === undefined) return refusedAs(PARSE_ERROR, null, "the line is not UTF-8: send JSON in UTF-8");
  if (text.trim() === "") return { kind: "nothing" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refusedAs(PARSE_ERROR, null, `the line is not valid JSON: ${reason}`);
  }
  return messageOf(value);
}

/** Returns the answer to a line that is too long. */
export function lineTooLong(maxBytes: number): RpcError {
  return refusal(
    INVALID_REQUEST,
    null,
    `a message may have at most ${maxBytes} bytes: send less at once, and leave out long logs`,
  );
}

/** Decodes a line without its byte order mark. */
const DECODER = new TextDecoder("utf-8", { fatal: true });

function decoded(line: Uint8Array): string | undefined {
  try {
    return DECODER.decode(line);
  } catch {
    return undefined;
  }
}

function messageOf(value: unknown): ReadMessage {
  if (Array.isArray(value)) {
    return refusedAs(INVALID_REQUEST, null, "batches are not supported: send each message on its own line");
  }
  if (!isJsonObject(value)) return refusedAs(INVALID_REQUEST, null, "a message must be a JSON object");
  const { jsonrpc, method, id } = value;
  const known = isId(id) ? id : null;
  if (jsonrpc !== "2.0") return refusedAs(INVALID_REQUEST, known, 'the member "jsonrpc" must be "2.0"');
  if (method === undefined && ("result" in value || "error" in value)) return responseOf(value, known);
  if (typeof method !== "string") return refusedAs(INVALID_REQUEST, known, 'the member "method" must be a string');
  return "id" in value ? requestOf(value, known) : notificationOf(method, value.params);
}

function requestOf(value: JsonObject, id: RequestId | null): ReadMessage {
  if (id === null) return refusedAs(INVALID_REQUEST, null, 'the member "id" must be a string or a whole number');
  const { params } = value;
  if (params !== undefined && !isJsonObject(params)) {
    return refusedAs(INVALID_REQUEST, id, 'the member "params" must be an object');
  }
  if (isJSONRPCRequest(value)) return { kind: "request", message: value };
  const message =
    'a request may have only "jsonrpc", "id", "method" and "params", with "params._meta" as MCP defines it';
  return refusedAs(INVALID_REQUEST, id, message);
}

function notificationOf(method: string, params: unknown): ReadMessage {
  if (params === undefined) return { kind: "notification", message: { jsonrpc: "2.0", method } };
  if (!isJsonObject(params)) return { kind: "nothing" };
  return { kind: "notification", message: { jsonrpc: "2.0", method, params } };
}

function responseOf(value: JsonObject, id: RequestId | null): ReadMessage {
  return id === null ? { kind: "nothing" } : { kind: "response", id, message: value };
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function refusedAs(code: number, id: RequestId | null, message: string): ReadMessage {
  return { kind: "refused", answer: refusal(code, id, message) };
}

function refusal(code: number, id: RequestId | null, message: string): RpcError {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
