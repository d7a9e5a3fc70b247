import type { JsonValue } from "../../definition/json.js";
import type { SessionId } from "../../definition/names.js";
import type { VerifyDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { Kernel } from "../../kernel/kernel.js";
import { LogFold } from "../../kernel/log-fold.js";
import type { Snapshot } from "../../session/verification.js";
import { loadValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { type Begun, beginPhase, checkKey, snapshotChecks } from "./begin-phase.js";
import type { VerifiedSession, VerifyContext, WithSnapshots } from "./verify-context.js";

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
export async function completeSnapshots(
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
