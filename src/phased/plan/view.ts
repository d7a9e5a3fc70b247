/**
 * What a session shows of its plan: its path, what has changed in it, the state of tasks, and texts made
 * from templates. A plan that can't be read never blocks a session: the pinned one is shown.
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { TASKS_FIELD } from "../../gate/plan-gate.js";
import type { Plan, TaskState } from "../../plan/plan.js";
import { requirementTitles } from "../../plan/requirements.js";
import type { Content } from "../../ports/content-provider.js";
import { renderPhase, renderShared, renderTask, splitTemplate } from "../../template/template.js";
import { revisionOf } from "../../workflow/json.js";
import { markdownFacts } from "../../workflow/markdown-facts.js";
import type {
  DynamicDefinition,
  PhaseDefinition,
  TaskDefinition,
  WorkflowStructure,
} from "../../workflow/structure.js";
import type { EngineContext, LoadedSession, TextView, TickReport } from "../engine-context.js";
import type { SessionHead } from "../state/head.js";
import { inRanges } from "../state/ranges.js";
import type { PhaseTask } from "../state/task-notes.js";
import { changesAhead, summaryOf } from "./compare.js";
import { matchTasks } from "./match.js";
import { readSource, reasonOf, requirementsBeside } from "./source.js";

/** The plan of a session, as every answer about the session shows it. */
export interface PlanView {
  /** Relative to the project root. */
  readonly path: string;
  /** What has changed for the session since the plan was pinned, in a line: `2 added, 1 renamed`. */
  readonly changed?: string;
  /** Why it can't be read now: then everything is shown as it was pinned. */
  readonly unreadable?: string;
  /** What was written into it. */
  readonly ticks?: TickReport;
}

/** The state of a task from a plan. */
export interface TaskProgress {
  /** The task's number in its phase. */
  readonly number: number;
  /** The plan's own id. */
  readonly id: string;
  /** The task's name. */
  readonly name: string;
  /**
   * Done if it is noted as done, or its phase has passed, unless the task is optional; dropped if the pinned plan says so;
   * otherwise what the source says now. A note is a claim at the gate, a tick is not.
   */
  readonly state: TaskState;
  /** Ids of the tasks that must be done first. */
  readonly dependencies: readonly string[];
  /** The dependencies that are neither done nor dropped. */
  readonly open: readonly string[];
  /** True if it can be done now: neither it nor its phase is done, it is not closed, and no dependency is open. */
  readonly ready: boolean;
  /** See {@link PhaseTask.closed}. A waived or dropped task blocks no other one. */
  readonly closed?: PhaseTask["closed"];
  /** True if the gate does not require it. */
  readonly optional: boolean;
  /** The requirements that it implements, if the plan names them. */
  readonly requirements?: readonly string[];
}

/** A phase in a session with a plan. */
export interface PlannedPhaseView extends PlanView {
  /** The state of the phase's tasks; empty if the phase does not come from the plan. */
  readonly tasks: readonly TaskProgress[];
}

/** A task from a plan. */
export interface PlannedTaskView extends PlannedPhaseView {
  /** The state of this task. */
  readonly task: TaskProgress;
  /** The titles of requirements by id, as far as the document beside the plan has them. */
  readonly titles: ReadonlyMap<string, string>;
}

/** Returns what the plan says about a phase, without what is waived; undefined if the session has no plan. */
export async function viewPlannedPhase(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
): Promise<PlannedPhaseView | undefined> {
  const live = await livePlan(context, loaded);
  if (live === undefined) return undefined;
  return { ...live.view, tasks: taskProgress(loaded.structure, loaded.session.head, phase, live.plan) };
}

/** Returns what the plan says about a task; undefined without a plan. Throws `TASK_LOCKED` for open dependencies, in a workflow that keeps the order. */
export async function viewPlannedTask(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
  task: TaskDefinition,
): Promise<PlannedTaskView | undefined> {
  const { structure, session } = loaded;
  const view = await viewPlannedPhase(context, loaded, phase);
  const known = view?.tasks.find(({ number }) => number === task.number);
  if (view === undefined || known === undefined) return undefined;
  const isCurrent = phase.number === session.head.phase && session.head.status !== "completed";
  if (isCurrent && known.state !== "done") checkOrder(structure.dynamic, phase, known, view);
  return { ...view, task: known, titles: await titlesFor(context, view.path, known.requirements) };
}

