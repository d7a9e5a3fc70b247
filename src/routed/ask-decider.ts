/**
 * Asks the decider and checks its answer: the step must exist and be allowed, the status must be valid, and
 * the context must stay bounded JSON. An unusable answer is asked for once more with the problem; after
 * that, and after the deadline, it is `DECIDER_FAILED`, so that an instance never hangs.
 */
import { type ErrorDetails, isPhasegateError, PhasegateError } from "../errors.js";
import { checkEvidenceSafety, type EvidenceLimits } from "../gate/evidence.js";
import type { FullClock } from "../ports/clock.js";
import type { StepDecider } from "../ports/step-decider.js";
import { isJsonObject, type JsonObject } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import { FINISH, matchName, type RoutedStep, stepsMeant } from "../workflow/routed-definition.js";
import type { Deadline, DeciderWait } from "./asking.js";
import {
  type DeciderAnswer,
  type DecisionRequest,
  type DecisionUsage,
  type RoutedStatus,
  STATUS_WORDS,
} from "./decision/request.js";

interface CheckedAnswer {
  readonly next: string;
  readonly status: RoutedStatus;
  readonly contextUpdates: JsonObject;
  readonly context: JsonObject;
  /** What was interpreted differently from the answer. */
  readonly notes: readonly string[];
}

/** An accepted decision, with its cost. */
export interface Decided extends CheckedAnswer {
  readonly reasoning?: string;
  readonly usage?: DecisionUsage;
  readonly milliseconds: number;
}

interface AskOptions {
  readonly deadlineMs: number;
  readonly maxContextBytes: number;
  readonly clock: FullClock;
  readonly wait: DeciderWait;
}

/** Asks a decider, and once more if its answer can't be used. Throws `DECIDER_FAILED`, or why nobody waits any more. */
export async function askDecider(
  decider: StepDecider,
  request: DecisionRequest,
  { deadlineMs, maxContextBytes, clock, wait }: AskOptions,
): Promise<Decided> {
  const begun = clock.elapsed();
  const { allowed, context, workflow } = request;
  const limits = { allowed, context, maxContextBytes, steps: [...workflow.steps, { name: FINISH }] };
  const missed = () => failed("timeout", `the decider had not answered after ${deadlineMs} ms`, true);
  const deadline = { clock, milliseconds: deadlineMs, missed };
  const spent = () => Math.round(clock.elapsed() - begun);
  try {
    const first = await bounded(decider, request, wait, deadline);
    const checked = checkAnswer(first, limits);
    if (typeof checked !== "string") return decided(checked, first, undefined, spent());
    const second = await bounded(decider, { ...request, problem: checked }, wait, deadline);
    const corrected = checkAnswer(second, limits);
    if (typeof corrected !== "string") return decided(corrected, second, first.usage, spent());
    throw failed("invalid_response", `the decider's answer can't be used: ${corrected}`, false);
  } finally {
    wait.close();
  }
}

const DEPTH_MAX = 32;

/**
 * Reads a context, or updates of one. Throws `INVALID_INPUT` for anything but plain, finite JSON, for keys that reach a
 * prototype, and for one that is too large.
 */
export function readContext(given: unknown, maxBytes: number): JsonObject {
  return readPlain(given, { maxBytes, maxDepth: DEPTH_MAX }, "context", {
    remedy: `Give plain JSON with ordinary keys; a context may have ${maxBytes} bytes in all.`,
    details: { field: "context_updates", expected: `an object, ${maxBytes} bytes of JSON at most` },
  });
}

/** Returns a copy of a client's object, if it is one that evidence may be. Throws `INVALID_INPUT` for any other. */
export function readPlain(
  given: unknown,
  limits: EvidenceLimits,
  name: string,
  about: { readonly remedy: string; readonly details: ErrorDetails["INVALID_INPUT"] },
): JsonObject {
  try {
    return checkEvidenceSafety(given, limits, name).evidence;
  } catch (cause) {
    if (!isPhasegateError(cause, "EVIDENCE_UNSAFE") && !isPhasegateError(cause, "EVIDENCE_TOO_LARGE")) throw cause;
    throw new PhasegateError("INVALID_INPUT", cause.message, { ...about, cause });
  }
}

/** Returns a context with updates that were read merged in by key. Throws `INVALID_INPUT` if it would be too large. */
export function mergeContext(context: JsonObject, updates: JsonObject, maxBytes: number): JsonObject {
  return Object.keys(updates).length === 0 ? context : readContext({ ...context, ...updates }, maxBytes);
}

function failed(
  reason: "timeout" | "unavailable" | "invalid_response",
  message: string,
  retryable: boolean,
  cause?: unknown,
): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", message, {
    remedy: "The report is kept: retry asks the decider about it again.",
    details: { reason, retryable },
    cause,
  });
}

async function bounded(
  decider: StepDecider,
  request: DecisionRequest,
  wait: DeciderWait,
  deadline: Deadline,
): Promise<DeciderAnswer> {
  const options = { signal: wait.signal };
  let answer: unknown;
  try {
    answer = await wait.answer(() => decider.decide(request, options), deadline);
    if (isAnswer(answer)) return answer;
  } catch (error) {
    // A decider that was stopped has not failed.
    wait.throwIfLeft();
    // Any other code would blame the request or the storage.
    if (isPhasegateError(error, "DECIDER_FAILED") || isPhasegateError(error, "TOO_LARGE")) throw error;
    // The error may contain a key or a prompt: only the host gets it.
    throw failed("unavailable", "the decider failed", true, error);
  }
  throw failed("invalid_response", `the decider gave no answer: ${missingIn(answer)}`, false);
}

