import type { DeciderAnswer, DecisionRequest, DecisionUsage } from "../../decision/decision-request.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { StepDecider } from "../../ports/step-decider.js";
import { type CheckedAnswer, checkAnswer } from "./check-answer.js";

/** A decision that may be written, with who made it and how long it took. */
export interface Decided extends Extract<CheckedAnswer, { ok: true }> {
  readonly reasoning?: string;
  readonly usage?: DecisionUsage;
  readonly milliseconds: number;
}

/** How a decider is asked. */
export interface AskOptions {
  readonly deadlineMs: number;
  readonly maxContextBytes: number;
}

/** The longest reasoning that is kept, in characters. */
const REASONING_MAX = 4000;
/** The longest name of a model that is kept, in characters. */
const MODEL_MAX = 200;

/**
 * Asks a decider, and once more where its answer can't be used, with what is wrong with it. Throws `DECIDER_FAILED`:
 * whatever a decider does, an instance is not left hanging.
 */
export async function askDecider(
  decider: StepDecider,
  request: DecisionRequest,
  { deadlineMs, maxContextBytes }: AskOptions,
): Promise<Decided> {
  const begun = performance.now();
  const { allowed, context } = request;
  const limits = { allowed, context, maxContextBytes };
  const end = deadline(deadlineMs);
  try {
    const first = await bounded(decider, request, end);
    const checked = checkAnswer(first, limits);
    if (checked.ok) return decided(checked, first, undefined, begun);
    const second = await bounded(decider, { ...request, problem: checked.problem }, end);
    const mended = checkAnswer(second, limits);
    if (mended.ok) return decided(mended, second, first.usage, begun);
    throw failed("invalid_response", `the decider's answer can't be used: ${mended.problem}`, false);
  } finally {
    end.clear();
  }
}

function decided(
  checked: Extract<CheckedAnswer, { ok: true }>,
  { reasoning, usage }: DeciderAnswer,
  earlier: DecisionUsage | undefined,
  begun: number,
): Decided {
  const spent = isUsage(usage) || isUsage(earlier) ? added(usage ?? {}, earlier ?? {}) : undefined;
  return {
    ...checked,
    milliseconds: Math.round(performance.now() - begun),
    ...(typeof reasoning === "string" && reasoning !== "" ? { reasoning: reasoning.slice(0, REASONING_MAX) } : {}),
    ...(spent === undefined ? {} : { usage: spent }),
  };
}

/** Of both answers together. What is no number, or no name, is left out: a log with it in could not be read again. */
function added(usage: DecisionUsage, earlier: DecisionUsage = {}): DecisionUsage {
  const { model } = usage;
  const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0);
  const sum = (name: "inputTokens" | "outputTokens" | "requests") => {
    const total = count(usage[name]) + count(earlier[name]);
    return total > 0 ? { [name]: total } : {};
  };
  const known = typeof model === "string" ? { model: model.slice(0, MODEL_MAX) } : {};
  return { ...known, ...sum("inputTokens"), ...sum("outputTokens"), ...sum("requests") };
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: Promise<never>;
  clear(): void;
}

function deadline(milliseconds: number): Deadline {
  const controller = new AbortController();
  let clear = () => {};
  const passed = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      controller.abort();
      reject(failed("timeout", `the decider had not answered after ${milliseconds} ms`, true));
    }, milliseconds);
    clear = () => clearTimeout(timer);
  });
  return { signal: controller.signal, passed, clear };
}

/** One question, ended at the deadline even where the decider doesn't listen to its signal. */
async function bounded(decider: StepDecider, request: DecisionRequest, end: Deadline): Promise<DeciderAnswer> {
  try {
    const answer: unknown = await Promise.race([decider.decide(request, { signal: end.signal }), end.passed]);
    if (isAnswer(answer)) return answer;
  } catch (error) {
    // Any other code would be told as if the request, or the storage, were at fault.
    if (isPhasegateError(error, "DECIDER_FAILED") || isPhasegateError(error, "TOO_LARGE")) throw error;
    // What it throws may hold a key or a prompt: only the host is told.
    throw failed("unavailable", "the decider failed", true, error);
  }
  throw failed("invalid_response", "the decider gave no answer", false);
}

function isUsage(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isAnswer(value: unknown): value is DeciderAnswer {
  return typeof value === "object" && value !== null && "nextStep" in value && "contextUpdates" in value;
}

function failed(
  reason: "timeout" | "unavailable" | "invalid_response",
  message: string,
  retryable: boolean,
  cause?: unknown,
): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", message, {
    remedy: "The report is kept: retry goes on with it.",
    details: { reason, retryable },
    cause,
  });
}
