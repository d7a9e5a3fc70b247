/**
 * Takes snapshots: what verifiers record when a phase is entered, to compare with at the gate. They are stored
 * like evidence. A snapshot that fails does not keep a session out of the phase: the reason is recorded,
 * and the check reports it at the gate. beginnings.ts says which snapshots a phase needs, and finds them in the log.
 */
import { isPhasegateError } from "../../errors.js";
import { fillParams } from "../../gate/fill-params.js";
import type { Prepared } from "../../log/log.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { Verifier, VerifyRequest } from "../../ports/verifier.js";
import type { JsonObject, JsonValue } from "../../workflow/json.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import { asJson, storeValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import { type CommandOf, landing, type SessionCommand, type TransitionContext } from "../state/commands.js";
import type { Snapshot } from "../state/events.js";
import type { PhasedSession } from "../state/machine.js";
import { moveTo } from "../state/migration.js";
import type { PhasedCommand } from "../state/transition.js";
import { currentSnapshots, gapsIn, type Needed, neededAt } from "./beginnings.js";
import { keptSnapshots } from "./kept-snapshots.js";
import {
  type BoundedOptions,
  type Gap,
  placeholderValues,
  runBounded,
  VERIFY_DEFAULTS,
  type VerifiedPhase,
  type VerifiedSession,
  type Verifiers,
  type VerifyContext,
  verifierOf,
} from "./run-verifiers.js";

/** The snapshots of the phase that a command enters. */
export interface Begun {
  readonly snapshots: Snapshot[];
  readonly payloads: readonly Payload[];
  /** Of a migration that enters a phase: the snapshots that later checks still compare with. */
  readonly kept?: Snapshot[];
}

/**
 * Takes the snapshots that a command needs: those of the phase that it enters, or those that are missing. `confirm` is awaited
 * before any is taken.
 */
export function begunBy(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  command: SessionCommand,
  skips: TransitionContext["skips"],
  confirm: () => Promise<void>,
): Promise<Begun | undefined> | undefined {
  const { position } = session.head;
  const enter = (place: number) =>
    beginPhase(context, session, structure, landing(place, structure, skips), { confirm });
  switch (command.type) {
    case "approve":
    case "overrideGate":
    case "skipPhase":
      return enter(position + 1);
    case "rollback": {
      const back = structure.phases.findIndex(({ number }) => number === command.to);
      return back < 0
        ? undefined
        : beginPhase(context, session, structure, landing(back, structure, skips), { isRollback: true, confirm });
    }
    case "retryPhase":
      return completeSnapshots(context, session, structure, confirm);
    case "migrate":
      return movedSnapshots(context, session, structure, command, skips, confirm);
    case "takeSnapshots":
      return completeSnapshots(context, session, structure, confirm, ({ failed }) => failed === undefined);
    default:
      return undefined;
  }
}

/** Adds snapshots and their payloads to a command. */
export function withBegun(command: PhasedCommand, begun: Begun | undefined): Prepared<PhasedCommand> {
  if (begun === undefined) return { command };
  const { snapshots, kept, payloads } = begun;
  return { command: { ...command, snapshots, kept }, payloads };
}

/** The session that enters a phase; with its options, if it is not in the log yet. */
type EnteringSession = Pick<VerifiedSession, "sessionId" | "head"> & { readonly options?: JsonObject };

/** The phases that a session may enter, in order. */
type Begins = Pick<WorkflowStructure, "plan"> & {
  readonly phases: readonly VerifiedPhase[];
  /** True for a step of a routed workflow, which has no phases before it. */
  readonly isStep?: boolean;
};

/**
 * Takes the snapshots for a phase that is entered: those of its own checks, and those of later checks that compare with
 * the end of the phase before it. A rollback passes no phase, so it takes only those that each entry takes. Returns
 * undefined if there are none to take. A failure is recorded and reported by its check at the gate. `confirm` is awaited before.
 */
export function beginPhase(
  context: VerifyContext,
  session: EnteringSession,
  structure: Begins,
  position: number,
  { isRollback = false, confirm }: { readonly isRollback?: boolean; readonly confirm?: () => Promise<void> } = {},
): Promise<Begun> | undefined {
  const phase = structure.phases[position];
  if (phase === undefined) return undefined;
  const due = neededAt(context, structure, position).filter(
    ({ anchor }) => anchor === undefined || (!isRollback && anchor === position - 1),
  );
  if (due.length === 0) return undefined;
  const taking = () => take(context, session, structure, phase, due);
  return confirm === undefined ? taking() : confirm().then(taking);
}

/** Returns the session as verifiers see it. */
export function sessionFacts(
  { sessionId, head }: EnteringSession,
  { plan }: Pick<WorkflowStructure, "plan">,
  phase: number,
  options: JsonObject = {},
): VerifyRequest["session"] {
  const { workflowType, target } = head;
  const given = Object.keys(options).length === 0 ? undefined : options;
  return { id: sessionId, workflowType, target, phase, specPath: plan?.path, options: given };
}

type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

/** A verifier of the phase that is entered. */
interface SnapshotCheck {
  readonly verifier: string;
  readonly request: SnapshotRequest;
}

/** A snapshot, or why it failed. */
type SnapshotOutcome =
  | { readonly status: "taken"; readonly value: JsonValue }
  /** The verifier takes none. */
  | { readonly status: "none" }
  | { readonly status: "failed"; readonly error: unknown };

/**
 * Takes snapshots in the order of the checks. Never rejects: without its snapshot a verifier refuses at the
 * gate, so the failure must be reported.
 */
