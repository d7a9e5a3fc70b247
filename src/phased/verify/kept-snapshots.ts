/**
 * Which snapshots a migration keeps. A check finds its snapshot by a key, which may have the numbers of phases in it: so those
 * that the same check of the same phase compares with are recorded again, under the key that the new definition gives it.
 */
import { canonicalJson } from "../../workflow/json.js";
import type { PhaseDefinition, VerifyDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { EngineContext } from "../engine-context.js";
import { pairPhases, sinceByName } from "../state/compare-phases.js";
import type { Snapshot } from "../state/events.js";
import type { PhasedSession } from "../state/machine.js";
import type { Move } from "../state/migration.js";
import { currentSnapshots, type Needed, needOf, snapshotChecks } from "./beginnings.js";

/** Returns the snapshots that still count, by the keys of the new definition. */
export async function keptSnapshots(
  context: EngineContext,
  session: PhasedSession,
  before: WorkflowStructure,
  after: WorkflowStructure,
  { place, staysInPhase }: Pick<Move, "place" | "staysInPhase">,
): Promise<Snapshot[]> {
  const { position } = session.head;
  const pairs: { readonly was: Needed; readonly key: string }[] = [];
  for (const { from, to } of pairPhases(before, after)) {
    const [phase, other] = [before.phases[from], after.phases[to]];
    if (phase === undefined || other === undefined) continue;
    for (const [check, same] of samePairs(context, [before, phase], [after, other])) {
      const was = needOf(context, check, before.phases, from);
      const now = needOf(context, same, after.phases, to);
      const isBegun = was.anchor === undefined ? staysInPhase && from === position : was.anchor < position;
      // A later phase takes its own when it is entered.
      const counts = now.anchor === undefined || now.anchor < place;
      if (isBegun && counts) pairs.push({ was, key: now.key });
    }
  }
  const current = await currentSnapshots(
    context,
    session,
    pairs.map(({ was }) => was),
  );
  const kept = pairs.flatMap(({ was, key }): [string, Snapshot][] => {
    const { snapshot } = current.get(was.key) ?? {};
    return snapshot?.value === undefined ? [] : [[key, { ...snapshot, check: key }]];
  });
  return [...new Map(kept).values()];
}

type Placed = readonly [structure: WorkflowStructure, phase: PhaseDefinition];

/** Pairs the checks of a phase with the same ones in the new definition. */
function samePairs(
  context: EngineContext,
  was: Placed,
  now: Placed,
): (readonly [VerifyDefinition, VerifyDefinition])[] {
  const asText = (structure: WorkflowStructure, { verifier, field = "", params }: VerifyDefinition) =>
    canonicalJson([verifier, field, sinceByName(structure, params)]);
  const known = new Map(snapshotChecks(context, now[1]).map((check) => [asText(now[0], check), check]));
  return snapshotChecks(context, was[1]).flatMap((check) => {
    const same = known.get(asText(was[0], check));
    return same === undefined ? [] : [[check, same] as const];
  });
}
