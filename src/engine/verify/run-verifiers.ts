import type { JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { isPhasegateError } from "../../errors.js";
import { fillParams } from "../../gate/fill-params.js";
import type { PlaceholderValues } from "../../gate/placeholders.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../ports/verifier.js";
import { DEFAULT_LIMITS } from "../options.js";
import { checkedResult } from "./checked-result.js";
import { type BoundedOptions, runBounded, type Settled } from "./run-bounded.js";

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
