/**
 * Writes due ticks into the source of a session's plan. A commit and a file are two writes, so ticks may be
 * late, and several processes may write them at once: ticking twice changes nothing. A plan that can't be
 * written never blocks a session: the next call tries again.
 */

import { isPhasegateError, PhasegateError } from "../../errors.js";
import { claimedIds } from "../../gate/plan-gate.js";
import { audienceOf } from "../../runtime/notifier.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadEvidence, readEvents } from "../artifacts.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import { isPinning, type PhasedCommit, type PhasedSession } from "../pinned.js";
import { type EventOf, inRanges, numbersIn, type SessionEvent } from "../state/events.js";
import { type DueTicks, dueAfterTicks } from "../state/head.js";
import { matchTasks } from "./match.js";
import { findParser, readSource, reasonOf, requirePlans, requireSource } from "./source.js";
import { canTick, type DueTasks, type KnownTask, showsDone, type TickedText, tickText } from "./tick-text.js";

/** Limits how often ticks that become due during a write are written by the same call. */
const ROUNDS_MAX = 5;

/**
 * Writes due ticks into the source of a session's plan, and records it. If that fails, the report gives the
 * reason, and the next call on the session tries again.
 */
export async function settleTicks(
  context: EngineContext,
  start: PhasedSession,
  recent?: PhasedCommit,
): Promise<{ readonly session: PhasedSession; readonly ticks: TickReport }> {
  let session = start;
  let ticks: TickReport = { ticked: [], unticked: [], missing: [], unwritable: [] };
  for (let round = 1; session.head.due !== undefined && round <= ROUNDS_MAX; round += 1) {
    const structure = await context.pinned.structure(session);
    // A tick would say that a person has approved the phase.
    if ((await context.approvalGuard.unapproved(session, structure)) !== undefined) return { session, ticks };
    try {
      const written = await writeTicks(context, session, structure, session.head.due, recent);
      session = await record(context, session, structure, session.head.due, written);
      ticks = inAll(ticks, written);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) throw error;
      return { session, ticks: { ...ticks, pending: pendingReason(context, session, structure, error) } };
    }
  }
  return { session, ticks };
}

/**
 * Returns the tasks of a phase that were already ticked in the plan, by their pinned ids: by a person, or
 * by another session. Undefined if that can't be determined: then all ticks count as the session's own.
 */
export async function earlierTicks(
  { options }: EngineContext,
  { head }: PhasedSession,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
): Promise<readonly string[] | undefined> {
  const { dynamic, plan: pin, phases } = structure;
  if (dynamic === undefined || pin?.ticked !== true || phase.plan === undefined) return undefined;
  // A tick may be one that the session has yet to remove.
  if (head.due !== undefined) return undefined;
  try {
    const { reading } = await readSource(options, structure, dynamic, pin.path, true);
    const now = matchTasks(phases, reading.plan.phases);
    return phase.tasks.flatMap((task) => (showsDone(now.get(task)) && task.plan !== undefined ? [task.plan.id] : []));
  } catch {
    // The write of the ticks reports why the plan can't be read.
    return undefined;
  }
}

/** The result of a write. */
type Written = Omit<TickedText, "text">;

/** Limits how often a file that changes during a write is read again. */
const WRITES_MAX = 5;

/**
 * Writes due ticks. Only what a reading after the write shows counts as done: another process may have
 * replaced the text meanwhile.
 */
async function writeTicks(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  recent: PhasedCommit | undefined,
): Promise<Written> {
  const { dynamic, plan } = structure;
  const nothing = { ticked: [], unticked: [], missing: [], unwritable: [] };
  if (dynamic === undefined || plan === undefined) return nothing;
  const tasks = await dueTasks(context, session, structure, due, recent);
  const plans = requirePlans(context.options, structure);
  const parser = await findParser(context.options, structure, dynamic);
  if (!canTick(parser)) return nothing;
  let source = await requireSource(plans, plan.path, true);
  for (let tries = 1; tries <= WRITES_MAX; tries += 1) {
    const { text, ...written } = tickText(parser, source.text, source.path, tasks, dynamic.tickCriteria);
    if (text === source.text) return written;
    const replaced = await plans.replace(source.path, source.hash, text);
    source = await requireSource(plans, plan.path, true);
    if (replaced && source.text === text) return written;
  }
  throw new PhasegateError("CONFLICT", `${plan.path} changed again and again while it was written`, {
    remedy: "It is tried again at the next call.",
    details: { sessionId: session.sessionId },
  });
}

/** A passed gate of a phase from a plan, with the phase as it was pinned then. */
interface Pass {
  readonly event: EventOf<"gate_passed">;
  readonly version: number;
  readonly phase: PhaseDefinition;
  readonly phases: readonly PhaseDefinition[];
  /** True if its ticks were removed: later ones are not its own. */
  settled?: boolean;
}

/**
 * Returns the tasks to tick and to untick: those that accepted evidence has claimed. `recent` is a commit
 * that may contain everything needed; otherwise the whole log is read.
 */
