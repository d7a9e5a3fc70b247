import { canonicalJson } from "../../definition/canonical-json.js";
import { digest } from "../../definition/digest.js";
import type { PhaseDefinition, VerifyDefinition, WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/checks-of.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { VerifyRequest } from "../../ports/verifier.js";
import type { SessionHead } from "../../session/head.js";
import type { Snapshot } from "../../session/verification.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { storeValue } from "../store-value.js";
import { asJson } from "../through-json.js";
import { verifierOf } from "./run-verifiers.js";
import { type SnapshotOutcome, takeSnapshots } from "./take-snapshots.js";

/** What a command records of the phase that it leads to. */
export interface Begun {
  readonly snapshots: readonly Snapshot[];
  readonly payloads: readonly Payload[];
}

/** Whose phase begins. */
type Owner = Pick<PhasedSession, "sessionId"> & { readonly head: Pick<SessionHead, "workflowType" | "target"> };

/** The longest snapshot that is kept, in characters of JSON. */
const SNAPSHOT_MAX = 4 * 2 ** 20;

/**
 * Has the verifiers of a phase's gate look at what it begins with; undefined where none of them wants to, or
 * there is no such phase. One that can't keeps nobody out of the phase: what is recorded then is why, and its
 * check says so at the gate.
 */
export function beginPhase(
  context: EngineContext,
  owner: Owner,
  structure: WorkflowStructure,
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
export function snapshotChecks({ options }: EngineContext, { gate }: PhaseDefinition): readonly VerifyDefinition[] {
  return checksOf(gate).filter(({ verifier }) => verifierOf(options.verifiers, verifier)?.snapshot !== undefined);
}

/** Which check a snapshot is for, also in a gate that has been written anew since. */
export function checkKey({ verifier, field = "", params }: VerifyDefinition): string {
  return digest(canonicalJson([verifier, field, params]));
}

/** The session as verifiers are told of it. */
export function sessionFacts(
  { sessionId, head }: Owner,
  { plan }: WorkflowStructure,
  phase: number,
): VerifyRequest["session"] {
  const { workflowType, target } = head;
  return { id: sessionId, workflowType, target, phase, ...(plan === undefined ? {} : { specPath: plan.path }) };
}

async function begin(
  context: EngineContext,
  owner: Owner,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
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

function recorded(context: EngineContext, check: VerifyDefinition, outcome: SnapshotOutcome): Begun {
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
