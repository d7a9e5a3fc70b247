/**
 * Writes due ticks into the source of a session's plan. They are written straight after the commit; if that fails, or
 * the process dies between the two writes, the next call tries again. Several processes may write them at once:
 * ticking twice changes nothing. A plan that can't be written never blocks a session.
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { claimedIds, claimedItems } from "../../gate/plan-gate.js";
import { audienceOf, notificationOf } from "../../runtime/notifier.js";
import { isJsonObject } from "../../workflow/json.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadEvidence, loadValue, readEvents } from "../artifacts.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import type { CommandOf } from "../state/commands.js";
import type { EventOf, SessionEvent } from "../state/events.js";
import { isPinning, type PhasedSession, type SessionCommit } from "../state/machine.js";
import { type DueTicks, dueAfterTicks, inRanges, numbersIn } from "../state/ranges.js";
import { matchTasks } from "./match.js";
import { findParser, keepReading, readingOf, readSource, reasonOf, requirePlans, requireSource } from "./source.js";
import { type Claim, canTick, type DueParts, itemsShown, showsDone, type TickedText, tickText } from "./tick-text.js";

/** Limits how often ticks that become due during a write are written by the same call. */
const ROUNDS_MAX = 5;

/** Writes due ticks into the plan, and records it. If that fails, the report says why, and the next call tries again. */
export async function writeDueTicks(
  context: EngineContext,
  start: PhasedSession,
  recent?: SessionCommit,
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

/** What of a phase was already ticked in its plan: tasks by their pinned ids, items of its validation gate by number. */
type Stood = Pick<CommandOf<"completePhase">, "stood" | "stoodItems">;

/** Returns what of a phase a person or another session had ticked; undefined if that is unknown: then all ticks are the session's own. */
export async function tickedBefore(
  { options }: EngineContext,
  { head }: PhasedSession,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
): Promise<Stood | undefined> {
  const { dynamic, plan: pin, phases } = structure;
  if (dynamic === undefined || pin?.ticked !== true || phase.plan === undefined) return undefined;
  // A tick may be one that the session has yet to remove.
  if (head.due !== undefined) return undefined;
  try {
    const { reading } = await readSource(options, structure, dynamic, pin.path, true);
    const now = matchTasks(phases, reading.plan.phases);
    const stood = phase.tasks.flatMap((task) => (showsDone(now.get(task)) && task.plan ? [task.plan.id] : []));
    return { stood, stoodItems: itemsShown(reading.plan, phase, phases) };
  } catch {
    // The write of the ticks reports why the plan can't be read.
    return undefined;
  }
}

type Written = Omit<TickedText, "text" | "reading">;

/** Limits how often a file that changes during a write is read again. */
const WRITES_MAX = 5;

/** Writes due ticks. Only what a reading after the write shows counts as done: another process may have replaced the text. */
async function writeTicks(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  recent: SessionCommit | undefined,
): Promise<Written> {
  const { dynamic, plan } = structure;
  const nothing = { ticked: [], unticked: [], missing: [], unwritable: [] };
  if (dynamic === undefined || plan === undefined) return nothing;
  const tasks = await dueParts(context, session, structure, due, recent);
  const plans = requirePlans(context.options, structure);
  const parser = await findParser(context.options, structure, dynamic);
  if (!canTick(parser)) return nothing;
  let source = await requireSource(plans, plan.path, true);
  for (let tries = 1; tries <= WRITES_MAX; tries += 1) {
    const before = readingOf(context.options, dynamic, parser, source);
    const { text, reading, ...written } = tickText(parser, source, before, tasks, dynamic.tickCriteria);
    if (text === source.text) return written;
    const replaced = await plans.replace(source.path, source.hash, text);
    source = await requireSource(plans, plan.path, true);
    if (!replaced || source.text !== text) continue;
    keepReading(context.options, dynamic, source, reading);
    return written;
  }
  throw new PhasegateError("CONFLICT", `${plan.path} changed again and again while it was written`, {
    remedy: "The next call tries again.",
    details: { sessionId: session.sessionId },
  });
}

/** A passed gate of a phase from a plan, with the phase as it was pinned then. */
interface Pass {
  readonly event: EventOf<"gate_passed">;
  readonly version: number;
  readonly phase: PhaseDefinition;
  readonly phases: readonly PhaseDefinition[];
  /** True if the pass was rolled back and its ticks were removed from the plan. */
  ticksRemoved?: boolean;
}

/** Returns what accepted evidence has claimed, to tick and to untick. `recent` is a commit that may be enough; else the whole log is read. */
async function dueParts(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  recent?: SessionCommit,
): Promise<DueParts> {
  // A newer commit may have changed which tasks are claimed.
  const newest = recent?.version === session.version ? recent : undefined;
  const passes = onlyPass(due, structure, newest) ?? (await allPasses(context, session));
  const valid = passes.filter(
    (pass, index) =>
      inRanges(session.head.completed, pass.event.position) &&
      !passes.slice(index + 1).some(({ event }) => event.position === pass.event.position),
  );
  const tick = valid.filter(({ event }) => inRanges(due.tick, event.position));
  const untick = passes.filter(
    (pass) => inRanges(due.untick, pass.event.position) && !valid.includes(pass) && pass.ticksRemoved !== true,
  );
  return {
    tick: await Promise.all(tick.map(async (pass) => claimOf(context, session, pass))),
    untick: await Promise.all(untick.map(async (pass) => ownOf(pass, await claimOf(context, session, pass)))),
  };
}

/** Returns the pass that is the only one due, right after it. */
function onlyPass(due: DueTicks, structure: WorkflowStructure, recent: SessionCommit | undefined): Pass[] | undefined {
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
    if (event.type === "plan_ticked") noteRemovedTicks(passes, undone, event);
    const phase = isTickedPass(event) ? phases[event.position] : undefined;
    if (isTickedPass(event) && phase !== undefined) passes.push({ event, version, phase, phases });
  }
  return passes;
}

