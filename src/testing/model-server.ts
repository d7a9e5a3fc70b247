/** A server that speaks like a provider of models, so that a provider's real client can be tested without one. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** The reply of a {@link ModelServer} to one request. */
export interface ModelServerReply {
  /** The model's text, sent in the provider's format: for a decision its JSON. Default empty. */
  readonly text?: string;
  /** The tool calls of the model, with or without a text. Default: none. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
  /** The reason for which the model refuses to answer, such as `SAFETY`. Default: it answers. */
  readonly blocked?: string;
  /** True if the text was cut off at the maximum length. Default false. */
  readonly tooLong?: boolean;
  /** The HTTP status. Default 200. */
  readonly status?: number;
  /** More HTTP headers. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body, instead of one in the provider's format. */
  readonly body?: string;
  /** The wait before the reply, in milliseconds. Default 0. */
  readonly delayMs?: number;
  /** Closes the connection in the middle of the body. Default false. */
  readonly cut?: boolean;
}

export interface ModelServerRequest {
  /** The path, without the query. */
  readonly path: string;
  /** The headers, with names in lower case. The client's key is in one of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the body, or its text if it is not JSON. */
  readonly body: unknown;
}

/** A list of replies in order, or a function that replies to each request. */
export type ModelServerReplies =
  | readonly ModelServerReply[]
  | ((request: ModelServerRequest) => ModelServerReply | Promise<ModelServerReply>);

/** A server on this machine that speaks like a provider of models. */
export interface ModelServer {
  /** `http://127.0.0.1:PORT`, for `baseUrl`. For providers of the AI SDK, append the version, `/v1` or `/v1beta`. */
  readonly url: string;
  /** The requests so far, in order. */
  readonly requests: readonly ModelServerRequest[];
  /** Stops the server and closes its connections. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks the wire formats of Gemini (`generateContent`) and OpenAI (`responses`,
 * `chat/completions`) and Anthropic (`messages`, also as a stream), so that a provider's real client can be tested without network, key and model. After the last reply
 * it answers 404.
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
        // It fails only if the server is closed already.
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
    body: JSON.stringify({ error: { message: "there are no more replies" } }),
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

/** Waits, but not longer than the client does. */
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
  // Ids must be unique in a whole conversation: frameworks take an answer with a known id for the same answer again.
  const toolCalls = (reply.toolCalls ?? []).map((call, index) => ({ ...call, id: `call_${turn}_${index}` }));
  const answer = { ...reply, turn, text, toolCalls };
  const body = reply.body ?? wireBody(path, requested, answer) ?? `{"error":{"message":"no model answers at ${path}"}}`;
  const bytes = Buffer.from(body);
  const type = body.startsWith("event: ") ? "text/event-stream" : "application/json";
  response.writeHead(status, { "content-type": type, "content-length": bytes.length, ...headers });
  if (!cut) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => response.socket?.destroy());
}

interface WireAnswer extends Pick<ModelServerReply, "blocked" | "tooLong"> {
  /** The number of the request. */
  readonly turn: number;
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
}

/** The tokens of each answer. */
const [INPUT, OUTPUT] = [100, 20];

/** Returns the body of an answer: an object as JSON, or the text of events. */
type Write = (model: string, answer: WireAnswer, requested: unknown) => object | string;

const FORMATS: readonly { readonly path: RegExp; readonly write: Write }[] = [
  { path: /\/models\/([^/:]+):generateContent$/, write: gemini },
  { path: /\/responses$/, write: openAiResponses },
  { path: /\/chat\/completions$/, write: openAiChat },
  { path: /\/messages$/, write: anthropic },
];

function wireBody(path: string, requested: unknown, answer: WireAnswer): string | undefined {
  for (const { path: pattern, write } of FORMATS) {
    const found = pattern.exec(path);
    if (found === null) continue;
    const body = write(found[1] ?? modelOf(requested), answer, requested);
    return typeof body === "string" ? body : JSON.stringify(body);
  }
  return undefined;
}

function modelOf(requested: unknown): string {
  const named = typeof requested === "object" && requested !== null && "model" in requested ? requested.model : "";
  return typeof named === "string" ? named : "";
}

function gemini(model: string, { turn, text, blocked, tooLong, toolCalls }: WireAnswer): object {
  const usageMetadata = {
    promptTokenCount: INPUT,
    candidatesTokenCount: OUTPUT,
    totalTokenCount: INPUT + OUTPUT,
  };
  const common = { usageMetadata, modelVersion: model, responseId: `response-${turn}` };
  if (blocked !== undefined && text === "") return { promptFeedback: { blockReason: blocked }, ...common };
  const finishReason = blocked ?? (tooLong ? "MAX_TOKENS" : "STOP");
  const calls = toolCalls.map(({ name, arguments: args }) => ({ functionCall: { name, args } }));
  const content = { role: "model", parts: [...(text === "" ? [] : [{ text }]), ...calls] };
  return { candidates: [{ index: 0, content, finishReason }], ...common };
}

function openAiResponses(model: string, { turn, text, blocked, tooLong, toolCalls }: WireAnswer): object {
  const part =
    blocked === undefined
      ? { type: "output_text", text, annotations: [], logprobs: [] }
      : { type: "refusal", refusal: blocked };
  const message = { type: "message", id: `msg_${turn}`, status: "completed", role: "assistant", content: [part] };
  return {
    id: `resp_${turn}`,
    object: "response",
    created_at: 1_767_323_045,
    status: tooLong ? "incomplete" : "completed",
    incomplete_details: tooLong ? { reason: "max_output_tokens" } : null,
    error: null,
    model,
    output: [
      ...(text === "" && toolCalls.length > 0 ? [] : [message]),
      ...toolCalls.map(({ id, name, arguments: args }) => ({
        type: "function_call",
        id: `fc_${id}`,
        call_id: id,
        name,
        arguments: JSON.stringify(args),
        status: "completed",
      })),
    ],
    usage: {
      input_tokens: INPUT,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: OUTPUT,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: INPUT + OUTPUT,
    },
  };
}

function openAiChat(model: string, { turn, text, blocked, tooLong, toolCalls }: WireAnswer): object {
  const finished = toolCalls.length > 0 ? "tool_calls" : "stop";
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    id: `chatcmpl-${turn}`,
    object: "chat.completion",
    created: 1_767_323_045,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        finish_reason: blocked === undefined ? (tooLong ? "length" : finished) : "content_filter",
      },
    ],
    usage: { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT },
  };
}

function anthropic(model: string, answer: WireAnswer, requested: unknown): object | string {
  const { turn, text, blocked, tooLong, toolCalls } = answer;
  const content = [
    ...(text === "" && toolCalls.length > 0 ? [] : [{ type: "text", text }]),
    ...toolCalls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id: `toolu_${id}`, name, input })),
  ];
  const ended = tooLong ? "max_tokens" : toolCalls.length > 0 ? "tool_use" : "end_turn";
  const stop_reason = blocked === undefined ? ended : "refusal";
  const usage = { input_tokens: INPUT, output_tokens: OUTPUT };
  const message = { id: `msg_${turn}`, type: "message", role: "assistant", model, content, stop_sequence: null, usage };
  const isStream = typeof requested === "object" && requested !== null && "stream" in requested && requested.stream;
  if (isStream !== true) return { ...message, stop_reason };
  const blocks = content.flatMap((block, index) => {
    const [empty, delta] =
      "text" in block
        ? [
            { ...block, text: "" },
            { type: "text_delta", text: block.text },
          ]
        : [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
          ];
    return [
      { type: "content_block_start", index, content_block: empty },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
