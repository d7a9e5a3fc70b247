/**
 * Snapshots that are compared with: which ones a phase needs, which of them count now, and which are missing. A check
 * with `since` compares with the end of an earlier phase, so its snapshot is looked for in the log: the newest one since
 * that phase was last passed. The others are in the commit that the head calls the baseline.
 */
import { checksOf } from "../../gate/check-gate.js";
import { LogFold } from "../../log/commit.js";
import type { Kernel } from "../../log/log.js";
import { jsonWeight, RecentMap } from "../../workflow/cache.js";
import { SESSION_START, sinceOf } from "../../workflow/gate-definition.js";
import { canonicalJson, digest, type JsonValue } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { VerifyDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { Snapshot, ValueRef } from "../state/events.js";
import type { PhasedSession } from "../state/machine.js";
import {
  type Gap,
  type Place,
  type VerifiedPhase,
  type VerifiedSession,
  type VerifyContext,
  verifierOf,
  type WithSnapshots,
} from "./run-verifiers.js";

/** Returns the checks of a phase's gate whose verifiers take snapshots. */
export function snapshotChecks(
  context: VerifyContext,
  { gate }: Pick<VerifiedPhase, "gate">,
): readonly VerifyDefinition[] {
  return checksOf(gate).filter((check) => takesSnapshot(context, check));
}

function takesSnapshot({ options }: VerifyContext, { verifier }: VerifyDefinition): boolean {
  return verifierOf(options.verifiers, verifier)?.snapshot !== undefined;
}

/** A check that compares with a snapshot. */
export interface Needed {
  readonly check: VerifyDefinition;
  /** Identifies its snapshots, also in a gate that was rewritten since. */
  readonly key: string;
  /**
   * The position of the phase at whose end the snapshot is taken; -1 for the start of the session. Undefined if each
   * entry into the check's own phase takes a new one.
   */
  readonly anchor: number | undefined;
}

/** Returns what a check at a position compares with. */
export function needOf(
  { options }: VerifyContext,
  check: VerifyDefinition,
  phases: readonly Pick<VerifiedPhase, "number">[],
  position: number,
): Needed {
  const { verifier, field = "", params } = check;
  const since = sinceOf(params);
  const isKept = phases.length > 0 && verifierOf(options.verifiers, verifier)?.keepsSnapshot === true;
  // Two phases may have the same check, and each compares with its own start.
  const own = since === undefined && isKept ? [phases[position]?.number ?? 0] : [];
  const key = digest(canonicalJson([verifier, field, params, ...own]));
  if (since === SESSION_START) return { check, key, anchor: -1 };
  if (since !== undefined) return { check, key, anchor: phases.findIndex(({ number }) => number === since) };
  return { check, key, anchor: isKept ? position - 1 : undefined };
}

/** Returns the checks that need a snapshot once a phase is entered: its own, and later ones with an anchor behind it. */
export function neededAt(
  context: VerifyContext,
  { phases, isStep = false }: { readonly phases: readonly VerifiedPhase[]; readonly isStep?: boolean },
  position: number,
): readonly Needed[] {
  const phase = phases[position];
  if (phase === undefined) return [];
  const own = snapshotChecks(context, phase).map((check) => needOf(context, check, isStep ? [] : phases, position));
  const later = sinceChecks(phases).flatMap(({ check, place }) => {
    if (place <= position || !takesSnapshot(context, check)) return [];
    const need = needOf(context, check, phases, place);
    return need.anchor !== undefined && need.anchor < position ? [need] : [];
  });
  return [...new Map([...own, ...later].map((need) => [need.key, need])).values()];
}

/** A check with `since`, and the position of its phase. */
interface SinceCheck {
  readonly check: VerifyDefinition;
  readonly place: number;
}

/** The checks with `since` of structures that were searched: a plan may have thousands of phases. */
const sinceChecksOf = new WeakMap<readonly VerifiedPhase[], readonly SinceCheck[]>();

function sinceChecks(phases: readonly VerifiedPhase[]): readonly SinceCheck[] {
  const known = sinceChecksOf.get(phases);
  if (known !== undefined) return known;
  const found = phases.flatMap(({ gate }, place) =>
    checksOf(gate).flatMap((check) => (sinceOf(check.params) === undefined ? [] : [{ check, place }])),
  );
  sinceChecksOf.set(phases, found);
  return found;
}

/** The snapshots of a check, current and earlier; or why there are none. */
export type Beginning =
  | { readonly value: JsonValue; readonly earlier: readonly JsonValue[]; readonly takenAt?: string }
  | { readonly failed: string };

/** Limits the earlier snapshots that are compared with: the first, and the newest of the others. */
const EARLIER_MAX = 32;

/** Limits for how many states of sessions it is cached which snapshots are missing: characters of their JSON. */
const GAPS_WEIGHT = 2 * 1024 * 1024;

/** Finds the commits with the snapshots of phases or steps in the log, since a head knows only the newest. */
export class Beginnings<Event extends WithSnapshots, Head> {
  readonly #places: LogFold<Event, Head, Place | undefined>;
  /** Which snapshots are missing, by the state of a session. */
  readonly gaps = new RecentMap<string, readonly Gap[]>(GAPS_WEIGHT, jsonWeight);

  /** `placeOf` gives the phase or the step that a session is in. */
  constructor(kernel: Pick<Kernel<never, Event, Head>, "logTo">, placeOf: (head: Head) => string | number | undefined) {
    this.#places = new LogFold<Event, Head, Place | undefined>(
      kernel,
      undefined,
      (before, { events, version, head }) => {
        const keys = events.flatMap(({ snapshots = [] }) => snapshots.map(({ check }) => check));
        const isRollback = events.some(({ type }) => type === "rolled_back");
        const entry = isRollback ? undefined : events.find(({ type }) => type === "phase_entered");
        // It has the snapshots of before that still count, by the new numbers; older commits have the former ones.
        const isMoved = events.some(({ type, places }) => type === "migrated" && places !== undefined);
        if (keys.length === 0 && entry === undefined && !isMoved) return before;
        const earlier = isMoved ? undefined : before;
        return { version, at: placeOf(head), entered: entry?.position, keys, before: earlier };
      },
    );
  }

  /** Returns the newest of the commits that snapshots are looked for in. */
  newest(session: VerifiedSession): Promise<Place | undefined> {
    return this.#places.at(session);
  }
}