function missingIn(answer: unknown): string {
  if (!isJsonObject(answer)) return "it returned no object";
  return "nextStep" in answer ? "contextUpdates is missing" : "nextStep is missing";
}

function isAnswer(value: unknown): value is DeciderAnswer {
  return typeof value === "object" && value !== null && "nextStep" in value && "contextUpdates" in value;
}

interface AnswerLimits {
  readonly allowed: readonly string[];
  /** All steps, and `FINISH`: a name that fits two isn't clear, even if only one of them is allowed. */
  readonly steps: readonly Pick<RoutedStep, "name" | "file">[];
  readonly context: JsonObject;
  readonly maxContextBytes: number;
}

/**
 * Checks a decider's answer before any of it is written: an existing and allowed step, a valid status, and
 * valid keys and values. A name that differs only in case or punctuation, or that of the step's file, is accepted if it
 * fits one step alone, and noted. Returns the problem of another answer, in words that help a decider to fix it.
 */
function checkAnswer(
  answer: DeciderAnswer,
  { allowed, steps, context, maxContextBytes }: AnswerLimits,
): CheckedAnswer | string {
  const meant = typeof answer.nextStep === "string" ? stepsMeant(answer.nextStep.trim(), steps) : [];
  if (meant.length > 1) return unclearStep(answer.nextStep, meant);
  const next = meant.find((name) => allowed.includes(name));
  if (next === undefined) return wrongStep(answer.nextStep, allowed);
  const notes = next === answer.nextStep ? [] : [`${shown(answer.nextStep)} was taken for ${next}`];
  const status = statusOf(answer.statusSuggestion, next, allowed, notes);
  if (status === undefined) {
    const expected = Object.values(STATUS_WORDS).join(", ");
    return `status_suggestion ${shown(answer.statusSuggestion)} must be one of ${expected}, null`;
  }
  try {
    const contextUpdates = readContext(answer.contextUpdates, maxContextBytes);
    const merged = mergeContext(context, contextUpdates, maxContextBytes);
    return { next, status, contextUpdates, context: merged, notes };
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return `updated_context can't be taken: ${error.message}`;
  }
}

function unclearStep(name: string, meant: readonly string[]): string {
  return `next_step_name ${shown(name)} fits more than one: answer exactly ${meant.map(shown).join(" or ")}`;
}

function wrongStep(name: unknown, allowed: readonly string[]): string {
  const near = typeof name === "string" ? nearest(name, allowed) : undefined;
  const meant = near === undefined ? "" : `; did you mean ${shown(near)}?`;
  return `next_step_name ${shown(name)} is no step that may follow: ${allowed.map(shown).join(", ")}${meant}`;
}

/** The engine decides: an instance is only completed from a step after which the end is allowed. */
function statusOf(
  suggestion: unknown,
  next: string,
  allowed: readonly string[],
  notes: string[],
): RoutedStatus | undefined {
  const given = suggestion ?? "active";
  const status = typeof given === "string" ? statusNamed(given.trim()) : undefined;
  if (status === undefined || status === "failed") return status;
  if (next === FINISH) {
    if (status === "paused") notes.push(`SUSPENDED was not followed: ${FINISH} is the end`);
    return "completed";
  }
  if (status !== "completed") return status;
  if (allowed.includes(FINISH)) return "completed";
  notes.push(`COMPLETED was not followed: the work can't end here`);
  return "active";
}

/** Returns the status with that name, or that word on the wire. */
function statusNamed(text: string): RoutedStatus | undefined {
  const statuses: readonly RoutedStatus[] = ["active", "paused", "completed", "failed"];
  return statuses.find((status) => [status, STATUS_WORDS[status]].some((name) => matchName(text, [name]) === name));
}

/** The longest reasoning that is stored, in characters. */
const REASONING_MAX = 4000;

function decided(
  checked: CheckedAnswer,
  { reasoning, usage }: DeciderAnswer,
  earlier: DecisionUsage | undefined,
  milliseconds: number,
): Decided {
  return {
    ...checked,
    milliseconds,
    reasoning: typeof reasoning === "string" && reasoning !== "" ? reasoning.slice(0, REASONING_MAX) : undefined,
    usage: isUsage(usage) || isUsage(earlier) ? added(usage ?? {}, earlier ?? {}) : undefined,
  };
}

function isUsage(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** The longest name of a model that is stored, in characters. */
const MODEL_MAX = 200;

/**
 * Adds the usage of both answers. Values of the wrong type are dropped: a log that contains them could not
 * be read again.
 */
function added({ model, ...usage }: DecisionUsage, earlier: DecisionUsage): DecisionUsage {
  const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0);
  const sum = (name: "inputTokens" | "outputTokens" | "requests") =>
    count(usage[name]) + count(earlier[name]) || undefined;
  return {
    model: typeof model === "string" ? model.slice(0, MODEL_MAX) : undefined,
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    requests: sum("requests"),
  };
}
