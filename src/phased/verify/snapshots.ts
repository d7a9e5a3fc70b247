/**
 * Snapshots: what verifiers record when a phase is entered, to compare with at the gate. They are stored
 * like evidence. A snapshot that fails does not keep a session out of the phase: the reason is recorded,
 * and the check reports it at the gate.
 */

import { isPhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/check-gate.js";
import { fillParams } from "../../gate/fill-params.js";
import { LogFold } from "../../log/fold.js";
import type { Kernel, Prepared } from "../../log/log.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { Verifier, VerifyRequest } from "../../ports/verifier.js";
import { canonicalJson, digest, type JsonObject, type JsonValue } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { VerifyDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { asJson, loadValue, storeValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedCommand, PhasedSession } from "../pinned.js";
import { landing, type SessionCommand, type TransitionContext } from "../state/commands.js";
import type { Snapshot } from "../state/events.js";
import {
  type BoundedOptions,
  placeholderValues,
  runBounded,
  VERIFY_DEFAULTS,
  type VerifiedPhase,
  type VerifiedSession,
  type Verifiers,
  type VerifyContext,
  verifierOf,
  type WithSnapshots,
} from "./run-verifiers.js";

/** The snapshots of the phase that a command enters. */
export interface Begun {
  readonly snapshots: readonly Snapshot[];
  readonly payloads: readonly Payload[];
}

/** Takes the snapshots of the phase that a command enters; undefined if it enters none that needs any. */
export function begunBy(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  command: SessionCommand,
  skips: TransitionContext["skips"],
): Promise<Begun | undefined> | undefined {
  const { position } = session.head;
  const enter = (place: number) => beginPhase(context, session, structure, landing(place, structure, skips));
  switch (command.type) {
    case "approve":
    case "overrideGate":
    case "skipPhase":
      return enter(position + 1);
    case "rollback": {
      const back = structure.phases.findIndex(({ number }) => number === command.to);
      return back < 0 ? undefined : enter(back);
    }
    case "retryPhase":
      return completeSnapshots(context, session, structure);
    case "migrate":
      return completeSnapshots(context, session, command.structure);
    default:
      return undefined;
  }
}

/** Adds snapshots and their payloads to a command. */
export function withBegun(
  command: PhasedCommand,
  begun: Begun | undefined,
  payloads: readonly Payload[] = [],
): Prepared<PhasedCommand> {
  if (begun === undefined) return { command, payloads };
  return { command: { ...command, snapshots: begun.snapshots }, payloads: [...payloads, ...begun.payloads] };
}

/** The session that enters a phase; with its options, if it is not in the log yet. */
type Owner = Pick<VerifiedSession, "sessionId" | "head"> & { readonly options?: JsonObject };

/** The phases that a session may enter, in order. */
type Begins = Pick<WorkflowStructure, "plan"> & { readonly phases: readonly VerifiedPhase[] };

/**
 * Takes the snapshots of a phase. Returns undefined if the phase does not exist or has no verifier that takes snapshots.
 * A failure is recorded and reported by its check at the gate.
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

/** Returns the checks of a phase's gate whose verifiers take snapshots. */
export function snapshotChecks(
  { options }: VerifyContext,
  { gate }: Pick<VerifiedPhase, "gate">,
): readonly VerifyDefinition[] {
  return checksOf(gate).filter(({ verifier }) => verifierOf(options.verifiers, verifier)?.snapshot !== undefined);
}

/** Identifies the check of a snapshot, also in a gate that was rewritten since. */
export function checkKey({ verifier, field = "", params }: VerifyDefinition): string {
  return digest(canonicalJson([verifier, field, params]));
}

/** Returns the session as verifiers see it. */
export function sessionFacts(
  { sessionId, head }: Owner,
  { plan }: Pick<WorkflowStructure, "plan">,
  phase: number,
  options: JsonObject = {},
): VerifyRequest["session"] {
  const { workflowType, target } = head;
  return {
    ...{ id: sessionId, workflowType, target, phase },
    ...(plan === undefined ? {} : { specPath: plan.path }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
}

/** The snapshots of a check, current and earlier; or why there are none. */
export type Beginning =
  | { readonly value: JsonValue; readonly earlier: readonly JsonValue[] }
  | { readonly failed: string };

/** Limits the earlier snapshots that are compared with: the first, and the newest of the others. */
const EARLIER_MAX = 32;

/** Finds the commits with the snapshots of phases or steps in the log, since a head knows only the newest. */
export class Beginnings<Event extends WithSnapshots, Head> {
  readonly #places: LogFold<Event, Head, ReadonlyMap<number, string | number | undefined>>;

  /** `placeOf` gives the phase or the step that a session is in. */
  constructor(kernel: Pick<Kernel<never, Event, Head>, "log">, placeOf: (head: Head) => string | number | undefined) {
    this.#places = new LogFold<Event, Head, ReadonlyMap<number, string | number | undefined>>(
      kernel,
      new Map(),
      (places, { events, version, head }) =>
        events.some(({ snapshots }) => snapshots !== undefined) ? new Map(places).set(version, placeOf(head)) : places,
    );
  }

  /** The commits in which the current phase was entered before, oldest first. */
  async before(session: VerifiedSession): Promise<readonly number[]> {
    const { baseline } = session.head;
    if (baseline === undefined) return [];
    const places = await this.#places.at(session);
    const same = [...places].filter(([version, place]) => version < baseline && place === places.get(baseline));
    const versions = same.map(([version]) => version);
    return versions.filter((_, index) => index === 0 || index > versions.length - EARLIER_MAX);
  }
}

/** Returns the snapshots for the checks of the current phase, with their payloads. */
export async function loadBeginnings(
  context: VerifyContext,
  session: VerifiedSession,
  checks: readonly VerifyDefinition[],
): Promise<ReadonlyMap<string, Beginning>> {
  const found = new Map<string, Beginning>();
  if (checks.length === 0) return found;
  const { sessionId, head } = session;
  const snapshots = await readSnapshots(context, sessionId, head.baseline);
  const place = { sessionId, version: head.baseline ?? session.version };
  const versions = await context.beginnings.before(session);
  const before = await Promise.all(versions.map((version) => readSnapshots(context, sessionId, version)));
  for (const key of checks.map(checkKey)) {
    const { value, failed = "nothing was recorded" } = snapshots.get(key) ?? {};
    if (value === undefined) {
      found.set(key, { failed });
      continue;
    }
    // By their contents: a retry and a migration keep what there was.
    const others = new Map<string, Promise<JsonValue>>();
    for (const [index, version] of versions.entries()) {
      const ref = before[index]?.get(key)?.value;
      const name = JSON.stringify(ref ?? value);
      if (ref === undefined || name === JSON.stringify(value) || others.has(name)) continue;
      others.set(name, loadValue(context, { sessionId, version }, ref));
    }
    found.set(key, { value: await loadValue(context, place, value), earlier: await Promise.all(others.values()) });
  }
  return found;
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

async function begin(
  context: VerifyContext,
  owner: Owner,
  structure: Begins,
  phase: VerifiedPhase,
  checks: readonly VerifyDefinition[],
  known: ReadonlyMap<string, Snapshot>,
): Promise<Begun> {
  const { verifiers, limits } = context.options;
  const options = owner.options ?? (await context.pinned?.options(owner.sessionId));
  const session = sessionFacts(owner, structure, phase.number, options);
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

/** Our own errors contain no paths; any other error is shown to the host only. */
function reasonOf(error: unknown): string {
  return isPhasegateError(error) ? error.message : "its verifier failed";
}

/**
 * Returns all snapshots of the current phase under a structure, if some are missing; existing ones are
 * kept. Undefined if none is missing.
 */
async function completeSnapshots(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
): Promise<Begun | undefined> {
  const position = structure.phases.findIndex(({ number }) => number === session.head.phase);
  const phase = structure.phases[position];
  const checks = phase === undefined ? [] : snapshotChecks(context, phase);
  if (checks.length === 0) return undefined;
  const known = await readSnapshots(context, session.sessionId, session.head.baseline);
  if (checks.every((check) => known.get(checkKey(check))?.value !== undefined)) return undefined;
  return beginPhase(context, session, structure, position, known);
}

/** Returns the snapshots in a commit, by check. */
async function readSnapshots(
  context: VerifyContext,
  sessionId: SessionId,
  version: number | undefined,
): Promise<ReadonlyMap<string, Snapshot>> {
  if (version === undefined) return new Map();
  const { events } = await context.kernel.at(sessionId, version);
  const snapshots = events.flatMap((event) => event.snapshots ?? []);
  return new Map(snapshots.map((snapshot) => [snapshot.check, snapshot]));
}
