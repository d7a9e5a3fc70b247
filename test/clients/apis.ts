/** The APIs of models, as clients speak them: how a request is read, and how an answer is streamed or sent whole. */

/** A tool that a client offers to its model. */
interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** The group that the tool is in, where a call names both. */
  readonly group?: string;
}

/** A client's request, in the same words for every API. */
export interface Asked {
  readonly tools: readonly OfferedTool[];
  /** The results of the calls that the model made last, as texts. */
  readonly results: readonly string[];
  /** All that was sent. */
  readonly text: string;
}

/** An answer of the model: words, or a call of a tool. */
export type Said =
  | { readonly text: string }
  | { readonly tool: OfferedTool; readonly input: Readonly<Record<string, unknown>> };

interface Api {
  /** Recognizes a request by its path. */
  readonly path: RegExp;
  readonly read: (body: Body) => Asked;
  readonly isStreamed: (body: Body, path: string) => boolean;
  /** The events of a stream, each with a name if the API has names. */
  readonly stream: (said: Said, id: string) => readonly (readonly [name: string | undefined, data: object | string])[];
  readonly whole: (said: Said, id: string) => object;
}

/** JSON of a client, of which only what an API needs is looked at. */
type Body = { readonly [key: string]: unknown };

const isBody = (value: unknown): value is Body => typeof value === "object" && value !== null && !Array.isArray(value);
const bodies = (value: unknown): Body[] => (Array.isArray(value) ? value.filter(isBody) : []);
const at = (value: unknown, key: string): unknown => (isBody(value) ? value[key] : undefined);
const words = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

function offered(tool: unknown, group?: string): OfferedTool[] {
  const name = at(tool, "name");
  return typeof name === "string" ? [{ name, description: words(at(tool, "description")), group }] : [];
}

/** Returns those at the end of a list that belong to the newest calls. */
function newest(list: readonly Body[], isResult: (one: Body) => boolean): Body[] {
  const others = list.findLastIndex((one) => !isResult(one));
  return list.slice(others + 1);
}

/** Returns the text of a result: the texts of its parts, or what it is as JSON. */
function textOf(content: unknown): string {
  const parts = bodies(content);
  return parts.length === 0 ? words(content) : parts.map((part) => words(part.text ?? part)).join("\n");
}

const USAGE = { input_tokens: 1000, output_tokens: 10 };

const anthropic: Api = {
  path: /\/v1\/messages$/,
  isStreamed: ({ stream }) => stream === true,
  read(body) {
    const { content } = bodies(body.messages).findLast(({ role }) => role === "user") ?? {};
    const results = bodies(content).filter(({ type }) => type === "tool_result");
    return {
      tools: bodies(body.tools).flatMap((tool) => offered(tool)),
      results: results.map((result) => textOf(result.content)),
      text: JSON.stringify(body),
    };
  },
  stream(said, id) {
    const isCall = "tool" in said;
    const block = isCall ? { type: "tool_use", id, name: said.tool.name, input: {} } : { type: "text", text: "" };
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(said.input) }
      : { type: "text_delta", text: said.text };
    const message = { ...anthropic.whole(said, id), content: [], stop_reason: null };
    const events = [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: isCall ? "tool_use" : "end_turn" }, usage: USAGE },
      { type: "message_stop" },
    ];
    return events.map((event) => [event.type, event]);
  },
  whole(said, id) {
    const isCall = "tool" in said;
    const block = isCall
      ? { type: "tool_use", id, name: said.tool.name, input: said.input }
      : { type: "text", text: said.text };
    const stop_reason = isCall ? "tool_use" : "end_turn";
    const about = { id: `msg_${id}`, type: "message", role: "assistant", model: "scripted" };
    return { ...about, content: [block], stop_reason, stop_sequence: null, usage: USAGE };
  },
};

const chat: Api = {
  path: /\/chat\/completions$/,
  isStreamed: ({ stream }) => stream === true,
  read(body) {
    const results = newest(bodies(body.messages), ({ role }) => role === "tool");
    return {
      tools: bodies(body.tools).flatMap((tool) => offered(tool.function)),
      results: results.map(({ content }) => textOf(content)),
      text: JSON.stringify(body),
    };
  },
  stream(said, id) {
    const about = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created: 1, model: "scripted" };
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...about,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
    const { message, finish_reason } = chatMessage(said, id);
    const { tool_calls, ...rest } = message;
    const delta = { ...rest, ...(tool_calls && { tool_calls: tool_calls.map((call) => ({ index: 0, ...call })) }) };
    const last = { ...chunk({}, finish_reason), usage };
    return [
      [undefined, chunk(delta, null)],
      [undefined, last],
      [undefined, "[DONE]"],
    ];
  },
  whole(said, id) {
    const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
    const about = { id: `chatcmpl-${id}`, object: "chat.completion", created: 1, model: "scripted", usage };
    return { ...about, choices: [{ index: 0, ...chatMessage(said, id) }] };
  },
};

