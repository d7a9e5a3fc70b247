import type { JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import type { GateDefinition, VerifyDefinition, WorkflowStructure } from "../../definition/structure.js";
import { checksOf } from "../../gate/checks-of.js";
import type { Problem } from "../../gate/verdict.js";
import type { Verification } from "../../session/verification.js";
import { checkKey, sessionFacts, snapshotChecks } from "./begin-phase.js";
import { type Beginning, loadBeginnings } from "./read-snapshots.js";
import { recordedResults } from "./recorded-results.js";
import { runVerifiers, type VerifyCheck, type VerifyOutcome } from "./run-verifiers.js";
import type { VerifiedPhase, VerifiedSession, VerifyContext } from "./verify-context.js";

/** What verifiers have found, and what of it blocks the gate. */
export interface Verified {
  readonly problems: readonly Problem[];
  readonly verification: readonly Verification[];
}

/** Runs the checks of a gate on evidence that is complete; undefined where there are none to run. */
export function verifyEvidence(
  context: VerifyContext,
  session: VerifiedSession,
  structure: Pick<WorkflowStructure, "plan">,
  phase: VerifiedPhase,
  evidence: JsonObject,
): Promise<Verified> | undefined {
  const checks = checksOf(phase.gate).filter(({ field }) => field === undefined || isDue(phase.gate, field, evidence));
  return checks.length === 0 ? undefined : verify(context, session, structure, phase, evidence, checks);
}

async function verify(
  context: VerifyContext,
  session: VerifiedSession,
  structure: Pick<WorkflowStructure, "plan">,
  phase: VerifiedPhase,
  evidence: JsonObject,
  checks: readonly VerifyDefinition[],
): Promise<Verified> {
  const { options, notifications } = context;
  const wanting = snapshotChecks(context, phase);
  const beginnings = await loadBeginnings(
    context,
    session,
    checks.filter((check) => wanting.includes(check)),
  );
  const facts = sessionFacts(session, structure, phase.number);
  const plans = checks.map((check) => planOf(check, evidence, facts, beginnings.get(checkKey(check))));
  const outcomes = await runVerifiers(
    plans.filter((plan) => "request" in plan),
    options.verifiers,
    {
      limit: options.limits.maxVerifiersAtOnce,
      deadlineMs: options.limits.verifyDeadlineMs,
      onFailure: ({ verifier }, error) =>
        notifications.notify("internalError", { operation: `verifier ${verifier}`, error }),
    },
  );
  const ran = outcomes.values();
  const inOrder = plans.flatMap((plan) => ("request" in plan ? (ran.next().value ?? []) : [plan]));
  const at = new Date(options.clock.now()).toISOString();
  return {
    problems: inOrder.flatMap((outcome, index) => problemOf(outcome, checks[index]?.field, evidence)),
    verification: recordedResults(
      inOrder.map((outcome, index) => ({ outcome, field: checks[index]?.field })),
      at,
    ),
  };
}

/**
 * Nothing is looked up for an optional field that was not handed in. A field that nobody says is optional is
 * looked up all the same: a name that the schema doesn't know must not open the gate.
 */
function isDue(gate: GateDefinition, name: string, evidence: JsonObject): boolean {
  if (Object.hasOwn(evidence, name) && evidence[name] !== null) return true;
  if (gate.kind === "fields") return gate.fields.every((field) => field.name !== name || field.required);
  if (gate.kind !== "schema") return true;
  const { properties, required } = gate.jsonSchema ?? {};
  const isKnown = typeof properties === "object" && properties !== null && Object.hasOwn(properties, name);
  return !isKnown || (Array.isArray(required) && required.includes(name));
}

/** What is to be run; or, where the check can't be made, what it comes to. */
function planOf(
  { verifier, params, field }: VerifyDefinition,
  evidence: JsonObject,
  session: VerifyCheck["request"]["session"],
  beginning: Beginning | undefined,
): VerifyCheck | VerifyOutcome {
  if (beginning !== undefined && "failed" in beginning) {
    const message = `what it compares with could not be recorded when the phase began: ${beginning.failed}; retry_phase records it anew`;
    return { verifier, ok: false, failed: true, message };
  }
  const value = field !== undefined && Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  const request = { params, evidence, session, ...(value === undefined ? {} : { value }) };
  if (beginning === undefined) return { verifier, request };
  const { value: snapshot, earlier } = beginning;
  const before = earlier.length === 0 ? {} : { earlierSnapshots: earlier };
  return { verifier, request: { ...request, snapshot, ...before } };
}

/** What a check that wasn't met leaves to mend, in the verifier's words. */
function problemOf(
  { verifier, ok, message }: VerifyOutcome,
  field: string | undefined,
  evidence: JsonObject,
): Problem[] {
  if (ok) return [];
  if (field === undefined)
    return [{ field: "", problem: "unverified", message: `Not verified (${verifier}): ${message}` }];
  const value = Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  const got = value === undefined ? "nothing" : shown(value);
  return [{ field, problem: "unverified", message: `'${field}' is not verified (${verifier}): ${message}`, got }];
}
