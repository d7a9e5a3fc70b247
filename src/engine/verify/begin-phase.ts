import { canonicalJson } from "../../definition/canonical-json.js";
import { digest } from "../../definition/digest.js";
import type { VerifyDefinition, WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/checks-of.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { VerifyRequest } from "../../ports/verifier.js";
import type { Snapshot } from "../../session/verification.js";
import { storeValue } from "../store-value.js";
import { asJson } from "../through-json.js";
import { verifierOf } from "./run-verifiers.js";
import { type SnapshotOutcome, takeSnapshots } from "./take-snapshots.js";
import type { VerifiedPhase, VerifiedSession, VerifyContext } from "./verify-context.js";

/** What a command records of the phase that it leads to. */
export interface Begun {
  readonly snapshots: readonly Snapshot[];
  readonly payloads: readonly Payload[];
}

/** Whose phase begins. */
type Owner = Pick<VerifiedSession, "sessionId" | "head">;

/** The gates that a session may come to, in their order. */
type Begins = Pick<WorkflowStructure, "plan"> & { readonly phases: readonly VerifiedPhase[] };

/** The longest snapshot that is kept, in characters of JSON. */
const SNAPSHOT_MAX = 4 * 2 ** 20;

/**
 * Has the verifiers of a phase's gate look at what it begins with; undefined where none of them wants to, or
 * there is no such phase. One that can't keeps nobody out of the phase: what is recorded then is why, and its
 * check says so at the gate.
 */
export function beginPhase(
  context: VerifyContext,
  owner: Owner,
  structure: Begins,
  position: number,
  known: ReadonlyMap<string, Snapshot> = new Map(),
): Promise<Begun> | undefined {
  const phase = structure.phases[position];
  const checks = phase === undefined ? [] : snapshotChecks(context, phase);
  return phase === undefined || checks.length === 0
    ? undefined
    : begin(context, owner, structure, phase, checks, known);
}

/** The checks of a phase's gate whose verifiers look at what it begins with. */
export function snapshotChecks(
  { options }: VerifyContext,
  { gate }: Pick<VerifiedPhase, "gate">,
): readonly VerifyDefinition[] {
  return checksOf(gate).filter(({ verifier }) => verifierOf(options.verifiers, verifier)?.snapshot !== undefined);
}

/** Which check a snapshot is for, also in a gate that has been written anew since. */
export function checkKey({ verifier, field = "", params }: VerifyDefinition): string {
  return digest(canonicalJson([verifier, field, params]));
}

/** The session as verifiers are told of it. */
export function sessionFacts(
  { sessionId, head }: Owner,
  { plan }: Pick<WorkflowStructure, "plan">,
  phase: number,
): VerifyRequest["session"] {
  const { workflowType, target } = head;
  return { id: sessionId, workflowType, target, phase, ...(plan === undefined ? {} : { specPath: plan.path }) };
}

async function begin(
  context: VerifyContext,
  owner: Owner,
  structure: Begins,
  phase: VerifiedPhase,
  checks: readonly VerifyDefinition[],
  known: ReadonlyMap<string, Snapshot>,
): Promise<Begun> {
  const { verifiers, limits } = context.options;
  const session = sessionFacts(owner, structure, phase.number);
  const wanted = checks.filter((check) => known.get(checkKey(check))?.value === undefined);
  const requests = wanted.map(({ verifier, params }) => ({ verifier, request: { params, session } }));
  const outcomes = await takeSnapshots(requests, verifiers, {
    limit: limits.maxVerifiersAtOnce,
    deadlineMs: limits.verifyDeadlineMs,
  });
  const taken = wanted.map((check, index) => recorded(context, check, outcomes[index] ?? { status: "none" }));
  const kept = checks.flatMap((check) => (wanted.includes(check) ? [] : (known.get(checkKey(check)) ?? [])));
  return {
    snapshots: [...kept, ...taken.flatMap(({ snapshots }) => snapshots)],
    payloads: taken.flatMap(({ payloads }) => payloads),
  };
}

function recorded(context: VerifyContext, check: VerifyDefinition, outcome: SnapshotOutcome): Begun {
  const { verifier } = check;
  const about = { verifier, check: checkKey(check) };
  const failed = (error: unknown, reason: string): Begun => {
    context.notifications.notify("internalError", { operation: `snapshot of ${verifier}`, error });
    return { snapshots: [{ ...about, failed: reason }], payloads: [] };
  };
  if (outcome.status === "failed") return failed(outcome.error, reasonOf(outcome.error));
  const value = outcome.status === "none" ? undefined : asJson(outcome.value);
  const length = value === undefined ? 0 : JSON.stringify(value).length;
  if (value === undefined) return failed(new Error("a snapshot that is not JSON"), "what it gave is not JSON");
  if (length > SNAPSHOT_MAX)
    return failed(new Error("a snapshot that is too long"), `it has ${length} characters, more than ${SNAPSHOT_MAX}`);
  const { ref, payloads } = storeValue(value, length);
  return { snapshots: [{ ...about, value: ref }], payloads };
}

/** An error of ours has no paths in it; of another one only the host is told. */
function reasonOf(error: unknown): string {
  return isPhasegateError(error) ? error.message : "its verifier failed";
}