/** Returns a commit and those before it, newest first. */
function* backFrom(place: Place | undefined): Generator<Place> {
  for (let at = place; at !== undefined; at = at.before) yield at;
}

/** Returns the version with the newest snapshot since the phase after the anchor was entered; undefined if there is none. */
function anchoredAt(newest: Place | undefined, { key, anchor = -1 }: Needed): number | undefined {
  for (const { version, keys, entered } of backFrom(newest)) {
    if (keys.includes(key)) return version;
    if (entered === anchor + 1) return undefined;
  }
  return undefined;
}

/** Returns the versions with earlier snapshots that may be compared with, oldest first. */
function versionsBefore(newest: Place | undefined, { key, anchor }: Needed, current: number): readonly number[] {
  const places = [...backFrom(newest)].reverse();
  const own = places.find(({ version }) => version === current)?.at;
  const versions = places
    .filter(({ version, at, keys }) => version < current && keys.includes(key) && (anchor !== undefined || at === own))
    .map(({ version }) => version);
  return versions.filter((_, index) => index === 0 || index > versions.length - EARLIER_MAX);
}

/** A snapshot in the log. */
interface Found {
  readonly version: number;
  readonly snapshot: Snapshot;
}

/** Returns the snapshots that checks compare with now, by their keys. */
export async function currentSnapshots(
  context: VerifyContext,
  session: VerifiedSession,
  needed: readonly Needed[],
): Promise<ReadonlyMap<string, Found>> {
  const isAnchored = needed.some(({ anchor }) => anchor !== undefined);
  const newest = isAnchored ? await context.beginnings.newest(session) : undefined;
  const commits = new Map<number, Promise<ReadonlyMap<string, Snapshot>>>();
  const found = new Map<string, Found>();
  for (const need of needed) {
    const version = need.anchor === undefined ? session.head.baseline : anchoredAt(newest, need);
    if (version === undefined) continue;
    const commit = commits.get(version) ?? readSnapshots(context, session.sessionId, version);
    commits.set(version, commit);
    const snapshot = (await commit).get(need.key);
    if (snapshot !== undefined) found.set(need.key, { version, snapshot });
  }
  return found;
}

