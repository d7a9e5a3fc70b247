/**
 * Verifies complete evidence at a gate. A field with a check is verified even if it is missing, unless the schema says that
 * it is optional: a field that the schema does not know must not open the gate. What is recorded is bounded, so that a
 * commit stays small.
 */
import { PhasegateError } from "../../errors.js";
import { checksOf, wholeChecks } from "../../gate/check-gate.js";
import { excerpt } from "../../gate/excerpt.js";
import type { Verified } from "../../gate/judge.js";
import type { Problem } from "../../gate/verdict.js";
import { takePlaces } from "../../runtime/access.js";
import type { JsonObject } from "../../workflow/json.js";
import { shown } from "../../workflow/names.js";
import type { GateDefinition, VerifyDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { Verification } from "../state/events.js";
import { type Beginning, loadBeginnings, snapshotChecks } from "./beginnings.js";
import {
  runVerifiers,
  type VerifiedPhase,
  type VerifiedSession,
  type VerifyCheck,
  type VerifyContext,
  type VerifyOutcome,
} from "./run-verifiers.js";
import { sessionFacts } from "./snapshots.js";

/** How far the checks of a gate are. */
export interface CheckProgress {
  /** The name of the verifier that has begun or ended. */
  readonly verifier: string;
  /** The field that it verifies; missing if it verifies the whole submission. */
  readonly field?: string | undefined;
  /** Missing when it has begun; then true if the evidence was found to be true. */
  readonly ok?: boolean;
  /** How long it has run, in milliseconds: of one that has begun, more than 0 for who follows it later. */
  readonly elapsedMs: number;
  /** How many checks have ended. */
  readonly done: number;
  /** How many checks there are. */
  readonly total: number;
}

/** How a caller follows a submission, and ends it. */
export interface Followed {
  /** Ends the call with `CANCELLED`: its verifiers are stopped, and nothing is written. No effect once it is written. */
  readonly signal?: AbortSignal;
  /** Called when a check of the gate begins and when it ends. Must not throw. */
  readonly onCheck?: (progress: CheckProgress) => void;
}

/** Returns the error of a call that has ended before anything was written. */
export function cancelled(operation: string): PhasegateError<"CANCELLED"> {
  return new PhasegateError("CANCELLED", "the caller has ended the call: nothing was written", {
    remedy: "Make the call again, with the same idempotency key.",
    details: { operation },
  });
}

/** What verification needs of a workflow; steps have no phases before them. */
type Verifying = Pick<WorkflowStructure, "plan"> & { readonly phases?: readonly Pick<VerifiedPhase, "number">[] };

/** Runs the checks of a gate, and `others`, on complete evidence; undefined if there are none. */
export function verifyEvidence(
  context: VerifyContext,
  session: VerifiedSession,
  structure: Verifying,
  phase: VerifiedPhase,
  evidence: JsonObject,
  others: readonly VerifyDefinition[] = [],
  followed: Followed = {},
): Promise<Verified<Verification>> | undefined {
  const due = checksOf(phase.gate).filter(({ field }) => field === undefined || isDue(phase.gate, field, evidence));
  const checks = [...due, ...others];
  return checks.length === 0 ? undefined : verify(context, session, structure, phase, evidence, checks, followed);
}

/**
 * An optional field is verified only if it was submitted; a field that nothing declares optional is always verified.
 */
function isDue(gate: GateDefinition, name: string, evidence: JsonObject): boolean {
  if (Object.hasOwn(evidence, name) && evidence[name] !== null) return true;
  if (gate.kind === "fields") return gate.fields.every((field) => field.name !== name || field.required);
  if (gate.kind !== "schema") return true;
  const { properties, required } = gate.jsonSchema ?? {};
  const isKnown = typeof properties === "object" && properties !== null && Object.hasOwn(properties, name);
  return !isKnown || (Array.isArray(required) && required.includes(name));
}

async function verify(
  context: VerifyContext,
  session: VerifiedSession,
  structure: Verifying,
  phase: VerifiedPhase,
  evidence: JsonObject,
  checks: readonly VerifyDefinition[],
  { signal, onCheck }: Followed,
): Promise<Verified<Verification>> {
  const { options, notifications } = context;
  const wanting = snapshotChecks(context, phase);
  const beginnings = await loadBeginnings(
    context,
    session,
    checks.filter((check) => wanting.includes(check)),
    structure.phases ?? [],
    phase.number,
  );
  const facts = sessionFacts(session, structure, phase.number, await context.pinned?.options(session.sessionId));
  const plans = checks.map((check) => planOf(check, evidence, facts, beginnings.get(check)));
  const runs = plans.flatMap((plan, index) => ("request" in plan ? [{ plan, field: checks[index]?.field }] : []));
  const total = runs.length;
  const running = new Map<number, string>();
  const begun = new Map<number, number>();
  let done = 0;
  let isOver = false;
  const tell = (index: number, ok?: boolean) => {
    const run = runs[index];
    // One that was stopped may end after the call.
    if (run === undefined || isOver) return;
    if (ok !== undefined) done += 1;
    const { plan, field } = run;
    if (ok === undefined) running.set(index, field === undefined ? plan.verifier : `${plan.verifier} (${field})`);
    else running.delete(index);
    if (done < total) context.onChecks(session, { running: [...running.values()], done, total });
    const now = options.clock.elapsed();
    if (ok === undefined) begun.set(index, now);
    const elapsedMs = now - (begun.get(index) ?? now);
    onCheck?.({ verifier: plan.verifier, field, done, total, ok, elapsedMs });
  };
  const places = takePlaces(context, Math.min(runs.length, options.limits.maxVerifiersAtOnce));
  const outcomes = await runVerifiers(
    runs.map(({ plan }) => plan),
    options.verifiers,
    {
      limit: places.count,
      deadlineMs: options.limits.verifyDeadlineMs,
      clock: options.clock,
      signal,
      onCheck: tell,
      onFailure: ({ verifier }, error) => {
        // A caller that has ended the call has stopped it.
        if (signal?.aborted !== true)
          notifications.notify("internalError", { operation: `verifier ${verifier}`, error });
      },
    },
  ).finally(() => {
    places.release();
    isOver = true;
    if (total > 0) context.onChecks(session, { running: [], done, total });
  });
  const names = new Map(wholeChecks(phase.gate).map(([name, check]) => [check, name]));
  const named = checks.map((check): Named => ({ field: check.field, check: names.get(check) }));
  const ran = outcomes.values();
  const inOrder = plans.flatMap((plan) => ("request" in plan ? (ran.next().value ?? []) : [plan]));
  const at = new Date(options.clock.now()).toISOString();
  return {
    problems: inOrder.flatMap((outcome, index) => problemOf(outcome, named[index], evidence)),
    verification: recordedResults(
      inOrder.map((outcome, index) => ({ outcome, ...named[index] })),
      at,
    ),
  };
}

/** What a check is called: by its field, or by its place in the gate. */
interface Named {
  readonly field?: string | undefined;
  readonly check?: string | undefined;
}

/** Returns what to run; or the outcome, if the check can't be made. */
function planOf(
  { verifier, params, field }: VerifyDefinition,
  evidence: JsonObject,
  session: VerifyCheck["request"]["session"],
  beginning: Beginning | undefined,
): VerifyCheck | VerifyOutcome {
  if (beginning !== undefined && "failed" in beginning) {
    const message = `the state that it compares with could not be recorded when the phase began: ${beginning.failed}; retry_phase records it again`;
    return { verifier, ok: false, failed: true, unrecorded: true, message };
  }
  const value = field !== undefined && Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  const request = { params, evidence, session, value };
  if (beginning === undefined) return { verifier, request };
  const { value: snapshot, earlier, takenAt: snapshotTakenAt } = beginning;
  const earlierSnapshots = earlier.length === 0 ? undefined : earlier;
  return { verifier, request: { ...request, snapshot, earlierSnapshots, snapshotTakenAt } };
}

/** Returns a failed check as a problem, in the verifier's words. */
function problemOf(
  { verifier, ok, message }: VerifyOutcome,
  { field, check }: Named = {},
  evidence: JsonObject,
): Problem[] {
  if (ok) return [];
  if (field === undefined) {
    const name = check === undefined ? verifier : `${check} (${verifier})`;
    return [{ field: "", problem: "unverified", message: `${name} failed: ${message}` }];
  }
  const value = Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  const got = value === undefined ? "nothing" : shown(value);
  return [{ field, problem: "unverified", message: `'${field}' is not verified (${verifier}): ${message}`, got }];
}

/** Limits the recorded output of one result, and of all results of one submission, in characters. */
const OUTPUT_EACH = 4000;
const OUTPUT_TOTAL = 64 * 1024;

const MESSAGE_MAX = 1000;
const RAN_MAX = 500;
const DIGEST_MAX = 200;

/** Returns the results as the log stores them: bounded, so that a commit stays small however many there are. */
function recordedResults(
  results: readonly ({ readonly outcome: VerifyOutcome } & Named)[],
  at: string,
): Verification[] {
  const maxChars = Math.min(OUTPUT_EACH, Math.floor(OUTPUT_TOTAL / Math.max(1, results.length)));
  return results.map(({ outcome, field, check }) => {
    const { verifier, ok, failed, unrecorded, message, ran, exit, digest, output } = outcome;
    const found = { verifier, field, check, ok, failed, unrecorded, message: cut(message, MESSAGE_MAX) };
    const seen = { ran: ran && cut(ran, RAN_MAX), exit, digest: digest && cut(digest, DIGEST_MAX) };
    return { ...found, ...seen, output: output?.length ? fitting(output, maxChars) : undefined, at };
  });
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** The fewest lines that an excerpt has. */
const FEWEST = 4;

/** Returns as many lines as fit, those that tell what failed first. */
function fitting(lines: readonly string[], maxChars: number): string[] {
  for (let most = lines.length; most > FEWEST; most = Math.floor(most / 2)) {
    const part = excerpt(lines, most);
    if (part.join("\n").length <= maxChars) return [...part];
  }
  let left = maxChars;
  return excerpt(lines, FEWEST).filter((line) => {
    left -= line.length + 1;
    return left >= 0;
  });
}
