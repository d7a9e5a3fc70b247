/** A model's answer, in the wire formats of several providers. */
export interface WireAnswer {
  readonly text: string;
  /** Why the provider would not answer. */
  readonly blocked?: string;
  /** The model's answer was cut off at its longest length. */
  readonly tooLong?: boolean;
  /** The tools that the model wants called, each with an id of its own. */
  readonly toolCalls: readonly WireToolCall[];
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A call of a tool, as a model asks for it. */
interface WireToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: object;
}

type Write = (model: string, answer: WireAnswer) => object;

const FORMATS: readonly { readonly path: RegExp; readonly write: Write }[] = [
  { path: /\/models\/([^/:]+):generateContent$/, write: gemini },
  { path: /\/responses$/, write: openAiResponses },
  { path: /\/chat\/completions$/, write: openAiChat },
];

/** The body of an answer in the format that a path asks for; undefined where it asks for none of these. */
export function wireBody(path: string, requested: unknown, answer: WireAnswer): string | undefined {
  for (const { path: pattern, write } of FORMATS) {
    const found = pattern.exec(path);
    if (found !== null) return JSON.stringify(write(found[1] ?? modelOf(requested), answer));
  }
  return undefined;
}

function modelOf(requested: unknown): string {
  const named = typeof requested === "object" && requested !== null && "model" in requested ? requested.model : "";
  return typeof named === "string" ? named : "";
}

function gemini(model: string, answer: WireAnswer): object {
  const { text, blocked, tooLong, toolCalls, inputTokens, outputTokens } = answer;
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: inputTokens + outputTokens,
  };
  const common = { usageMetadata, modelVersion: model, responseId: "response-1" };
  if (blocked !== undefined && text === "") return { promptFeedback: { blockReason: blocked }, ...common };
  const finishReason = blocked ?? (tooLong ? "MAX_TOKENS" : "STOP");
  const calls = toolCalls.map(({ name, arguments: args }) => ({ functionCall: { name, args } }));
  const content = { role: "model", parts: [...(text === "" ? [] : [{ text }]), ...calls] };
  return { candidates: [{ index: 0, content, finishReason }], ...common };
}

function openAiResponses(model: string, answer: WireAnswer): object {
  const { text, blocked, tooLong, toolCalls, inputTokens, outputTokens } = answer;
  const part =
    blocked === undefined
      ? { type: "output_text", text, annotations: [], logprobs: [] }
      : { type: "refusal", refusal: blocked };
  const message = { type: "message", id: "msg_1", status: "completed", role: "assistant", content: [part] };
  return {
    id: "resp_1",
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
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
  };
}

function openAiChat(model: string, answer: WireAnswer): object {
  const { text, blocked, tooLong, toolCalls, inputTokens, outputTokens } = answer;
  const finished = toolCalls.length > 0 ? "tool_calls" : "stop";
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    id: "chatcmpl-1",
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
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
  };
}