/** Returns the titles of requirements, from the document beside the plan as it is now. */
async function titlesFor({ options }: EngineContext, path: string, cited: readonly string[] = []) {
  const { document } = cited.length === 0 ? {} : await requirementsBeside(options, path);
  return document === undefined ? new Map<string, string>() : requirementTitles(document.text);
}

/** The current plan, if it can be read, with its view. */
interface LivePlan {
  readonly plan?: Plan;
  readonly view: PlanView;
}

/** Reads the current plan of a session. If that fails, the view says why. */
export async function livePlan(context: EngineContext, loaded: LoadedSession): Promise<LivePlan | undefined> {
  const { session, structure, ticks } = loaded;
  const { dynamic, plan: pin } = structure;
  if (dynamic === undefined || pin === undefined) return undefined;
  const view = { path: pin.path, ticks };
  try {
    const { source, reading } = await readSource(context.options, structure, dynamic, pin.path, true);
    const { plan } = reading;
    const isSame = source.hash === pin.hash || session.head.status === "completed";
    const changed = isSame ? undefined : changedSince(session.head, structure, plan);
    return { plan, view: { ...view, changed } };
  } catch (error) {
    if (isPhasegateError(error)) context.notifications.report("read plan", error);
    else context.notifications.notify("internalError", { operation: "read plan", error });
    return { view: { ...view, unreadable: reasonOf(error) } };
  }
}

/** Returns the text of a phase or task from a plan: the current template with the pinned data. */
export async function renderedText(
  { options }: EngineContext,
  structure: WorkflowStructure,
  target: string,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  const { type, phases, plan } = structure;
  const template = await options.content.text(type, { template: task === undefined ? "phase" : "task" });
  const forTasks = task === undefined ? await taskTemplate(options, structure, phase) : template;
  const values = { target, plan: plan?.path };
  // Not its number and one: a plan may leave numbers out.
  const next = phases[phases.indexOf(phase) + 1]?.number;
  const { text, leftOut } =
    task === undefined
      ? renderPhase(template.text, phase, next, values)
      : renderTask(template.text, phase, task, values);
  const sources = [...template.sources, ...(plan === undefined ? [] : [plan.path])];
  const content = { text, revision: revisionOf(text), sources, tokens: Math.ceil(text.length / 4) };
  return {
    content,
    leftOut,
    facts: markdownFacts(content),
    ...partsOf(template.text, forTasks?.text, phases, values, phase, task),
    contentChanged: (task ?? phase).textRevision !== template.revision,
  };
}

/** Returns the template for a phase's tasks; undefined if it can't be read: then its tasks say so. */
async function taskTemplate(
  { content }: EngineContext["options"],
  { type }: WorkflowStructure,
  { tasks }: PhaseDefinition,
): Promise<Content | undefined> {
  try {
    return tasks.length < 2 ? undefined : await content.text(type, { template: "task" });
  } catch {
    return undefined;
  }
}

/** Returns what a text has of its own, and for a phase what its tasks share; a later phase leaves out what it shares with the first. */
function partsOf(
  template: string,
  forTasks: string | undefined,
  phases: readonly PhaseDefinition[],
  values: { readonly target: string; readonly plan: string | undefined },
  phase: PhaseDefinition,
  task: TaskDefinition | undefined,
): Pick<TextView, "own" | "shared"> {
  const first = phases.find((other) => other.plan !== undefined) ?? phase;
  const tasks = phase.tasks.length < 2 || forTasks === undefined ? undefined : splitTemplate(forTasks, "task");
  // Only a first phase with several tasks has a text that its tasks share.
  const ofPhase = tasks && first !== phase && first.tasks.length > 1 ? splitTemplate(tasks.shared, "phase") : undefined;
  if (task !== undefined) {
    const restIn = ofPhase === undefined ? phase.number : first.number;
    return tasks === undefined ? {} : { own: { ...renderTask(tasks.own, phase, task, values), restIn } };
  }
  const split = first === phase ? undefined : splitTemplate(template, "phase");
  const shared = ofPhase?.own ?? tasks?.shared ?? "";
  return {
    ...(split && { own: { ...renderPhase(split.own, phase, undefined, values), restIn: first.number } }),
    ...(shared !== "" && { shared: renderShared(shared, phase, values) }),
  };
}

