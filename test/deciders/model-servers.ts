import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import {
  AiSdkDecider,
  type DeciderExchange,
  GeminiDecider,
  type ModelDeciderOptions,
  type StepDecider,
} from "phasegate/ai";
import { type ModelServer, type ModelServerReplies, type ModelServerReply, startModelServer } from "phasegate/testing";
import { expect, onTestFinished, vi } from "vitest";
import type { DecisionRequest } from "../../src/routed/decision/request.js";
import { request } from "../routed/decision/requests.js";
/** A key that must occur only in the headers of requests. No provider's keys have its form. */
export const KEY = "planted+key/42=never:shown";

/** Starts a server with these replies; it is closed after the test. */
export async function modelServer(replies: ModelServerReplies): Promise<ModelServer> {
  const server = await startModelServer(replies);
  onTestFinished(() => server.close());
  return server;
}

/** Returns a model's answer for a next step. */
export function decision(next: string, parts: Record<string, unknown> = {}): ModelServerReply {
  const answer = { next_step_name: next, updated_context: [], status_suggestion: null, reasoning: null, ...parts };
  return { text: JSON.stringify(answer) };
}

/**
 * Replies too late to the first request, and at once to the next. The test's clock advances by the decider's time limit as
 * soon as the server has the first request, so that no test waits for the limit.
 */
export function lateAtFirst(reply: ModelServerReply, timeoutMs: number): ModelServerReplies {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let isFirst = true;
  return () => {
    if (!isFirst) return reply;
    isFirst = false;
    setImmediate(() => {
      const timers = vi.getTimerCount();
      vi.advanceTimersByTime(timeoutMs - 1);
      expect(vi.getTimerCount(), "timers before the limit").toBe(timers);
      vi.advanceTimersByTime(1);
    });
    return { ...reply, delayMs: 60_000 };
  };
}

/** Creates each decider that uses HTTP, for a server: the same tests apply to all. */
export const CLIENTS: Readonly<Record<string, (url: string, options: ModelDeciderOptions) => StepDecider>> = {
  "Gemini's client": (baseUrl, options) =>
    new GeminiDecider({ apiKey: KEY, model: "gemini-test", baseUrl, ...options }),
  "the AI SDK with OpenAI's responses": (url, options) =>
    new AiSdkDecider({ model: openAi(url).responses("gpt-test"), secrets: [KEY], ...options }),
  "the AI SDK with OpenAI's chat": (url, options) =>
    new AiSdkDecider({ model: openAi(url).chat("gpt-test"), secrets: [KEY], ...options }),
  "the AI SDK with Google": (url, options) =>
    new AiSdkDecider({
      model: createGoogle({ apiKey: KEY, baseURL: `${url}/v1beta` })("gemini-test"),
      secrets: [KEY],
      ...options,
    }),
};

function openAi(url: string) {
  return createOpenAI({ apiKey: KEY, baseURL: `${url}/v1` });
}

/** Creates a decider on a server with these replies, and records its exchanges. */
export async function decider(
  make: (url: string, options: ModelDeciderOptions) => StepDecider,
  replies: ModelServerReplies,
  options: ModelDeciderOptions = {},
) {
  const server = await modelServer(replies);
  const exchanges: DeciderExchange[] = [];
  const made = make(server.url, { onExchange: (exchange) => exchanges.push(exchange), ...options });
  const decide = (parts: Partial<DecisionRequest> = {}, signal = new AbortController().signal) =>
    made.decide(request(parts), { signal });
  return { server, exchanges, made, decide };
}
