import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { wireBody } from "./model-wire.js";

/** What a {@link ModelServer} answers to one request. */
export interface ModelServerReply {
  /** What the model says, put into the provider's format: for a decision its JSON. Default empty. */
  readonly text?: string;
  /** The tools that the model wants called, instead of a text or beside one. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
  /** The model would not answer, for this reason, such as `SAFETY`. */
  readonly blocked?: string;
  /** The model's text ends where it may be no longer. */
  readonly tooLong?: boolean;
  /** Another HTTP status than 200, such as 429. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as it stands, in no provider's format. */
  readonly body?: string;
  /** How long to wait before the answer, in milliseconds. */
  readonly delayMs?: number;
  /** Breaks the connection in the middle of the body. */
  readonly cut?: boolean;
}

/** One request as it came. */
export interface ModelServerRequest {
  readonly path: string;
  /** Names in lower case. The client's key is among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the body, or its text where it is none. */
  readonly body: unknown;
}

/** Replies one after the other, or what is replied to any request. */
export type ModelServerReplies =
  | readonly ModelServerReply[]
  | ((request: ModelServerRequest) => ModelServerReply | Promise<ModelServerReply>);

/** A server on this machine that speaks like a provider of models. */
export interface ModelServer {
  /** `http://127.0.0.1:PORT`, for `baseUrl`; the AI SDK's providers want their version behind it, `/v1` or `/v1beta`. */
  readonly url: string;
  /** What it was asked, in order. */
  readonly requests: readonly ModelServerRequest[];
  /** Ends it, and all its connections; once more does nothing. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks the wire formats of Gemini (`generateContent`) and OpenAI (`responses`,
 * `chat/completions`), so that a provider's real client can be tested with no network, no key and no model. When the
 * replies are at their end it answers 404.
 */
export async function startModelServer(replies: ModelServerReplies): Promise<ModelServer> {
  const requests: ModelServerRequest[] = [];
  const server = createServer((incoming, response) => {
    handle(incoming, response, requests, replies).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        // It only fails where the server is closed already.
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(
  incoming: IncomingMessage,
  response: ServerResponse,
  requests: ModelServerRequest[],
  replies: ModelServerReplies,
): Promise<void> {
  const request = await read(incoming);
  requests.push(request);
  const ended: ModelServerReply = {
    status: 404,
    body: JSON.stringify({ error: { message: "the replies are at their end" } }),
  };
  const reply = typeof replies === "function" ? await replies(request) : (replies[requests.length - 1] ?? ended);
  if (reply.delayMs !== undefined) await wait(reply.delayMs, response);
  if (response.destroyed) return;
  send(response, reply, request, requests.length);
}

async function read(incoming: IncomingMessage): Promise<ModelServerRequest> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const headers = Object.entries(incoming.headers).map(([name, value = ""]) => [name, String(value)] as const);
  return { path: (incoming.url ?? "").split("?")[0] ?? "", headers: Object.fromEntries(headers), body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Not longer than the client waits. */
function wait(milliseconds: number, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    response.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function send(
  response: ServerResponse,
  reply: ModelServerReply,
  { path, body: requested }: ModelServerRequest,
  turn: number,
): void {
  const { text = "", status = 200, headers = {}, cut = false } = reply;
  // An id names one call in a whole conversation.
  const toolCalls = (reply.toolCalls ?? []).map((call, index) => ({ ...call, id: `call_${turn}_${index}` }));
  const answer = { ...reply, text, toolCalls, inputTokens: 100, outputTokens: 20 };
  const body = reply.body ?? wireBody(path, requested, answer) ?? `{"error":{"message":"no model answers at ${path}"}}`;
  const bytes = Buffer.from(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length, ...headers });
  if (!cut) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => response.socket?.destroy());
}
