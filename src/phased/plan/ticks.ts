/**
 * Writes due ticks into the source of a session's plan. A commit and a file are two writes, so ticks may be
 * late, and several processes may write them at once: ticking twice changes nothing. A plan that can't be
 * written never blocks a session: the next call tries again.
 */

import { isPhasegateError, PhasegateError } from "../../errors.js";
import { claimedIds } from "../../gate/plan-gate.js";
import type { Plan, PlanTask } from "../../plan/plan.js";
import { isTicked } from "../../plan/task-line.js";
import type { SourceParser } from "../../ports/content-provider.js";
import { audienceOf } from "../../runtime/notifier.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadEvidence, readEvents } from "../artifacts.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import { isPinning, type PhasedCommit, type PhasedSession } from "../pinned.js";
import type { EventOf, SessionEvent } from "../state/events.js";
import { type DueTicks, dueAfterTicks } from "../state/head.js";
import { inRanges, numbersIn } from "../state/ranges.js";
import { matchTasks, type TaskMatches } from "./match.js";
import { findParser, readSource, reasonOf, requirePlans, requireSource } from "./source.js";

/** Limits how often ticks that become due during a write are written by the same call. */
const ROUNDS_MAX = 5;

/**
 * Writes due ticks into the source of a session's plan, and records it. If that fails, the report gives the
 * reason, and the next call on the session tries again.
 */
export async function writeDueTicks(
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
export async function tickedBefore(
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
  // A newer commit may have changed which tasks are claimed.
  const newest = recent?.version === session.version ? recent : undefined;
  const passes = onlyPass(due, structure, newest) ?? (await allPasses(context, session));
  const claimed = async (pass: Pass) => claimedTasks(context, session, pass);
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

/** Returns a test for tasks that the session has ticked itself: those not ticked before, by a person or elsewhere. */
function isOwn({ event: { stood: tickedBefore = [] } }: Pass): (known: KnownTask) => boolean {
  return ({ task }) => task.plan === undefined || !tickedBefore.includes(task.plan.id);
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
  // Any other error reaches the host with `planTicksPending`.
  if (isPhasegateError(error) && audienceOf(error) === "guard") notifications.report("write plan", error);
  notifications.notify("planTicksPending", { sessionId, workflowType, at, path: plan?.path ?? "", reason, error });
  return reason;
}

/** A pinned task, with the phases that were pinned with it. */
interface KnownTask {
  readonly task: TaskDefinition;
  readonly phases: readonly PhaseDefinition[];
}

/** Tasks to tick and to untick. */
interface DueTasks {
  readonly tick: readonly KnownTask[];
  readonly untick: readonly KnownTask[];
}

/** A text with its ticks, and the tasks that show them, by their ids in the text. */
interface TickedText {
  readonly text: string;
  readonly ticked: readonly string[];
  readonly unticked: readonly string[];
  /** Tasks that the text no longer has, by their former ids. */
  readonly missing: readonly string[];
  /** Tasks without a checkbox in the text. */
  readonly unwritable: readonly string[];
}

type TickingParser = SourceParser & Required<Pick<SourceParser, "tick">>;

/** Returns true if a parser can write ticks. */
function canTick(parser: SourceParser): parser is TickingParser {
  return parser.tick !== undefined;
}

/** Writes ticks into the current text; everything else in it stays. */
function tickText(
  parser: TickingParser,
  before: string,
  file: string,
  due: DueTasks,
  tickCriteria: boolean,
): TickedText {
  const { plan } = parser.parse(before, file);
  const find = finder(plan);
  const ticked = due.tick.flatMap((task) => find(task) ?? []);
  const unticked = due.untick.flatMap((task) => find(task) ?? []).filter((task) => !ticked.includes(task));
  const writing = new Writing(parser, file, before, plan);
  for (const [tasks, done] of [[unticked, false] as const, [ticked, true] as const]) {
    // A task without a checkbox is shown as done by the checkboxes of its criteria.
    const withCriteria = (task: PlanTask) => tickCriteria || task.checkbox === undefined;
    for (const criteria of [true, false]) {
      writing.tick(ids(tasks.filter((task) => withCriteria(task) === criteria)), criteria, done);
    }
  }
  const after = new Map(writing.plan().phases.flatMap(({ tasks }) => tasks.map((task) => [task.id, task] as const)));
  const shows = (done: boolean) => (id: string) => showsDone(after.get(id)) === done;
  const [done, open] = [ids(ticked), ids(unticked)];
  const missing = [...due.tick, ...due.untick].filter((task) => find(task) === undefined);
  return {
    text: writing.text,
    ticked: done.filter(shows(true)),
    unticked: open.filter(shows(false)),
    missing: [...new Set(missing.map(({ task }) => task.plan?.id ?? task.name))],
    unwritable: [...done.filter(shows(false)), ...open.filter(shows(true))],
  };
}

/** Returns true if the text shows a task as done: by its checkbox, or by those of its criteria if it has none. */
function showsDone(task: PlanTask | undefined): boolean {
  if (task === undefined || task.state === "done") return task !== undefined;
  const boxes = task.checkbox === undefined ? task.acceptanceCriteria.flatMap(({ checkbox }) => checkbox ?? []) : [];
  return boxes.length > 0 && boxes.every(({ mark }) => isTicked(mark));
}

function finder(plan: Plan): (known: KnownTask) => PlanTask | undefined {
  const known = new Map<readonly PhaseDefinition[], TaskMatches>();
  return ({ task, phases }) => {
    const matches = known.get(phases) ?? matchTasks(phases, plan.phases);
    known.set(phases, matches);
    return matches.get(task);
  };
}

/** A text that is being ticked. */
class Writing {
  text: string;
  private readonly parser: TickingParser;
  private readonly file: string;
  private read: Plan | undefined;

  constructor(parser: TickingParser, file: string, text: string, plan: Plan) {
    this.parser = parser;
    this.file = file;
    this.text = text;
    this.read = plan;
  }

  /** Positions move with each change, so the text is read again. */
  plan(): Plan {
    this.read ??= this.parser.parse(this.text, this.file).plan;
    return this.read;
  }

  /** Ticks tasks together; if that fails, one by one, so that one task does not stop the others. */
  tick(tasks: readonly string[], criteria: boolean, done: boolean): void {
    if (tasks.length === 0) return;
    try {
      const text = this.parser.tick(this.text, this.plan(), { tasks, criteria, done });
      if (text !== this.text) this.read = undefined;
      this.text = text;
    } catch (error) {
      // The parser has written a text that is no plan: fewer tasks would not help.
      if (isPhasegateError(error, "PLAN_PARSE") && error.cause === undefined) throw error;
      // A single task that can't be ticked is reported as unwritable, because the text does not show it.
      if (tasks.length > 1) for (const task of tasks) this.tick([task], criteria, done);
    }
  }
}

function ids(tasks: readonly PlanTask[]): string[] {
  return [...new Set(tasks.map(({ id }) => id))];
}
