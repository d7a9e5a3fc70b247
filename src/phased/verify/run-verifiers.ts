/**
 * Runs verifiers in parallel under a limit and a deadline. Running never rejects: a verifier that crashes, times out or
 * gives an invalid result is a failed outcome, which blocks the gate. What is recorded of results is bounded, and without
 * the text of foreign errors, which may contain paths.
 */

import { isPhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/check-gate.js";
import { excerpt } from "../../gate/excerpt.js";
import { fillParams, type PlaceholderValues } from "../../gate/fill-params.js";
import type { Caller } from "../../ports/actor.js";
import { type FullClock, systemClock, TIMER_MAX } from "../../ports/clock.js";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../ports/verifier.js";
import type { RecentMap } from "../../workflow/cache.js";
import { CHILD_CHECK } from "../../workflow/child-workflow.js";
import type { JsonObject } from "../../workflow/json.js";
import { type SessionId, shown } from "../../workflow/names.js";
import type { GateDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { DEFAULT_LIMITS, type ResolvedOptions } from "../options.js";
import type { Snapshot } from "../state/events.js";

/** Verifiers by the names that gates use. */
export type Verifiers = Readonly<Record<string, Verifier>>;

/** One verifier to run. */
export interface VerifyCheck {
  readonly verifier: string;
  /** The request with the gate's params; placeholders are filled in here. */
  readonly request: VerifyRequest;
}

/** The result of one verifier, ready to be recorded. */
export interface VerifyOutcome extends VerifyResult {
  readonly verifier: string;
  /** True if the check could not be made: the verifier crashed, timed out, or is not registered. */
  readonly failed?: true;
  /** True if there is no snapshot to compare with. */
  readonly unrecorded?: true;
}

/** The limit and the deadline. */
export interface BoundedOptions {
  /** How many run at once. */
  readonly limit: number;
  /** The time for all together, in milliseconds. */
  readonly deadlineMs: number;
  /** Tells when that time is over. */
  readonly clock: Pick<FullClock, "after">;
  /** Aborts all. */
  readonly signal?: AbortSignal | undefined;
}

/** How verifiers are run. */
export interface RunVerifiersOptions extends Partial<BoundedOptions> {
  /** Called when a verifier failed, with what it threw. Agents don't see it: it may contain paths. Must not throw. */
  readonly onFailure?: (check: VerifyCheck, error: unknown) => void;
  /** Called when a verifier begins, and when it ends: with whether its check is met. Must not throw. */
  readonly onCheck?: ((index: number, ok?: boolean) => void) | undefined;
}

/** How many verifiers run in parallel, the deadline for all, in milliseconds, and by whose clock. */
export const VERIFY_DEFAULTS = {
  limit: DEFAULT_LIMITS.maxVerifiersAtOnce,
  deadlineMs: DEFAULT_LIMITS.verifyDeadlineMs,
  clock: systemClock,
} as const;

/**
 * Runs verifiers in parallel and returns their results in the order of the checks: first those that may write files, then all
 * others, which see what was written. Never rejects.
 */
export async function runVerifiers(
  checks: readonly VerifyCheck[],
  verifiers: Verifiers,
  { onFailure, onCheck, ...options }: RunVerifiersOptions = {},
): Promise<readonly VerifyOutcome[]> {
  const writes = ({ verifier }: VerifyCheck) => verifierOf(verifiers, verifier)?.mayWrite === true;
  const writing: Promise<unknown>[] = [];
  const run = async (check: VerifyCheck, index: number, signal: AbortSignal) => {
    onCheck?.(index);
    let isMet = false;
    try {
      // Who is told may have stopped it.
      signal.throwIfAborted();
      const result = await verify(check, verifiers, signal);
      isMet = result?.ok === true;
      return result;
    } finally {
      onCheck?.(index, isMet);
    }
  };
  // These are begun before any other one.
  const inOrder = [...checks.entries()].sort(([, one], [, other]) => Number(writes(other)) - Number(writes(one)));
  const jobs = inOrder.map(([index, check]) => async (signal: AbortSignal) => {
    if (!writes(check)) await Promise.allSettled(writing);
    const running = run(check, index, signal);
    if (writes(check)) writing.push(running);
    return running;
  });
  const results = await runBounded(jobs, { ...VERIFY_DEFAULTS, ...options });
  const ends = new Map(inOrder.map(([index], place) => [index, results[place]]));
  return checks.map((check, index) => {
    const end = ends.get(index) ?? { status: "stopped" };
    const outcome = outcomeOf(check.verifier, end, verifierOf(verifiers, check.verifier) !== undefined);
    if (outcome.failed) onFailure?.(check, end.status === "failed" ? end.error : new Error(outcome.message));
    return outcome;
  });
}

/** Returns the values of placeholders in a request. */
export function placeholderValues({
  session,
  evidence,
}: Pick<VerifyRequest, "session"> & { readonly evidence?: JsonObject }): PlaceholderValues {
  return {
    session_id: session.id,
    target_file: session.target,
    spec_path: session.specPath,
    options: session.options,
    evidence,
  };
}

/** Returns the registered verifier of a name; own keys only. */
export function verifierOf(verifiers: Verifiers, name: string): Verifier | undefined {
  return Object.hasOwn(verifiers, name) ? verifiers[name] : undefined;
}

/** Returns the names of the verifiers that gates need and a host lacks; undefined if it has them all. */
export function missingVerifiers(
  { phases, dynamic }: { readonly phases: readonly Pick<VerifiedPhase, "gate">[] } & Pick<WorkflowStructure, "dynamic">,
  verifiers: Verifiers,
): readonly string[] | undefined {
  const checks = [...phases.flatMap(({ gate }) => checksOf(gate)), ...(dynamic?.verify ?? [])];
  const names = new Set(checks.map(({ verifier }) => verifier));
  const missing = [...names].filter((name) => name !== CHILD_CHECK && verifierOf(verifiers, name) === undefined);
  return missing.length === 0 ? undefined : missing;
}

/** The end of one job. */
type JobResult<T> =
  | { readonly status: "done"; readonly value: T }
  | { readonly status: "failed"; readonly error: unknown }
  /** Not ended, or not even begun, at the deadline, or when the caller's signal came. */
  | { readonly status: "late" | "stopped" };

/**
 * Runs jobs in parallel under a limit and with one deadline for all; returns the end of each, in their
 * order. Never rejects. A job that ignores its signal is abandoned.
 */
export async function runBounded<T>(
  jobs: readonly ((signal: AbortSignal) => Promise<T>)[],
  { limit, deadlineMs, clock, signal }: BoundedOptions,
): Promise<readonly JobResult<T>[]> {
  const controller = new AbortController();
  let end: "late" | "stopped" | undefined;
  const stop = (why: "late" | "stopped") => {
    end ??= why;
    controller.abort();
  };
  const cancel = clock.after(Math.min(deadlineMs, TIMER_MAX), () => stop("late"));
  const onAbort = () => stop("stopped");
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  const aborted = new Promise<void>((resolve) => {
    if (controller.signal.aborted) resolve();
    controller.signal.addEventListener("abort", () => resolve());
  });
  const over = aborted.then((): JobResult<T> => ({ status: end ?? "stopped" }));
  const results: JobResult<T>[] = [];
  const waiting = [...jobs.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, job] = next;
      results[index] = await (end === undefined ? Promise.race([runJob(job, controller.signal), over]) : over);
    }
  };
  await Promise.all(Array.from({ length: Math.min(Math.max(1, limit), jobs.length) }, worker));
  cancel();
  signal?.removeEventListener("abort", onAbort);
  return results;
}