async function dueTasks(
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

/** Returns the pass that is the only one due, right after it. */
function onlyPass(due: DueTicks, structure: WorkflowStructure, recent: PhasedCommit | undefined): Pass[] | undefined {
  const event = recent?.events.find((candidate) => candidate.type === "gate_passed");
  if (recent === undefined || event?.type !== "gate_passed" || due.untick.length > 0) return undefined;
  const phase = structure.phases[event.position];
  if (numbersIn(due.tick).join() !== `${event.position}` || phase === undefined) return undefined;
  return [{ event, version: recent.version, phase, phases: structure.phases }];
}

/** Returns every pass of a phase from a plan, oldest first. */
async function allPasses(context: EngineContext, session: PhasedSession): Promise<Pass[]> {
  const passes: Pass[] = [];
  const undone = new Set<Pass>();
  let phases: readonly PhaseDefinition[] = [];
  // Later commits count too: a phase that was just rolled back must not be ticked.
  for (const { event, version } of await readEvents(context, { ...session, version: Number.POSITIVE_INFINITY })) {
    if (isPinning(event)) phases = event.structure.phases;
    if (event.type === "rolled_back")
      for (const pass of passes) if (pass.event.position >= event.position) undone.add(pass);
    if (event.type === "plan_ticked") dropRepeatedTicks(passes, undone, event);
    const phase = isTickedPass(event) ? phases[event.position] : undefined;
    if (isTickedPass(event) && phase !== undefined) passes.push({ event, version, phase, phases });
  }
  return passes;
}

/** A late process may have ticked again what was unticked, if no later pass was ticked. */
function dropRepeatedTicks(
  passes: readonly Pass[],
  undone: ReadonlySet<Pass>,
  { ticks, unticks }: EventOf<"plan_ticked">,
): void {
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

/** Returns the tasks of the phase that its evidence names: an optional one may be missing. */
async function claimedTasks(
  context: EngineContext,
  { sessionId }: PhasedSession,
  { event, version, phase, phases }: Pass,
): Promise<KnownTask[]> {
  const evidence = await loadEvidence(context, { sessionId, version }, event.evidence);
  const claims = new Set(claimedIds(evidence));
  return phase.tasks.filter(({ plan }) => plan !== undefined && claims.has(plan.id)).map((task) => ({ task, phases }));
}

/** Tests if the session has ticked a task itself: earlier ticks are a person's or another session's. */
function isOwn({ event: { stood = [] } }: Pass): (known: KnownTask) => boolean {
  return ({ task }) => task.plan === undefined || !stood.includes(task.plan.id);
}

/** Records what was written, unless another process has recorded it. */
async function record(
  { kernel, options }: EngineContext,
  { sessionId }: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  written: Written,
): Promise<PhasedSession> {
  const ticked = { ticks: due.tick, unticks: due.untick, ...plainLists(written) };
  const recorded = await kernel.execute(sessionId, (current) => {
    if (current === undefined || current.head.status === "deleted") return { answer: "nothing left" as const };
    const { due: left } = dueAfterTicks(current.head, { type: "plan_ticked", ...ticked });
    if (JSON.stringify(left) === JSON.stringify(current.head.due)) return { answer: "nothing left" as const };
    return { command: { command: { type: "planTicked", ticked } as const, structure, limits: options.limits } };
  });
  if (!("answer" in recorded)) return recorded;
  const newest = await kernel.find(sessionId);
  if (newest !== undefined) return newest;
  throw new PhasegateError("SESSION_NOT_FOUND", `there is no session ${sessionId} any more`, {
    remedy: "List the sessions, or start one.",
    details: { sessionId },
  });
}

function plainLists({ ticked, unticked, missing, unwritable }: Written): Pick<EventOf<"plan_ticked">, keyof Written> {
  const rest = unwritable.length === 0 ? {} : { unwritable: [...unwritable] };
  return { ticked: [...ticked], unticked: [...unticked], missing: [...missing], ...rest };
}

/** Combines two rounds; what the second undid of the first is omitted. */
function inAll(first: Written, second: Written): Written {
  const both = (one: readonly string[], other: readonly string[], undone: readonly string[]) => [
    ...new Set([...one.filter((id) => !undone.includes(id)), ...other]),
  ];
  return {
    ticked: both(first.ticked, second.ticked, second.unticked),
    unticked: both(first.unticked, second.unticked, second.ticked),
    missing: both(first.missing, second.missing, []),
    unwritable: both(first.unwritable, second.unwritable, []),
  };
}

/** Returns the reason for the answer; the host gets the error itself. */
function pendingReason(
  { notifications, options }: EngineContext,
  { sessionId, head: { workflowType } }: PhasedSession,
  { plan }: WorkflowStructure,
  error: unknown,
): string {
  const at = new Date(options.clock.now()).toISOString();
  const reason = reasonOf(error);
  // All else is told as `planTicksPending`, with the error.
  if (isPhasegateError(error) && audienceOf(error) === "guard") notifications.report("write plan", error);
  notifications.notify("planTicksPending", { sessionId, workflowType, at, path: plan?.path ?? "", reason, error });
  return reason;
}