function chatMessage(said: Said, id: string) {
  if (!("tool" in said)) return { message: { role: "assistant", content: said.text }, finish_reason: "stop" };
  const call = { id, type: "function", function: { name: said.tool.name, arguments: JSON.stringify(said.input) } };
  return { message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" };
}

const responses: Api = {
  path: /\/responses$/,
  isStreamed: ({ stream }) => stream === true,
  read(body) {
    const isResult = ({ type }: Body) => words(type).endsWith("_output");
    const tools = bodies(body.tools).flatMap((tool) =>
      tool.type === "namespace"
        ? bodies(tool.tools).flatMap((inner) => offered(inner, words(tool.name)))
        : offered(tool.function ?? tool),
    );
    const results = newest(bodies(body.input), isResult);
    return { tools, results: results.map(({ output }) => textOf(output)), text: JSON.stringify(body) };
  },
  stream(said, id) {
    const item = responseItem(said, id);
    const started = { ...responses.whole(said, id), status: "in_progress", output: [] };
    const text = "tool" in said ? [] : [{ type: "response.output_text.delta", delta: said.text }];
    const call = "tool" in said ? JSON.stringify(said.input) : "";
    const args = "tool" in said ? [{ type: "response.function_call_arguments.done", arguments: call }] : [];
    const opened = "tool" in said ? { ...item, arguments: "" } : { ...item, content: [] };
    const events = [
      { type: "response.created", response: started },
      { type: "response.output_item.added", item: { ...opened, status: "in_progress" } },
      ...[...text, ...args].map((event) => ({ item_id: item.id, content_index: 0, ...event })),
      { type: "response.output_item.done", item },
      { type: "response.completed", response: responses.whole(said, id) },
    ];
    return events.map((event, index) => [event.type, { output_index: 0, sequence_number: index, ...event }]);
  },
  whole(said, id) {
    const usage = { ...USAGE, total_tokens: 1010 };
    const about = { id: `resp_${id}`, object: "response", created_at: 1, model: "scripted", status: "completed" };
    return { ...about, output: [responseItem(said, id)], usage };
  },
};

function responseItem(said: Said, id: string) {
  if (!("tool" in said)) {
    const content = [{ type: "output_text", text: said.text, annotations: [] }];
    return { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content };
  }
  const { name, group } = said.tool;
  const call = { name, ...(group && { namespace: group }), arguments: JSON.stringify(said.input) };
  return { id: `fc_${id}`, type: "function_call", call_id: id, status: "completed", ...call };
}

const gemini: Api = {
  path: /:(?:streamG|g)enerateContent$/,
  isStreamed: (_, path) => path.includes(":stream"),
  read(body) {
    const { parts } = bodies(body.contents).at(-1) ?? {};
    const declared = bodies(body.tools).flatMap(({ functionDeclarations }) => bodies(functionDeclarations));
    return {
      tools: declared.flatMap((tool) => offered(tool)),
      results: bodies(parts).flatMap(({ functionResponse }) =>
        functionResponse === undefined ? [] : [words(at(functionResponse, "response"))],
      ),
      text: JSON.stringify(body),
    };
  },
  stream: (said, id) => [[undefined, gemini.whole(said, id)]],
  whole(said, id) {
    const part =
      "tool" in said ? { functionCall: { id, name: said.tool.name, args: said.input } } : { text: said.text };
    const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 };
    const candidate = { index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" };
    return { candidates: [candidate], usageMetadata, modelVersion: "scripted", responseId: id };
  },
};

const APIS = [anthropic, chat, responses, gemini];

/** What a client gets: its type, and the text. */
interface Sent {
  readonly type: string;
  readonly text: string;
}

/** Reads a request; undefined if it is not one to a model. */
export function readRequest(path: string, text: string) {
  const api = APIS.find((one) => one.path.test(path));
  if (api === undefined) return undefined;
  const body: unknown = JSON.parse(text);
  if (!isBody(body)) throw new Error(`${path} got no object`);
  const send = (said: Said, id: string): Sent => {
    if (!api.isStreamed(body, path)) return { type: "application/json", text: JSON.stringify(api.whole(said, id)) };
    const events = api.stream(said, id).map(([name, data]) => {
      const event = name === undefined ? "" : `event: ${name}\n`;
      return `${event}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
    });
    return { type: "text/event-stream", text: events.join("") };
  };
  return { asked: api.read(body), send };
}
