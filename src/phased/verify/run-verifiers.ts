import { isPhasegateError } from "../../errors.js";
import { fillParams, type PlaceholderValues } from "../../gate/fill-params.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../ports/verifier.js";
import type { JsonObject } from "../../workflow/json.js";
import { shown } from "../../workflow/names.js";
import { DEFAULT_LIMITS } from "../options.js";
/** Verifiers by the names that gates use. */
export type Verifiers = Readonly<Record<string, Verifier>>;

/** One verifier to be run. */
export interface VerifyCheck {
  readonly verifier: string;
  /** With the params as the gate has them: placeholders are filled in here. */
  readonly request: VerifyRequest;
}

/** What one verifier has found, ready to be recorded. */
export interface VerifyOutcome extends VerifyResult {
  readonly verifier: string;
  /** True where it could not be found out: the verifier crashed, took too long, or isn't registered. */
  readonly failed?: true;
}

/** How verifiers are run. */
export interface RunVerifiersOptions extends Partial<BoundedOptions> {
  /** Told why a verifier failed; also what it threw, which agents aren't: it may hold paths. Must not throw. */
  readonly onFailure?: (check: VerifyCheck, error: unknown) => void;
}

/** How many verifiers run side by side, and how long all may take together, in milliseconds. */
export const VERIFY_DEFAULTS = {
  limit: DEFAULT_LIMITS.maxVerifiersAtOnce,
  deadlineMs: DEFAULT_LIMITS.verifyDeadlineMs,
} as const;

/**
 * Runs verifiers side by side and gives what each has found, in the order of the checks. Never rejects: a
 * verifier that crashes, that gives what is no result, or that hasn't ended at the deadline is a failed
 * outcome, which blocks and says so.
 */
export async function runVerifiers(
  checks: readonly VerifyCheck[],
  verifiers: Verifiers,
  { onFailure, ...options }: RunVerifiersOptions = {},
): Promise<readonly VerifyOutcome[]> {
  const jobs = checks.map((check) => (signal: AbortSignal) => verify(check, verifiers, signal));
  const { limit = VERIFY_DEFAULTS.limit, deadlineMs = VERIFY_DEFAULTS.deadlineMs, signal } = options;
  const settled = await runBounded(jobs, { limit, deadlineMs, signal });
  return checks.map((check, index) => {
    const end = settled[index] ?? { status: "stopped" };
    const outcome = outcomeOf(check.verifier, end, verifierOf(verifiers, check.verifier) !== undefined);
    if (outcome.failed) onFailure?.(check, end.status === "failed" ? end.error : new Error(outcome.message));
    return outcome;
  });
}

/** What placeholders stand for in a request. */
export function placeholderValues({
  session,
  evidence,
}: Pick<VerifyRequest, "session"> & { readonly evidence?: JsonObject }): PlaceholderValues {
  return {
    session_id: session.id,
    target_file: session.target,
    ...(session.specPath === undefined ? {} : { spec_path: session.specPath }),
    ...(evidence === undefined ? {} : { evidence }),
  };
}

/** The registered verifier of a name; never what every object has. */
export function verifierOf(verifiers: Verifiers, name: string): Verifier | undefined {
  return Object.hasOwn(verifiers, name) ? verifiers[name] : undefined;
}

async function verify({ verifier: name, request }: VerifyCheck, verifiers: Verifiers, signal: AbortSignal) {
  const verifier = verifierOf(verifiers, name);
  if (verifier === undefined) return undefined;
  const filled = fill(verifier, request);
  return "ok" in filled ? filled : await verifier.verify(filled, { signal });
}

/** The request with its placeholders filled in, or what the agent has to mend for that. */
function fill({ verbatim = [] }: Verifier, request: VerifyRequest): VerifyRequest | VerifyResult {
  try {
    return { ...request, params: fillParams(request.params, placeholderValues(request), { verbatim }) };
  } catch (error) {
    if (!isPhasegateError(error, "INVALID_INPUT")) throw error;
    return { ok: false, message: `${error.message}. ${error.remedy}` };
  }
}

