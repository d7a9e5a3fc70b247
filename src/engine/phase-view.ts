import { type MarkdownFacts, readMarkdownFacts } from "../definition/markdown/markdown-facts.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { RecentMap } from "../kernel/recent-map.js";
import type { Content } from "../ports/content-provider.js";
import { readingRefusal } from "../session/refusals.js";
import type { AwaitedApproval } from "./approval/awaited.js";
import { notBelieved } from "./approval/ledger.js";
import { viewAwaited } from "./approval/view-awaited.js";
import { requirePhase } from "./context.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import { loadPlanned } from "./plan/load-planned.js";
import type { PlannedPhaseView, PlannedTaskView } from "./plan/view-plan.js";
import { type Standing, standingOf } from "./standing.js";

/** A text with what could be read out of it. */
export interface TextView {
  readonly content: Content;
  /** Title, duration, steps and the like, as far as the Markdown has them. */
  readonly facts: MarkdownFacts;
  /** Whether the text is another one than when the session was started. */
  readonly contentChanged: boolean;
}

/** A phase as an agent may see it. */
export interface PhaseView extends Standing, TextView {
  /** In a session with a plan: the plan, and how the phase's tasks stand. */
  readonly plan?: PlannedPhaseView;
  readonly workflowType: string;
  /** The phase that was asked for: the current one, or one that is done. */
  readonly phase: PhaseDefinition;
  /** What earlier phases have handed on: names by phase. */
  readonly artifacts: ReadonlyMap<number, readonly string[]>;
  /** What the session waits for, where it waits for a person. */
  readonly awaiting?: AwaitedApproval;
}

/** A task as an agent may see it. */
export interface TaskView extends Standing, TextView {
  /** Of a task out of a plan: how it stands, and the others of its phase. */
  readonly plan?: PlannedTaskView;
  readonly phase: PhaseDefinition;
  readonly task: TaskDefinition;
}

/** How many texts' facts are kept, by revision. */
const FACTS_KEPT = 256;
const factsByRevision = new RecentMap<string, MarkdownFacts>(FACTS_KEPT);

/** The current phase or one that is done. Throws `PHASE_LOCKED` for one that lies ahead. */
export async function viewPhase(context: EngineContext, loaded: LoadedSession, number: number): Promise<PhaseView> {
  const { session, structure, unapproved } = loaded;
  if (unapproved !== undefined) throw notBelieved(unapproved);
  const { head } = session;
  const refusal = readingRefusal(head, number, structure);
  if (refusal !== undefined) throw refusal;
  await context.approvalGuard.check(session, structure);
  const phase = requirePhase(structure, number);
  const plan = structure.plan && (await (await loadPlanned()).viewPlannedPhase(context, loaded, phase));
  const awaiting = await viewAwaited(context, session);
  return {
    ...(plan === undefined ? {} : { plan }),
    ...(awaiting === undefined ? {} : { awaiting }),
    ...standingOf(context, session),
    workflowType: head.workflowType,
    phase,
    artifacts: await context.artifactNames.before(session, number),
    ...(await viewText(context, structure, phase)),
  };
}

/** A task of the current phase or of one that is done. Throws `PHASE_LOCKED`, `TASK_NOT_FOUND`. */
export async function viewTask(
  context: EngineContext,
  loaded: LoadedSession,
  phaseNumber: number,
  taskNumber: number,
): Promise<TaskView> {
  const { session, structure, unapproved } = loaded;
  if (unapproved !== undefined) throw notBelieved(unapproved);
  const refusal = readingRefusal(session.head, phaseNumber, structure);
  if (refusal !== undefined) throw refusal;
  await context.approvalGuard.check(session, structure);
  const phase = requirePhase(structure, phaseNumber);
  const task = phase.tasks.find(({ number }) => number === taskNumber);
  if (task === undefined) throw taskNotFound(phase, taskNumber);
  const plan = task.plan && (await (await loadPlanned()).viewPlannedTask(context, loaded, phase, task));
  return {
    ...(plan === undefined ? {} : { plan }),
    ...standingOf(context, session),
    phase,
    task,
    ...(await viewText(context, structure, phase, task)),
  };
}

/** The text of a phase, or of one of its tasks, as it is now. */
export async function viewText(
  context: EngineContext,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  if (phase.plan !== undefined) {
    const { renderedText } = await loadPlanned();
    return renderedText(context, structure, phase, task);
  }
  const part = { phase: phase.number, ...(task === undefined ? {} : { task: task.number }) };
  const pinned = (task ?? phase).textRevision;
  const content = await context.options.content.text(structure.type, part);
  let facts = factsByRevision.get(content.revision);
  if (facts === undefined) {
    facts = readMarkdownFacts(content.text);
    factsByRevision.set(content.revision, facts);
  }
  return { content, facts, contentChanged: pinned !== undefined && pinned !== content.revision };
}

function taskNotFound(phase: PhaseDefinition, task: number): PhasegateError<"TASK_NOT_FOUND"> {
  const valid = phase.tasks.map(({ number }) => number);
  return new PhasegateError("TASK_NOT_FOUND", `phase ${phase.number} has no task ${task}`, {
    remedy:
      valid.length === 0 ? "This phase has no tasks: its content says what to do." : `Use one of: ${valid.join(", ")}.`,
    details: { phase: phase.number, task, valid },
  });
}
