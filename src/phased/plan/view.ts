import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Plan, TaskState } from "../../plan/plan.js";
import type { Content } from "../../ports/content-provider.js";
import { RecentMap } from "../../runtime/cache.js";
import { renderPhase, renderTask } from "../../template/phase.js";
import { revisionOf } from "../../workflow/json.js";
import { type MarkdownFacts, readMarkdownFacts } from "../../workflow/markdown-facts.js";
import type {
  DynamicDefinition,
  PhaseDefinition,
  TaskDefinition,
  WorkflowStructure,
} from "../../workflow/structure.js";
import { reportFailure } from "../announce.js";
import type { EngineContext, LoadedSession, TickReport } from "../engine-context.js";
import { inRanges } from "../state/events.js";
import type { SessionHead } from "../state/head.js";
import { changesAhead, summaryOf } from "./compare.js";
import { matchTasks } from "./match.js";
import { readSource, reasonOf } from "./source.js";
/** A phase in a session with a plan. */
export interface PlannedPhaseView extends PlanView {
  /** The tasks of the phase, as they stand; none where it doesn't come out of the plan. */
  readonly tasks: readonly TaskStanding[];
}

/** A task out of a plan. */
export interface PlannedTaskView extends PlannedPhaseView {
  readonly task: TaskStanding;
}

/** What a plan says of a phase; undefined where the session has no plan. */
export async function viewPlannedPhase(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
): Promise<PlannedPhaseView | undefined> {
  const live = await livePlan(context, loaded);
  if (live === undefined) return undefined;
  return { ...live.view, tasks: taskStandings(loaded.structure, loaded.session.head, phase, live.plan) };
}

/**
 * What a plan says of a task; undefined where it comes out of none. Throws `TASK_LOCKED` for one that
 * can't be done yet, in a workflow that keeps the order.
 */
export async function viewPlannedTask(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
  task: TaskDefinition,
): Promise<PlannedTaskView | undefined> {
  const { structure, session } = loaded;
  const view = await viewPlannedPhase(context, loaded, phase);
  const standing = view?.tasks.find(({ number }) => number === task.number);
  if (view === undefined || standing === undefined) return undefined;
  const isCurrent = phase.number === session.head.phase && session.head.status !== "completed";
  if (isCurrent && standing.state !== "done") checkOrder(structure.dynamic, phase, standing, view);
  return { ...view, task: standing };
}

function checkOrder(
  dynamic: DynamicDefinition | undefined,
  { number: phase }: PhaseDefinition,
  { number: task, id, open }: TaskStanding,
  { tasks, path }: PlannedPhaseView,
): void {
  if (dynamic?.enforceDependencies !== true || open.length === 0) return;
  const ready = tasks.filter((other) => other.ready).map(({ number }) => number);
  const first = ready.length === 0 ? "" : ` Ready now: ${ready.join(", ")}.`;
  throw new PhasegateError("TASK_LOCKED", `task ${id} needs ${open.join(", ")}, which is not done`, {
    remedy: `Do ${open.join(", ")} first. It counts as done when its phase has passed, or once a person has ticked it in ${path}.${first}`,
    details: { phase, task, open, ready },
  });
}

/** The plan of a session, as far as every answer about the session says it. */
export interface PlanView {
  /** Where it lies, relative to the project root. */
  readonly path: string;
  /** What of it has changed for the session since it was pinned, in a line: `2 added, 1 renamed`. */
  readonly changed?: string;
  /** Why it can't be read now: then all is shown as it was pinned. */
  readonly unreadable?: string;
  /** What was written into it. */
  readonly ticks?: TickReport;
}

/** A plan as it is now, if it can be read, with what is to be said of it. */
interface LivePlan {
  readonly plan?: Plan;
  readonly view: PlanView;
}

/** Reads the plan of a session as it is now. That it can't be read stops nobody: it is said. */
export async function livePlan(context: EngineContext, loaded: LoadedSession): Promise<LivePlan | undefined> {
  const { session, structure, ticks } = loaded;
  const { dynamic, plan: pin } = structure;
  if (dynamic === undefined || pin === undefined) return undefined;
  const view = { path: pin.path, ...(ticks === undefined ? {} : { ticks }) };
  try {
    const { source, reading } = await readSource(context.options, structure, dynamic, pin.path, true);
    const { plan } = reading;
    const isSame = source.hash === pin.hash || session.head.status === "completed";
    const changed = isSame ? undefined : changedSince(session, structure, plan);
    return { plan, view: { ...view, ...(changed === undefined ? {} : { changed }) } };
  } catch (error) {
    if (isPhasegateError(error)) reportFailure(context.notifications, "read plan", error);
    else context.notifications.notify("internalError", { operation: "read plan", error });
    return { view: { ...view, unreadable: reasonOf(error) } };
  }
}