function changedSince(head: SessionHead, structure: WorkflowStructure, plan: Plan): string | undefined {
  const changes = changesAhead(structure, head.position, plan);
  if (changes === "gone") return "the current phase is not in it any more";
  return changes.length === 0 ? undefined : summaryOf(changes);
}

/** Returns the state of a phase's tasks, by the session and its current plan. */
function taskProgress(
  { phases }: WorkflowStructure,
  head: SessionHead,
  phase: PhaseDefinition,
  live: Plan | undefined,
): TaskProgress[] {
  const now = live === undefined ? undefined : matchTasks(phases, live.phases);
  const homes = new Map<string, { readonly done: boolean; readonly noted: boolean; readonly task: TaskDefinition }>();
  for (const [position, { tasks }] of phases.entries()) {
    const done = inRanges(head.completed, position) || inRanges(head.skipped, position);
    const noted = position === head.position && !done ? (head.tasks?.done ?? []) : [];
    for (const task of tasks) {
      if (task.plan !== undefined) homes.set(task.plan.id, { done, noted: inRanges(noted, task.number), task });
    }
  }
  const stateOf = (id: string): TaskState => {
    const home = homes.get(id);
    if (home?.noted === true) return "done";
    // The gate is that of the pinned plan: what is dropped since, or taken up again, counts after a sync.
    if (home?.task.plan?.state === "dropped") return "dropped";
    // Only its tick shows if an optional task was claimed.
    if (home?.done === true && home.task.plan?.optional !== true) return "done";
    const state = (home && now?.get(home.task)?.state) ?? home?.task.plan?.state ?? "pending";
    return state === "dropped" ? "pending" : state;
  };
  const waived = new Set(phase.gate.kind === "plan" ? phase.gate.waived : []);
  const byId = new Map(phase.tasks.map((task) => [task.plan?.id, task]));
  const givenUp = phase.number === head.phase ? (head.tasks?.givenUp ?? []) : [];
  const isGivenUp = (number: number) => inRanges(givenUp, number);
  const isWaived = (id: string) => waived.has(`${TASKS_FIELD}.${id}`);
  // What the gate does not require can be left out, and then blocks no other task.
  const isLeftOut = (id: string) => {
    const task = byId.get(id);
    return isWaived(id) || (task?.plan?.optional === true && isGivenUp(task.number));
  };
  return phase.tasks.flatMap(({ number, name, plan }) => {
    if (plan === undefined) return [];
    const { id, dependencies, optional, requirements } = plan;
    const state = stateOf(id);
    // An optional task that was left out in a completed phase blocks no other task.
    const isOver = (other: string) => homes.get(other)?.done === true;
    const isSettled = (other: string) => ["done", "dropped"].includes(stateOf(other));
    const open = dependencies.filter((needed) => !isOver(needed) && !isLeftOut(needed) && !isSettled(needed));
    const isOpen = state !== "done" && !isOver(id);
    const isLeft = isGivenUp(number) ? (optional ? "skipped" : "given_up") : undefined;
    const isClosed = isWaived(id) ? "waived" : isLeft;
    const closed = state === "dropped" ? state : isOpen ? isClosed : undefined;
    const ready = isOpen && closed === undefined && open.length === 0;
    return [{ number, id, name, state, dependencies, open, ready, closed, optional, requirements }];
  });
}

function checkOrder(
  dynamic: DynamicDefinition | undefined,
  { number: phase }: PhaseDefinition,
  { number: task, id, open }: TaskProgress,
  { tasks, path }: PlannedPhaseView,
): void {
  if (dynamic?.enforceDependencies !== true || open.length === 0) return;
  const ready = tasks.filter((other) => other.ready).map(({ number }) => number);
  const first = ready.length === 0 ? "" : ` Ready now: ${ready.join(", ")}.`;
  throw new PhasegateError("TASK_LOCKED", `task ${id} needs ${open.join(", ")}, which is not done`, {
    remedy: `Do ${open.join(", ")} first. It counts as done once it is noted as done, its phase has passed, or a person has waived it or ticked it in ${path}.${first}`,
    details: { phase, task, open, ready },
  });
}
