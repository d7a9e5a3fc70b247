import { buildDecisionPrompt } from "../../decision/build-decision-prompt.js";
import { readDecisionText } from "../../decision/decision-answer.js";
import type { DeciderAnswer, DecisionRequest, DecisionUsage } from "../../decision/decision-request.js";
import { isPhasegateError } from "../../errors.js";
import { bounded, pause } from "./bounded.js";
import { deciderFailed } from "./decider-failed.js";
import type { ModelClient, ModelReply } from "./model-client.js";
import type { ModelSettings } from "./model-settings.js";
import { redactor } from "./redact.js";
import { failureOf, RequestFailure } from "./request-failure.js";
import { retryDelay } from "./retry-delay.js";
import { type Attempt, tellExchange } from "./tell-exchange.js";

/** One decision: who is asked what, until when. */
export interface ModelQuestion {
  readonly client: ModelClient;
  readonly request: DecisionRequest;
  readonly signal: AbortSignal;
  readonly settings: ModelSettings;
}

/**
 * Asks a model, and once more where the request failed in a way that passes, or where no JSON came. Throws
 * `DECIDER_FAILED`, in which nothing stands of what a provider says, and `TOO_LARGE` for a prompt.
 */
export async function decideByModel(question: ModelQuestion): Promise<DeciderAnswer> {
  const attempts: Attempt[] = [];
  try {
    return await askTwice(question, attempts);
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    const { client, settings } = question;
    throw deciderFailed(client.label, error, { requests: attempts.length, timeoutMs: settings.timeoutMs });
  }
}

async function askTwice(question: ModelQuestion, attempts: Attempt[]): Promise<DeciderAnswer> {
  const { request, signal, settings } = question;
  const first = await attempt(question, 1);
  attempts.push(first);
  if ("answer" in first) return withUsage(first.answer, attempts);
  const delay = retryDelay(first.failure, settings.maxRetryAfterMs);
  if (delay === undefined) throw first.failure;
  await pause(delay, signal);
  const second = await attempt({ ...question, request: told(request, first.failure) }, 2);
  attempts.push(second);
  if ("answer" in second) return withUsage(second.answer, attempts);
  throw second.failure;
}

/** One request, of which the hook is told. */
async function attempt({ client, request, signal, settings }: ModelQuestion, number: number): Promise<Attempt> {
  const { timeoutMs, maxPromptTokens: maxTokens } = settings;
  const prompt = buildDecisionPrompt(request, maxTokens === undefined ? {} : { maxTokens });
  await pause(0, signal);
  const begun = performance.now();
  const made = await bounded((own) => client.ask(prompt, own), { signal, timeoutMs }).then(
    (reply) => read(reply, settings),
    (error: unknown): Attempt => {
      if (isPhasegateError(error)) throw error;
      return { failure: failureOf(error) };
    },
  );
  tellExchange(settings, {
    client,
    request,
    prompt,
    made,
    number,
    milliseconds: Math.round(performance.now() - begun),
  });
  return made;
}

/** A key that a provider repeats in its answer must not get into a context. */
function read(reply: ModelReply, { secrets }: ModelSettings): Attempt {
  const result = readDecisionText(redactor(secrets)(reply.text));
  if (result.ok) return { reply, answer: result.answer };
  return { reply, failure: new RequestFailure("invalid_response", { problem: result.problem }) };
}

/** A model that gave no JSON is told so. */
function told(request: DecisionRequest, { facts: { problem } }: RequestFailure): DecisionRequest {
  if (problem === undefined) return request;
  return { ...request, problem: request.problem === undefined ? problem : `${request.problem}; and then: ${problem}` };
}

function withUsage(answer: DeciderAnswer, attempts: readonly Attempt[]): DeciderAnswer {
  const replies = attempts.flatMap(({ reply }) => reply ?? []);
  const model = replies.at(-1)?.model;
  const usage: DecisionUsage = {
    ...(model === undefined ? {} : { model }),
    ...tokens(replies, "inputTokens"),
    ...tokens(replies, "outputTokens"),
    requests: attempts.length,
  };
  return { ...answer, usage };
}

function tokens(replies: readonly ModelReply[], name: "inputTokens" | "outputTokens") {
  const known = replies.flatMap((reply) => reply[name] ?? []);
  return known.length === 0 ? {} : { [name]: known.reduce((sum, one) => sum + one, 0) };
}