function changedSince(
  { sessionId, head }: LoadedSession["session"],
  structure: WorkflowStructure,
  plan: Plan,
): string | undefined {
  const changes = changesAhead(structure, head.position, plan, `${sessionId} ${head.structureVersion}`);
  if (changes === "gone") return "the current phase is not in it any more";
  return changes.length === 0 ? undefined : summaryOf(changes);
}

/** How the tasks of a plan's phase stand. Pure. */

/** A task out of a plan, as it stands. */
export interface TaskStanding {
  readonly number: number;
  /** The plan's own id. */
  readonly id: string;
  readonly name: string;
  /**
   * Done if its phase has passed, unless it may be left out; else what the source says now. A tick there is
   * no claim at the gate.
   */
  readonly state: TaskState;
  /** Ids of the tasks that must be done first. */
  readonly dependencies: readonly string[];
  /** Those of them that are not done. */
  readonly open: readonly string[];
  /** Whether it can be done now: it is not done, nor is its phase, and nothing that it needs is open. */
  readonly ready: boolean;
  readonly optional: boolean;
  /** What it is done for, where the plan says so. */
  readonly requirements?: readonly string[];
}

/** How the tasks of a phase stand: by the session, and by its plan as it is now. */
function taskStandings(
  { phases }: WorkflowStructure,
  head: SessionHead,
  phase: PhaseDefinition,
  live: Plan | undefined,
): TaskStanding[] {
  const now = live === undefined ? undefined : matchTasks(phases, live.phases);
  const homes = new Map<string, { readonly done: boolean; readonly task: TaskDefinition }>();
  for (const [position, { tasks }] of phases.entries()) {
    const done = inRanges(head.completed, position) || inRanges(head.skipped, position);
    for (const task of tasks) if (task.plan !== undefined) homes.set(task.plan.id, { done, task });
  }
  const stateOf = (id: string): TaskState => {
    const home = homes.get(id);
    // Whether a task that may be left out was claimed shows in its tick alone.
    if (home?.done === true && home.task.plan?.optional !== true) return "done";
    const task = home === undefined ? undefined : now?.get(home.task);
    return task?.state ?? home?.task.plan?.state ?? "pending";
  };
  return phase.tasks.flatMap(({ number, name, plan }) => {
    if (plan === undefined) return [];
    const { id, dependencies, optional, requirements } = plan;
    const state = stateOf(id);
    // What was left out in a phase that is behind the session keeps nobody waiting.
    const isOver = (other: string) => homes.get(other)?.done === true;
    const open = dependencies.filter((needed) => !isOver(needed) && stateOf(needed) !== "done");
    const ready = state !== "done" && !isOver(id) && open.length === 0;
    const said = requirements === undefined ? {} : { requirements };
    return [{ number, id, name, state, dependencies, open, ready, optional, ...said }];
  });
}

/** A text that was made from a template. */
interface RenderedText {
  readonly content: Content;
  readonly facts: MarkdownFacts;
  /** Whether the template is another one than when the phase was pinned. */
  readonly contentChanged: boolean;
}

/** How many texts of one structure are kept. */
const TEXTS_KEPT = 16;

interface Kept {
  /** The revision of the template. */
  readonly template: string;
  readonly content: Content;
  readonly facts: MarkdownFacts;
}

const textsOf = new WeakMap<WorkflowStructure, RecentMap<PhaseDefinition | TaskDefinition, Kept>>();

/**
 * The text of a phase out of a plan, or of one of its tasks: the template as it is now with the data that
 * is pinned. It is made once for each state of the template.
 */
export async function renderedText(
  { options }: EngineContext,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<RenderedText> {
  const part = task ?? phase;
  const template = await options.content.text(structure.type, { template: task === undefined ? "phase" : "task" });
  const texts = textsOf.get(structure) ?? new RecentMap<PhaseDefinition | TaskDefinition, Kept>(TEXTS_KEPT);
  textsOf.set(structure, texts);
  let kept = texts.get(part);
  if (kept?.template !== template.revision) {
    kept = { template: template.revision, ...render(template, structure, phase, task) };
    texts.set(part, kept);
  }
  const { content, facts } = kept;
  return { content, facts, contentChanged: part.textRevision !== template.revision };
}

function render(template: Content, structure: WorkflowStructure, phase: PhaseDefinition, task?: TaskDefinition) {
  const { plan, phases } = structure;
  // Not its number and one: a plan may leave numbers out.
  const next = phases[phases.indexOf(phase) + 1]?.number;
  const text = task === undefined ? renderPhase(template.text, phase, next) : renderTask(template.text, phase, task);
  const sources = [...template.sources, ...(plan === undefined ? [] : [plan.path])];
  const content = { text, revision: revisionOf(text), sources, tokens: Math.ceil(text.length / 4) };
  return { content, facts: readMarkdownFacts(text) };
}
