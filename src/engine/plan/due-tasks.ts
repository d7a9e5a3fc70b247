import type { PhaseDefinition, WorkflowStructure } from "../../definition/structure.js";
import { claimedIds } from "../../gate/claimed-ids.js";
import type { EventOf, SessionEvent } from "../../session/events.js";
import type { DueTicks } from "../../session/head.js";
import { inRanges, numbersIn } from "../../session/ranges.js";
import { loadEvidence, readEvents } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import { isPinning, type PhasedCommit, type PhasedSession } from "../pinned.js";
import type { DueTasks, KnownTask } from "./tick-text.js";

/** A gate that a phase out of a plan has passed, with the phase as it was pinned then. */
interface Pass {
  readonly event: EventOf<"gate_passed">;
  readonly version: number;
  readonly phase: PhaseDefinition;
  readonly phases: readonly PhaseDefinition[];
  /** Its ticks were taken back: what stands since then is not its own. */
  settled?: boolean;
}

/**
 * Which tasks are to be ticked, and which not any more: those that accepted evidence has claimed. `recent`
 * is a commit that may hold all that is needed; else the whole log is read.
 */
export async function dueTasks(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  recent?: PhasedCommit,
): Promise<DueTasks> {
  // Once the session has gone on, that commit doesn't say any more what is claimed.
  const newest = recent?.version === session.version ? recent : undefined;
  const passes = onlyPass(due, structure, newest) ?? (await allPasses(context, session));
  const claimed = async (pass: Pass) => claimedTasks(context, session, pass);
  const standing = passes.filter(
    (pass, index) =>
      inRanges(session.head.completed, pass.event.position) &&
      !passes.slice(index + 1).some(({ event }) => event.position === pass.event.position),
  );
  const tick = standing.filter(({ event }) => inRanges(due.tick, event.position));
  const untick = passes.filter(
    (pass) => inRanges(due.untick, pass.event.position) && !standing.includes(pass) && pass.settled !== true,
  );
  return {
    tick: (await Promise.all(tick.map(claimed))).flat(),
    untick: (await Promise.all(untick.map(async (pass) => (await claimed(pass)).filter(isOwn(pass))))).flat(),
  };
}

/** Whether the session has ticked a task itself: what stood before is a person's or another session's. */
function isOwn({ event: { stood = [] } }: Pass): (known: KnownTask) => boolean {
  return ({ task }) => task.plan === undefined || !stood.includes(task.plan.id);
}

/** The pass that is all that is due, as it is right after it. */
function onlyPass(due: DueTicks, structure: WorkflowStructure, recent: PhasedCommit | undefined): Pass[] | undefined {
  const event = recent?.events.find((candidate) => candidate.type === "gate_passed");
  if (recent === undefined || event?.type !== "gate_passed" || due.untick.length > 0) return undefined;
  const phase = structure.phases[event.position];
  if (numbersIn(due.tick).join() !== `${event.position}` || phase === undefined) return undefined;
  return [{ event, version: recent.version, phase, phases: structure.phases }];
}

/** Every pass of a phase out of a plan, oldest first. */
async function allPasses(context: EngineContext, session: PhasedSession): Promise<Pass[]> {
  const passes: Pass[] = [];
  const undone = new Set<Pass>();
  let phases: readonly PhaseDefinition[] = [];
  // What was appended since counts too: nobody ticks what somebody has just taken back.
  for (const { event, version } of await readEvents(context, { ...session, version: Number.POSITIVE_INFINITY })) {
    if (isPinning(event)) phases = event.structure.phases;
    if (event.type === "rolled_back")
      for (const pass of passes) if (pass.event.position >= event.position) undone.add(pass);
    if (event.type === "plan_ticked") settle(passes, undone, event);
    const phase = isTickedPass(event) ? phases[event.position] : undefined;
    if (isTickedPass(event) && phase !== undefined) passes.push({ event, version, phase, phases });
  }
  return passes;
}

/** Somebody who was late may have ticked again what had been taken back, where no later pass was ticked. */
function settle(passes: readonly Pass[], undone: ReadonlySet<Pass>, { ticks, unticks }: EventOf<"plan_ticked">): void {
  const standing = new Set(passes.filter((pass) => !undone.has(pass)).map(({ event }) => event.position));
  for (const pass of undone) {
    const { position } = pass.event;
    if (inRanges(unticks, position)) pass.settled = true;
    else if (inRanges(ticks, position) && !standing.has(position)) pass.settled = false;
  }
}

function isTickedPass(event: SessionEvent): event is EventOf<"gate_passed"> {
  return event.type === "gate_passed" && event.ticks === true;
}

/** The tasks of the phase that its evidence names: an optional one may be left out. */
async function claimedTasks(
  context: EngineContext,
  { sessionId }: PhasedSession,
  { event, version, phase, phases }: Pass,
): Promise<KnownTask[]> {
  const evidence = await loadEvidence(context, { sessionId, version }, event.evidence);
  const claims = new Set(claimedIds(evidence));
  return phase.tasks.filter(({ plan }) => plan !== undefined && claims.has(plan.id)).map((task) => ({ task, phases }));
}