/**
 * Notes which of the undone passes have no ticks in the plan any more. A process that was slow to write may have set
 * the ticks of an undone pass again after they were removed: they must then be removed again. If the phase has passed
 * again meanwhile, the ticks are those of the new pass.
 */
function noteRemovedTicks(
  passes: readonly Pass[],
  undone: ReadonlySet<Pass>,
  { ticks, unticks }: EventOf<"plan_ticked">,
): void {
  const passedAgain = new Set(passes.filter((pass) => !undone.has(pass)).map(({ event }) => event.position));
  for (const pass of undone) {
    const { position } = pass.event;
    if (inRanges(unticks, position)) pass.ticksRemoved = true;
    else if (inRanges(ticks, position) && !passedAgain.has(position)) pass.ticksRemoved = false;
  }
}

function isTickedPass(event: SessionEvent): event is EventOf<"gate_passed"> {
  return event.type === "gate_passed" && event.ticks === true;
}

/** Returns the tasks of the phase that its evidence names, and the items of its gate that it claims. */
async function claimOf(
  context: EngineContext,
  { sessionId }: PhasedSession,
  { event, version, phase, phases }: Pass,
): Promise<Claim> {
  // The output has plain claims where they were submitted with proofs, and the tasks that were noted as done.
  const given = event.output && (await loadValue(context, { sessionId, version }, event.output));
  const evidence = isJsonObject(given) ? given : await loadEvidence(context, { sessionId, version }, event.evidence);
  const claims = new Set(claimedIds(evidence));
  const tasks = phase.tasks.filter(({ plan }) => plan && plan.state !== "dropped" && claims.has(plan.id));
  const items = phase.gate.kind === "plan" ? claimedItems(phase.gate.items, evidence) : [];
  return { phase, phases, tasks, items };
}

/** Returns what the session has ticked itself: not what was ticked before, by a person or elsewhere. */
function ownOf({ event: { stood = [], stoodItems = [] } }: Pass, claim: Claim): Claim {
  return {
    ...claim,
    tasks: claim.tasks.filter(({ plan }) => plan === undefined || !stood.includes(plan.id)),
    items: claim.items.filter((item) => !stoodItems.includes(item)),
  };
}

/** Records what was written, unless another process has recorded it. */
async function record(
  { kernel, options }: EngineContext,
  { sessionId }: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  written: Written,
): Promise<PhasedSession> {
  const { unwritable } = written;
  const rest = { ...written, unwritable: unwritable.length === 0 ? undefined : unwritable };
  const ticked = { ticks: due.tick, unticks: due.untick, ...rest };
  const recorded = await kernel.execute(sessionId, (current) => {
    if (current === undefined || current.head.status === "deleted") return { answer: "nothing left" as const };
    const left = dueAfterTicks(current.head, ticked);
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

/** Combines two rounds; what the second undid of the first is omitted. */
function inAll(first: TickReport, second: Written): Written {
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
  { sessionId, head }: PhasedSession,
  { plan }: WorkflowStructure,
  error: unknown,
): string {
  const at = new Date(options.clock.now()).toISOString();
  const reason = reasonOf(error);
  // Any other error reaches the host with `planTicksPending`.
  if (isPhasegateError(error) && audienceOf(error) === "guard") notifications.report("write plan", error);
  const of = notificationOf(sessionId, head, at);
  notifications.notify("planTicksPending", { ...of, path: plan?.path ?? "", reason, error });
  return reason;
}
