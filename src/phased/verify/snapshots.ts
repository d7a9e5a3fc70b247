import { isPhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/check-gate.js";
import { fillParams } from "../../gate/fill-params.js";
import { LogFold } from "../../log/fold.js";
import type { Kernel, Prepared } from "../../log/log.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { Verifier, VerifyRequest } from "../../ports/verifier.js";
import { canonicalJson, digest, type JsonValue } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { VerifyDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedCommand, PhasedSession } from "../pinned.js";
import type { SessionCommand } from "../state/commands.js";
import type { Snapshot } from "../state/events.js";
import { asJson, storeValue } from "../stored-values.js";
import {
  type BoundedOptions,
  placeholderValues,
  runBounded,
  VERIFY_DEFAULTS,
  type Verifiers,
  verifierOf,
} from "./run-verifiers.js";
import type { VerifiedPhase, VerifiedSession, VerifyContext, WithSnapshots } from "./verify-context.js";
/** What the checks of the phase begin with to which a command leads; undefined where it leads to none that has some. */
export function begunBy(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  command: SessionCommand,
): Promise<Begun | undefined> | undefined {
  const { position } = session.head;
  switch (command.type) {
    case "approve":
    case "overrideGate":
    case "skipPhase":
      return beginPhase(context, session, structure, position + 1);
    case "rollback": {
      const back = structure.phases.findIndex(({ number }) => number === command.to);
      return beginPhase(context, session, structure, back);
    }
    case "retryPhase":
      return completeSnapshots(context, session, structure);
    case "migrate":
      return completeSnapshots(context, session, command.structure);
    default:
      return undefined;
  }
}

/** A command with what its phase begins with, which is stored as evidence is. */
export function withBegun(
  command: PhasedCommand,
  begun: Begun | undefined,
  payloads: readonly Payload[] = [],
): Prepared<PhasedCommand> {
  if (begun === undefined) return { command, payloads };
  return { command: { ...command, snapshots: begun.snapshots }, payloads: [...payloads, ...begun.payloads] };
}

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

/** What a check begins with, now and when the phase was entered before; or why there is nothing. */
export type Beginning =
  | { readonly value: JsonValue; readonly earlier: readonly JsonValue[] }
  | { readonly failed: string };

/** So many earlier beginnings are compared with: the first, and the newest of the others. */
const EARLIER_MAX = 32;

/** Which commits hold what phases, or steps, begin with: out of the log, since a head knows the newest one alone. */
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

/** What was recorded for checks in a commit, by check. */
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

/** What was recorded for the checks of the current phase when it began, with what lies beside the log. */
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

/**
 * What the current phase would begin with under a structure, where some of that has not been recorded: all of
 * it, with what there is as it is. Undefined where nothing is wanting.
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

type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

/** A verifier of the phase that is being entered. */
interface SnapshotCheck {
  readonly verifier: string;
  readonly request: SnapshotRequest;
}

/** What was recorded for one verifier, or what kept it from being recorded. */
type SnapshotOutcome =
  | { readonly status: "taken"; readonly value: JsonValue }
  /** The verifier takes none. */
  | { readonly status: "none" }
  | { readonly status: "failed"; readonly error: unknown };

/**
 * What verifiers look at when a phase is entered, in the order of the checks. Never rejects: without its
 * snapshot a verifier refuses at the gate, so whoever enters the phase must hear of a failure.
 */
export async function takeSnapshots(
  checks: readonly SnapshotCheck[],
  verifiers: Verifiers,
  options: Partial<BoundedOptions> = {},
): Promise<readonly SnapshotOutcome[]> {
  const jobs = checks.map((check) => () => snapshot(check, verifiers));
  const settled = await runBounded(jobs, { ...VERIFY_DEFAULTS, ...options });
  return settled.map((end): SnapshotOutcome => {
    if (end.status === "done")
      return end.value === undefined ? { status: "none" } : { status: "taken", value: end.value };
    return { status: "failed", error: end.status === "failed" ? end.error : new Error(`a snapshot was ${end.status}`) };
  });
}

async function snapshot({ verifier: name, request }: SnapshotCheck, verifiers: Verifiers) {
  const verifier = verifierOf(verifiers, name);
  // Params of the others may want evidence, which isn't there yet.
  if (verifier?.snapshot === undefined) return undefined;
  const { verbatim = [] } = verifier;
  const params = fillParams(request.params, placeholderValues(request), { verbatim });
  return await verifier.snapshot({ ...request, params });
}