export async function takeSnapshots(
  checks: readonly SnapshotCheck[],
  verifiers: Verifiers,
  options: Partial<BoundedOptions> = {},
): Promise<readonly SnapshotOutcome[]> {
  const jobs = checks.map((check) => () => snapshot(check, verifiers));
  const results = await runBounded(jobs, { ...VERIFY_DEFAULTS, ...options });
  return results.map((end): SnapshotOutcome => {
    if (end.status === "done")
      return end.value === undefined ? { status: "none" } : { status: "taken", value: end.value };
    return { status: "failed", error: end.status === "failed" ? end.error : new Error(`a snapshot was ${end.status}`) };
  });
}

async function take(
  context: VerifyContext,
  session: EnteringSession,
  structure: Pick<WorkflowStructure, "plan">,
  { number }: Pick<VerifiedPhase, "number">,
  needed: readonly Needed[],
  takenAt?: string,
): Promise<Begun> {
  const { verifiers, limits, clock } = context.options;
  const options = session.options ?? (await context.pinned?.options(session.sessionId));
  const facts = sessionFacts(session, structure, number, options);
  const requests = needed.map(({ check: { verifier, params } }) => ({ verifier, request: { params, session: facts } }));
  const outcomes = await takeSnapshots(requests, verifiers, {
    limit: limits.maxVerifiersAtOnce,
    deadlineMs: limits.verifyDeadlineMs,
    clock,
  });
  const taken = needed.map((need, index) => recorded(context, need, outcomes[index] ?? { status: "none" }, takenAt));
  return {
    snapshots: taken.flatMap(({ snapshots }) => snapshots),
    payloads: taken.flatMap(({ payloads }) => payloads),
  };
}

async function snapshot({ verifier: name, request }: SnapshotCheck, verifiers: Verifiers) {
  const verifier = verifierOf(verifiers, name);
  // Params of the others may want evidence, which isn't there yet.
  if (verifier?.snapshot === undefined) return undefined;
  const { verbatim = [] } = verifier;
  const params = fillParams(request.params, placeholderValues(request), { verbatim });
  return await verifier.snapshot({ ...request, params });
}

/** The longest snapshot that is stored, in characters of JSON. */
const SNAPSHOT_MAX = 4 * 2 ** 20;

function recorded(
  context: VerifyContext,
  { key, check: { verifier } }: Needed,
  outcome: SnapshotOutcome,
  takenAt: string | undefined,
): Begun {
  const about = { verifier, check: key, takenAt };
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

/** Our own errors contain no paths; any other error is shown to the host only. */
function reasonOf(error: unknown): string {
  return isPhasegateError(error) ? error.message : "its verifier failed";
}

/**
 * Takes the snapshots that are missing under a structure, or those of them that are chosen. They are late, and say so:
 * the agent may have worked already. The others of the current phase are kept. Undefined if none is missing.
 */
async function completeSnapshots(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  confirm: () => Promise<void>,
  isChosen: (gap: Gap) => boolean = () => true,
): Promise<Begun | undefined> {
  const position = structure.phases.findIndex(({ number }) => number === session.head.phase);
  const phase = structure.phases[position];
  if (phase === undefined) return undefined;
  const needed = neededAt(context, structure, position);
  const current = await currentSnapshots(context, session, needed);
  const chosen = gapsIn(needed, current).flatMap(({ need, gap }) => (isChosen(gap) ? [need] : []));
  if (chosen.length === 0) return undefined;
  await confirm();
  const at = new Date(context.options.clock.now()).toISOString();
  const { snapshots, payloads } = await take(context, session, structure, phase, chosen, at);
  // The commit becomes the one that snapshots of each entry are looked for in.
  const kept = needed.flatMap((need) => {
    const { snapshot } = current.get(need.key) ?? {};
    return need.anchor !== undefined || snapshot === undefined || chosen.includes(need) ? [] : [snapshot];
  });
  return { snapshots: [...kept, ...snapshots], payloads };
}

/**
 * Returns the snapshots of a migration. Those that the same checks compare with stay, whatever the numbers of their phases
 * are now: a new one would hide what has changed since. The phase that is entered gets those that each entry takes.
 */
async function movedSnapshots(
  context: EngineContext,
  session: PhasedSession,
  before: WorkflowStructure,
  { structure: after, by, accept }: CommandOf<"migrate">,
  skips: TransitionContext["skips"],
  confirm: () => Promise<void>,
): Promise<Begun | undefined> {
  const move = moveTo(session.head, { before, after, by, accept, skips });
  // The transition refuses it.
  if (move instanceof Error || move.needsAccept.length > 0) return undefined;
  if (move.isInPlace) return completeSnapshots(context, session, after, confirm);
  const kept = await keptSnapshots(context, session, before, after, move);
  const position = move.staysInPhase ? move.place : landing(move.place, after, skips);
  const phase = after.phases[position];
  const have = new Set(kept.map(({ check }) => check));
  const due = neededAt(context, after, position).filter(({ key, anchor }) =>
    move.staysInPhase ? !have.has(key) : anchor === undefined || (anchor === position - 1 && !have.has(key)),
  );
  let taken: Begun = { snapshots: [], payloads: [] };
  if (phase !== undefined && due.length > 0) {
    await confirm();
    // What a phase under way lacks is late.
    const at = move.staysInPhase ? new Date(context.options.clock.now()).toISOString() : undefined;
    taken = await take(context, session, after, phase, due, at);
  }
  return move.staysInPhase ? { ...taken, snapshots: [...kept, ...taken.snapshots] } : { ...taken, kept };
}
