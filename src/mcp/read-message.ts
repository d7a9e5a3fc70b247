import {
  INVALID_REQUEST,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PARSE_ERROR,
  type RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../definition/json.js";

/** An error as JSON-RPC 2.0 has it; the id is null where the message's own can't be read. */
export interface RpcError {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** What a line is. Notifications and responses have been looked at no further than it takes to know what they are. */
export type ReadMessage =
  | { readonly kind: "request"; readonly message: JSONRPCRequest }
  | { readonly kind: "notification"; readonly message: JSONRPCNotification }
  | { readonly kind: "response"; readonly id: RequestId; readonly message: JsonObject }
  | { readonly kind: "refused"; readonly answer: RpcError }
  /** Blank, or something that JSON-RPC lets nobody answer: a broken notification or response. */
  | { readonly kind: "nothing" };

/**
 * Reads a line. The SDK's transport drops what is no message without an answer, and its checks cost fifty times as much for
 * a notification as parsing it, since they try a notification as each of the other kinds first.
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

/** What is answered to a line that is too long to be read. */
export function lineTooLong(maxBytes: number): RpcError {
  return refusal(
    INVALID_REQUEST,
    null,
    `a message may have ${maxBytes} bytes: send less in one, and leave out long logs`,
  );
}

/** Leaves out a byte order mark at the beginning of a line. */
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
    return refusedAs(INVALID_REQUEST, null, "batches are not taken: send each message in a line of its own");
  }
  if (!isJsonObject(value)) return refusedAs(INVALID_REQUEST, null, "a message is a JSON object");
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
  const message = 'a request has "jsonrpc", "id", "method" and "params" alone, and "params._meta" as MCP defines it';
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