async function verify({ verifier: name, request }: VerifyCheck, verifiers: Verifiers, signal: AbortSignal) {
  const verifier = verifierOf(verifiers, name);
  if (verifier === undefined) return undefined;
  const filled = fill(verifier, request);
  return "ok" in filled ? filled : await verifier.verify(filled, { signal });
}

/** Returns the request with its placeholders filled in, or what the agent has to fix for that. */
function fill({ verbatim = [] }: Verifier, request: VerifyRequest): VerifyRequest | VerifyResult {
  try {
    return { ...request, params: fillParams(request.params, placeholderValues(request), { verbatim }) };
  } catch (error) {
    if (!isPhasegateError(error, "INVALID_INPUT")) throw error;
    return { ok: false, message: `${error.message}. ${error.remedy}` };
  }
}

async function runJob<T>(job: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<JobResult<T>> {
  try {
    return { status: "done", value: await job(signal) };
  } catch (error) {
    return { status: "failed", error };
  }
}

function outcomeOf(verifier: string, end: JobResult<unknown>, isRegistered: boolean): VerifyOutcome {
  const result = end.status === "done" ? checkedResult(end.value) : undefined;
  if (result !== undefined) return { verifier, ...result };
  return {
    verifier,
    ok: false,
    failed: true,
    message: `${whatFailed(verifier, end, isRegistered)}; the gate stays shut`,
  };
}

/** Limits the parts of a result in the log. */
const TEXT_MAX = 2000;

/** Returns a host verifier's result in bounded form; undefined if `ok` is no boolean, or the message no text. */
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

const LINES_MAX = 50;
const LINE_MAX = 500;

function linesOf(output: readonly unknown[]): string[] {
  const lines = output.filter((line) => typeof line === "string").map((line) => line.slice(0, LINE_MAX));
  return [...excerpt(lines, LINES_MAX)];
}

function whatFailed(verifier: string, end: JobResult<unknown>, isRegistered: boolean): string {
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

/** An event that may contain snapshots. */
export interface WithSnapshots {
  readonly type: string;
  readonly snapshots?: readonly Snapshot[] | undefined;
  readonly position?: number | undefined;
  readonly places?: unknown;
}

/** A commit with snapshots, or one that enters a phase; each leads to the one before it. */
export interface Place {
  readonly version: number;
  /** The phase or the step that the session is in. */
  readonly at: string | number | undefined;
  /** The position of the phase that is entered, unless by a rollback. */
  readonly entered: number | undefined;
  /** The keys of the snapshots. */
  readonly keys: readonly string[];
  readonly before: Place | undefined;
}

/** A snapshot that is not there, and why: it failed, or nobody took it. */
export interface Gap {
  /** The name of the verifier. */
  readonly verifier: string;
  /** Why taking it failed; missing if nobody tried. */
  readonly failed?: string;
}

/** The session of a gate. */
export interface VerifiedSession {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly hash: string;
  readonly head: { readonly workflowType: string; readonly target: string; readonly baseline?: number | undefined };
}

/** What verification needs of an engine of any kind of sessions. */
export interface VerifyContext {
  /** Called when a check of a gate begins or ends, and once more when all have ended. */
  readonly onChecks: (session: VerifiedSession, checks: RunningChecks) => void;
  readonly options: Pick<ResolvedOptions, "verifiers" | "clock" | "quotas"> & {
    readonly storage: Pick<StorageAdapter, "payload">;
    readonly limits: Pick<ResolvedOptions["limits"], "maxVerifiersAtOnce" | "verifyDeadlineMs">;
  };
  readonly kernel: { at(id: SessionId, version: number): Promise<{ readonly events: readonly WithSnapshots[] }> };
  /** For whom it is verified; for the host itself if missing. */
  readonly caller?: Caller;
  /** The commits with snapshots, and which snapshots are missing in which state of a session. */
  readonly beginnings: {
    newest(session: VerifiedSession): Promise<Place | undefined>;
    readonly gaps: RecentMap<string, readonly Gap[]>;
  };
  /** Knows the options that a session was started with; missing for sessions without options. */
  readonly pinned?: { options(id: SessionId): JsonObject | Promise<JsonObject> };
  readonly notifications: {
    notify(name: "internalError", payload: { readonly operation: string; readonly error: unknown }): void;
  };
}

/** The checks of a gate that run at one time. */
export interface RunningChecks {
  /** The verifiers that run, or for a field `verifier (field)`. Empty when all have ended, or were stopped. */
  readonly running: readonly string[];
  /** How many checks have ended. */
  readonly done: number;
  /** How many checks there are. */
  readonly total: number;
}

/** The phase or step of a gate. */
export interface VerifiedPhase {
  readonly number: number;
  readonly gate: GateDefinition;
}