/** Returns the snapshots for checks of the current phase, by the check. `phases` is empty for a step. */
export async function loadBeginnings(
  context: VerifyContext,
  session: VerifiedSession,
  checks: readonly VerifyDefinition[],
  phases: readonly Pick<VerifiedPhase, "number">[],
  phase: number,
): Promise<ReadonlyMap<VerifyDefinition, Beginning>> {
  const found = new Map<VerifyDefinition, Beginning>();
  if (checks.length === 0) return found;
  const position = phases.findIndex(({ number }) => number === phase);
  const needed = checks.map((check) => needOf(context, check, phases, position));
  const current = await currentSnapshots(context, session, needed);
  for (const need of needed) {
    const { version, snapshot } = current.get(need.key) ?? {};
    const { value, takenAt, failed = "nothing was recorded" } = snapshot ?? {};
    if (version === undefined || value === undefined) {
      found.set(need.check, { failed });
      continue;
    }
    const earlier = await earlierValues(context, session, need, version, value);
    const loaded = await loadValue(context, { sessionId: session.sessionId, version }, value);
    found.set(need.check, { value: loaded, earlier, takenAt });
  }
  return found;
}

/** Returns the earlier snapshots of a check that differ from the current one, each once, oldest first. */
async function earlierValues(
  context: VerifyContext,
  session: VerifiedSession,
  need: Needed,
  current: number,
  value: ValueRef,
): Promise<readonly JsonValue[]> {
  const { sessionId } = session;
  // By their contents: a retry and a migration keep what there was.
  const seen = new Set([JSON.stringify(value)]);
  const values: JsonValue[] = [];
  for (const version of versionsBefore(await context.beginnings.newest(session), need, current)) {
    const ref = (await readSnapshots(context, sessionId, version)).get(need.key)?.value;
    if (ref === undefined || seen.has(JSON.stringify(ref))) continue;
    seen.add(JSON.stringify(ref));
    values.push(await loadValue(context, { sessionId, version }, ref));
  }
  return values;
}

/** Returns the key of the state that decides which snapshots are missing. */
function gapsKey({ sessionId, head }: Pick<PhasedSession, "sessionId" | "head">): string {
  return `${sessionId} ${head.structureVersion} ${head.baseline}`;
}

/** Returns the missing snapshots of a session as far as they are known already; undefined if they are not. */
export function knownGaps(
  { beginnings, options }: Pick<VerifyContext, "beginnings" | "options">,
  session: Pick<PhasedSession, "sessionId" | "head">,
): readonly Gap[] | undefined {
  // Only verifiers take snapshots.
  if (Object.getOwnPropertyNames(options.verifiers).length === 0) return [];
  return beginnings.gaps.get(gapsKey(session));
}

/** Returns the snapshots that the current phase, or a later check with an anchor behind it, has not. */
export async function snapshotGaps(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
): Promise<readonly Gap[]> {
  const known = knownGaps(context, session);
  if (known !== undefined) return known;
  const { status, position } = session.head;
  const isOver = status === "completed" || status === "deleted";
  const needed = isOver ? [] : neededAt(context, structure, position);
  const current = await currentSnapshots(context, session, needed);
  const gaps = gapsIn(needed, current).map(({ gap }) => gap);
  context.beginnings.gaps.set(gapsKey(session), gaps);
  return gaps;
}

/** Returns the checks whose snapshots are missing, with the reason. */
export function gapsIn(needed: readonly Needed[], current: ReadonlyMap<string, Found>) {
  return needed.flatMap((need): { readonly need: Needed; readonly gap: Gap }[] => {
    const { snapshot } = current.get(need.key) ?? {};
    if (snapshot?.value !== undefined) return [];
    const { failed } = snapshot ?? {};
    return [{ need, gap: { verifier: need.check.verifier, failed } }];
  });
}

/** Returns the snapshots in a commit, by check. */
async function readSnapshots(
  context: VerifyContext,
  sessionId: SessionId,
  version: number,
): Promise<ReadonlyMap<string, Snapshot>> {
  const { events } = await context.kernel.at(sessionId, version);
  const snapshots = events.flatMap((event) => event.snapshots ?? []);
  return new Map(snapshots.map((snapshot) => [snapshot.check, snapshot]));
}
