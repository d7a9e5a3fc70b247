/**
 * Asks a model for a decision, with any client: one retry after a temporary failure, a timeout for each request, and a hook
 * for logs. This is the entry file of the folder:
 *
 * - model.ts: when a request is repeated, what the hook gets, the options of all deciders that ask a model
 * - exchange.ts: how keys are removed from texts, which failures are temporary, how long to wait before the retry
 * - gemini.ts, ai-sdk.ts, sampling.ts: one client each
 * - linear.ts: deciders without a model
 */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { pause, systemClock } from "../ports/clock.js";
import { buildDecisionPrompt, type DecisionPrompt } from "../routed/decision/prompt.js";
import {
  type DeciderAnswer,
  type DecisionRequest,
  type DecisionUsage,
  readDecisionText,
} from "../routed/decision/request.js";
import { defined } from "../workflow/json.js";
import {
  type DeciderExchange,
  deciderFailed,
  failureOf,
  type OnExchange,
  RequestFailure,
  redactor,
  redactShapes,
  retryDelay,
} from "./exchange.js";

export interface ModelReply {
  readonly text: string;
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

interface ModelClient {
  /** `gemini`, `ai-sdk` or `sampling`. */
  readonly name: string;
  /** Its name in error messages. */
  readonly label: string;
  /**
   * Sends one request, without a retry. Rejects with a `RequestFailure` or the client's error, or with a `PhasegateError` if
   * the request could not be sent.
   */
  ask(prompt: DecisionPrompt, signal: AbortSignal): Promise<ModelReply>;
}

/** The options, checked and with defaults. */
export interface ModelSettings {
  readonly timeoutMs: number;
  readonly maxRetryAfterMs: number;
  readonly maxPromptTokens: number | undefined;
  readonly onExchange: OnExchange | undefined;
  /** Texts that are replaced in answers and exchanges. */
  readonly secrets: readonly string[];
}

interface ModelQuestion {
  readonly client: ModelClient;
  readonly request: DecisionRequest;
  readonly signal: AbortSignal;
  readonly settings: ModelSettings;
}

/** The outcome of one request: an answer, or a failure with the reply if there was one. */
type Attempt =
  | { readonly reply: ModelReply; readonly answer: DeciderAnswer }
  | { readonly reply?: ModelReply; readonly failure: RequestFailure };

/**
 * Asks a model, and once more if the request failed temporarily or the answer was not JSON. Throws `DECIDER_FAILED`, which
 * quotes nothing of the provider, and `TOO_LARGE` for a prompt over the limit.
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

/** Options of all deciders that ask a model. */
export interface ModelDeciderOptions {
  /**
   * Maximum time of one request, in milliseconds. Default 45,000: two requests and a wait between them fit into the
   * engine's `limits.deciderDeadlineMs`.
   */
  readonly timeoutMs?: number;
  /**
   * Maximum wait before the retry that a rate-limited provider asks for, in milliseconds. Default 10,000; 0 means no
   * retry after a wait.
   */
  readonly maxRetryAfterMs?: number;
  /** Maximum size of a prompt, in characters / 4. Default 100,000. */
  readonly maxPromptTokens?: number;
  /** Called with every request and its outcome, redacted, for a log of AI interactions. Default: none. */
  readonly onExchange?: OnExchange;
}

const HOUR = 3_600_000;
/** More than any provider takes. */
const TEMPERATURE_MAX = 10;

/** Checks the options. Throws `INVALID_INPUT`. */
export function modelSettings(
  options: ModelDeciderOptions & { readonly temperature?: number; readonly maxOutputTokens?: number },
  secrets: readonly string[],
): ModelSettings {
  const { temperature = 0, maxOutputTokens = 1 } = options;
  requireNumber("temperature", temperature, 0, TEMPERATURE_MAX);
  requireWhole("maxOutputTokens", maxOutputTokens);
  const { timeoutMs = 45_000, maxRetryAfterMs = 10_000, maxPromptTokens, onExchange } = options;
  requireNumber("timeoutMs", timeoutMs, 1, HOUR);
  requireNumber("maxRetryAfterMs", maxRetryAfterMs, 0, HOUR);
  if (maxPromptTokens !== undefined) requireNumber("maxPromptTokens", maxPromptTokens, 1, Number.MAX_SAFE_INTEGER);
  if (onExchange !== undefined && typeof onExchange !== "function") throw invalidOption("onExchange", "a function");
  return { timeoutMs, maxRetryAfterMs, maxPromptTokens, onExchange, secrets };
}

/** Returns the error for an invalid option. It does not contain the value, which may be a key in the wrong place. */
export function invalidOption(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} must be ${expected}`, {
    remedy: `Give ${expected} as ${field}.`,
    details: { field, expected },
  });
}

async function askTwice(question: ModelQuestion, attempts: Attempt[]): Promise<DeciderAnswer> {
  const { request, signal, settings } = question;
  const first = await attempt(question, 1);
  attempts.push(first);
  if ("answer" in first) return withUsage(first.answer, attempts);
  const delay = retryDelay(first.failure, settings.maxRetryAfterMs);
  if (delay === undefined) throw first.failure;
  if (delay > 0) await pause(systemClock, delay, signal);
  throwIfAborted(signal);
  const second = await attempt({ ...question, request: withProblem(request, first.failure) }, 2);
  attempts.push(second);
  if ("answer" in second) return withUsage(second.answer, attempts);
  throw second.failure;
}

async function attempt({ client, request, signal, settings }: ModelQuestion, number: number): Promise<Attempt> {
  const { timeoutMs, maxPromptTokens: maxTokens } = settings;
  const prompt = buildDecisionPrompt(request, maxTokens === undefined ? {} : { maxTokens });
  throwIfAborted(signal);
  const begun = systemClock.elapsed();
  const made = await bounded((own) => client.ask(prompt, own), { signal, timeoutMs }).then(
    (reply) => read(reply, settings),
    (error: unknown): Attempt => {
      if (isPhasegateError(error)) throw error;
      return { failure: failureOf(error) };
    },
  );
  const milliseconds = Math.round(systemClock.elapsed() - begun);
  tellExchange(settings, { client, request, prompt, made, number, milliseconds });
  return made;
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new RequestFailure("aborted");
}

/**
 * Runs a request with its own signal. Rejects with a `RequestFailure` after `timeoutMs`, or when the caller's signal is
 * aborted, even if the client ignores its signal.
 */
async function bounded<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<T> {
  throwIfAborted(signal);
  const own = new AbortController();
  let release = () => {};
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: "timeout" | "aborted") => {
      // The rejection comes before the signal: the client's own error about the signal is ignored then.
      reject(new RequestFailure(reason));
      own.abort();
    };
    const abort = () => end("aborted");
    const cancel = systemClock.after(timeoutMs, () => end("timeout"));
    signal.addEventListener("abort", abort, { once: true });
    release = () => {
      cancel();
      signal.removeEventListener("abort", abort);
    };
  });
  try {
    return await Promise.race([work(own.signal), ended]);
  } finally {
    release();
  }
}

/** Reads a reply. A key that a provider repeats in its answer must not get into a context, so secrets are removed first. */
function read(reply: ModelReply, { secrets }: ModelSettings): Attempt {
  const result = readDecisionText(redactor(secrets)(reply.text));
  if (result.ok) return { reply, answer: result.answer };
  return { reply, failure: new RequestFailure("invalid_response", { problem: result.problem }) };
}

interface Exchanged {
  readonly client: ModelClient;
  readonly request: DecisionRequest;
  readonly prompt: DecisionPrompt;
  readonly made: Attempt;
  readonly number: number;
  readonly milliseconds: number;
}

function tellExchange({ onExchange, secrets }: ModelSettings, exchanged: Exchanged): void {
  if (onExchange === undefined) return;
  const known = redactor(secrets);
  const exchange = exchangeOf(exchanged, (text) => redactShapes(known(text)));
  try {
    Promise.resolve(onExchange(exchange)).catch(warn);
  } catch (error) {
    warn(error);
  }
}

function exchangeOf(
  { client, request, prompt, made, number, milliseconds }: Exchanged,
  clean: (text: string) => string,
): DeciderExchange {
  const { reply } = made;
  const failure = "failure" in made ? made.failure : undefined;
  const response = reply?.text ?? failure?.facts.says;
  return defined({
    decider: client.name,
    model: reply?.model,
    sessionId: request.sessionId,
    workflow: request.workflow.name,
    operation: request.operation,
    attempt: number,
    request: { system: clean(prompt.system), user: clean(prompt.user) },
    response: response === undefined ? undefined : clean(response),
    failure: failure && { reason: failure.reason, status: failure.facts.status },
    inputTokens: reply?.inputTokens,
    outputTokens: reply?.outputTokens,
    milliseconds,
  });
}

function warn(error: unknown): void {
  // The message is left out, since a hook handles prompts. Some runtimes have no `process`.
  const name = error instanceof Error ? error.name : typeof error;
  globalThis.process?.emitWarning?.(`an onExchange hook failed (${name})`, "PhasegateWarning");
}

function withUsage(answer: DeciderAnswer, attempts: readonly Attempt[]): DeciderAnswer {
  const replies = attempts.flatMap(({ reply }) => reply ?? []);
  const tokens = (name: "inputTokens" | "outputTokens") => {
    const known = replies.flatMap((reply) => reply[name] ?? []);
    return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0);
  };
  const [inputTokens, outputTokens] = [tokens("inputTokens"), tokens("outputTokens")];
  const usage: DecisionUsage = { model: replies.at(-1)?.model, inputTokens, outputTokens, requests: attempts.length };
  return { ...answer, usage };
}

/** Returns the request with a note about what was wrong with the last answer. */
function withProblem(request: DecisionRequest, { facts: { problem } }: RequestFailure): DecisionRequest {
  if (problem === undefined) return request;
  return { ...request, problem: request.problem === undefined ? problem : `${request.problem}; then: ${problem}` };
}

/** Throws `INVALID_INPUT` for an option that is not a whole number from 1. */
export function requireWhole(field: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 1) throw invalidOption(field, "a whole number from 1");
}

/** Throws `INVALID_INPUT` for an option that is not a number in a range. */
function requireNumber(field: string, value: number, least: number, most: number): void {
  if (typeof value === "number" && value >= least && value <= most) return;
  throw invalidOption(field, `a number from ${least} to ${most}`);
}
