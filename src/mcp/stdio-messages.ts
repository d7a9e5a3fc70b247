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
import { grown } from "../runtime/body.js";
import { isJsonObject, type JsonObject } from "../workflow/json.js";

const LINE_FEED = 10;

/** A line without its line end, or the note that a line was too long. */
export type StdioLine = Uint8Array | "too long";

/**
 * Returns a function that cuts chunks into lines: it returns the lines that end in a chunk. The bytes of an unfinished line
 * are copied into one buffer, so that a line in chunks of one byte needs no more memory than its length. A line over
 * `maxBytes` is reported once, and the rest of it is dropped.
 */
export function createStdioLines(maxBytes: number): (chunk: Uint8Array) => StdioLine[] {
  let held = new Uint8Array(0);
  /** The length of the unfinished line, of which nothing is held once it is too long. */
  let length = 0;
  return (chunk) => {
    const lines: StdioLine[] = [];
    for (let from = 0, end = 0; end !== -1; from = end + 1) {
      end = chunk.indexOf(LINE_FEED, from);
      const part = chunk.subarray(from, end === -1 ? chunk.length : end);
      const before = length;
      length += part.length;
      if (length <= maxBytes) {
        held = grown(held, length, maxBytes);
        held.set(part, before);
      } else {
        held = new Uint8Array(0);
        if (before <= maxBytes) lines.push("too long");
      }
      if (end === -1) continue;
      if (length <= maxBytes) lines.push(held.subarray(0, length));
      held = new Uint8Array(0);
      length = 0;
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
  if (text === undefined) return refused("the line is not UTF-8: send JSON in UTF-8", null, PARSE_ERROR);
  if (text.trim() === "") return NOTHING;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refused(`the line is not valid JSON: ${reason}`, null, PARSE_ERROR);
  }
  return messageOf(value);
}

export function lineTooLong(maxBytes: number): ReadMessage {
  return refused(`a message may have at most ${maxBytes} bytes: send less at once, and leave out long logs`);
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
  if (Array.isArray(value)) return refused("batches are not supported: send each message on its own line");
  if (!isJsonObject(value)) return refused("a message must be a JSON object");
  const { jsonrpc, method, params } = value;
  const id = isId(value.id) ? value.id : null;
  if (jsonrpc !== "2.0") return refused('the member "jsonrpc" must be "2.0"', id);
  if (method === undefined && ("result" in value || "error" in value)) {
    return id === null ? NOTHING : { kind: "response", id, message: value };
  }
  if (typeof method !== "string") return refused('the member "method" must be a string', id);
  const known = params === undefined || isJsonObject(params) ? { params } : undefined;
  if (!("id" in value)) return known ? { kind: "notification", message: { jsonrpc, method, ...known } } : NOTHING;
  if (id === null) return refused('the member "id" must be a string or a whole number');
  if (known === undefined) return refused('the member "params" must be an object', id);
  if (isJSONRPCRequest(value)) return { kind: "request", message: value };
  return refused(
    'a request may have only "jsonrpc", "id", "method" and "params", with "params._meta" as MCP defines it',
    id,
  );
}

const NOTHING = { kind: "nothing" } as const;

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function refused(message: string, id: RequestId | null = null, code = INVALID_REQUEST): ReadMessage {
  return { kind: "refused", answer: { jsonrpc: "2.0", id, error: { code, message } } };
}