function outcomeOf(verifier: string, end: Settled<unknown>, isRegistered: boolean): VerifyOutcome {
  const result = end.status === "done" ? checkedResult(end.value) : undefined;
  if (result !== undefined) return { verifier, ...result };
  return {
    verifier,
    ok: false,
    failed: true,
    message: `${whatFailed(verifier, end, isRegistered)}; the gate stays shut`,
  };
}

function whatFailed(verifier: string, end: Settled<unknown>, isRegistered: boolean): string {
  const name = `the verifier ${shown(verifier)}`;
  if (!isRegistered) return `${name} is not registered with this host`;
  switch (end.status) {
    case "done":
      return `${name} gave no result`;
    case "failed":
      // An error of ours has no paths in it; of another one only the host is told.
      return isPhasegateError(end.error) ? `${name} failed: ${end.error.message}` : `${name} failed`;
    case "late":
      return `${name} had not ended at the deadline`;
    case "stopped":
      return `${name} was stopped`;
  }
}

/** How much runs side by side, and for how long. */
export interface BoundedOptions {
  /** How many at once. */
  readonly limit: number;
  /** How long all of them may take together, in milliseconds. */
  readonly deadlineMs: number;
  /** Ends all that run. */
  readonly signal?: AbortSignal | undefined;
}

/** A timer with a longer time would go off at once. */
const TIMER_MAX = 2 ** 31 - 1;

/** What became of one job. */
type Settled<T> =
  | { readonly status: "done"; readonly value: T }
  | { readonly status: "failed"; readonly error: unknown }
  /** Not ended, or not even begun, at the deadline, or when the caller's signal came. */
  | { readonly status: "late" | "stopped" };

/**
 * Runs jobs side by side under a limit, with one deadline for all, and gives what became of each, in their
 * order. Never rejects. A job that doesn't heed its signal is left alone, not waited for.
 */
export async function runBounded<T>(
  jobs: readonly ((signal: AbortSignal) => Promise<T>)[],
  { limit, deadlineMs, signal }: BoundedOptions,
): Promise<readonly Settled<T>[]> {
  const controller = new AbortController();
  let end: "late" | "stopped" | undefined;
  const stop = (why: "late" | "stopped") => {
    end ??= why;
    controller.abort();
  };
  const timer = setTimeout(() => stop("late"), Math.min(deadlineMs, TIMER_MAX));
  const onAbort = () => stop("stopped");
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  const aborted = new Promise<void>((resolve) => {
    if (controller.signal.aborted) resolve();
    controller.signal.addEventListener("abort", () => resolve());
  });
  const over = aborted.then((): Settled<T> => ({ status: end ?? "stopped" }));
  const settled: Settled<T>[] = [];
  const waiting = [...jobs.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, job] = next;
      settled[index] = await (end === undefined ? Promise.race([settle(job, controller.signal), over]) : over);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, limit) }, worker));
  clearTimeout(timer);
  signal?.removeEventListener("abort", onAbort);
  return settled;
}

async function settle<T>(job: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Settled<T>> {
  try {
    return { status: "done", value: await job(signal) };
  } catch (error) {
    return { status: "failed", error };
  }
}

/** What of a result stands in the log, at most. */
const TEXT_MAX = 2000;
const LINES_MAX = 50;
const LINE_MAX = 500;

/**
 * A result as it may be recorded: what a host's own verifier gives is bounded, and read by what it is.
 * Undefined for what is no result: `ok` must be a boolean, and the message a text.
 */
function checkedResult(given: unknown): VerifyResult | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { ok, message, ran, exit, digest, output }: { [K in keyof VerifyResult]?: unknown } = given;
  if (typeof ok !== "boolean" || typeof message !== "string") return undefined;
  return {
    ok,
    message: message.slice(0, TEXT_MAX),
    ...(typeof ran === "string" ? { ran: ran.slice(0, TEXT_MAX) } : {}),
    ...(typeof exit === "number" && Number.isFinite(exit) ? { exit } : {}),
    ...(typeof digest === "string" ? { digest: digest.slice(0, TEXT_MAX) } : {}),
    ...(Array.isArray(output) ? { output: linesOf(output) } : {}),
  };
}

function linesOf(output: readonly unknown[]): string[] {
  return output
    .slice(0, LINES_MAX)
    .filter((line) => typeof line === "string")
    .map((line) => line.slice(0, LINE_MAX));
}
