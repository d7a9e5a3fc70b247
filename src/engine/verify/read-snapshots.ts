import type { JsonValue } from "../../definition/json.js";
import type { VerifyDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { Snapshot } from "../../session/verification.js";
import { loadValue } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { type Begun, beginPhase, checkKey, snapshotChecks } from "./begin-phase.js";
import type { VerifiedSession, VerifyContext } from "./verify-context.js";

/** What a check begins with: a value, or why there is none. */
export type Beginning = { readonly value: JsonValue } | { readonly failed: string };

/** What was recorded for the checks of the current phase when it began, by check. */
async function readSnapshots(
  context: VerifyContext,
  { sessionId, head }: VerifiedSession,
): Promise<ReadonlyMap<string, Snapshot>> {
  if (head.baseline === undefined) return new Map();
  const { events } = await context.kernel.at(sessionId, head.baseline);
  const snapshots = events.flatMap((event) => event.snapshots ?? []);
  return new Map(snapshots.map((snapshot) => [snapshot.check, snapshot]));
}

/** The same, with what lies beside the log; only of these checks. */
export async function loadBeginnings(
  context: VerifyContext,
  session: VerifiedSession,
  checks: readonly VerifyDefinition[],
): Promise<ReadonlyMap<string, Beginning>> {
  const found = new Map<string, Beginning>();
  if (checks.length === 0) return found;
  const snapshots = await readSnapshots(context, session);
  const place = { sessionId: session.sessionId, version: session.head.baseline ?? session.version };
  for (const key of checks.map(checkKey)) {
    const { value, failed = "nothing was recorded" } = snapshots.get(key) ?? {};
    if (value !== undefined) found.set(key, { value: await loadValue(context, place, value) });
    else found.set(key, { failed });
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
  const known = await readSnapshots(context, session);
  if (checks.every((check) => known.get(checkKey(check))?.value !== undefined)) return undefined;
  return beginPhase(context, session, structure, position, known);
}
