import { type MarkdownFacts, readMarkdownFacts } from "../definition/markdown/markdown-facts.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { RecentMap } from "../kernel/recent-map.js";
import type { Content, ContentPart } from "../ports/content-provider.js";
import { readingRefusal } from "../session/refusals.js";
import { type EngineContext, type LoadedSession, requirePhase } from "./context.js";
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
  readonly workflowType: string;
  /** The phase that was asked for: the current one, or one that is done. */
  readonly phase: PhaseDefinition;
  /** What earlier phases have handed on: names by phase. */
  readonly artifacts: ReadonlyMap<number, readonly string[]>;
}

/** A task as an agent may see it. */
export interface TaskView extends Standing, TextView {
  readonly phase: PhaseDefinition;
  readonly task: TaskDefinition;
}

/** How many texts' facts are kept, by revision. */
const FACTS_KEPT = 256;
const factsByRevision = new RecentMap<string, MarkdownFacts>(FACTS_KEPT);

/** The current phase or one that is done. Throws `PHASE_LOCKED` for one that lies ahead. */
export async function viewPhase(
  context: EngineContext,
  { session, structure }: LoadedSession,
  number: number,
): Promise<PhaseView> {
  const { head } = session;
  const refusal = readingRefusal(head, number, structure);
  if (refusal !== undefined) throw refusal;
  const phase = requirePhase(structure, number);
  return {
    ...standingOf(context, session),
    workflowType: head.workflowType,
    phase,
    artifacts: await context.artifactNames.before(session, number),
    ...(await viewText(context, structure, { phase: number }, phase.textRevision)),
  };
}

/** A task of the current phase or of one that is done. Throws `PHASE_LOCKED`, `TASK_NOT_FOUND`. */
export async function viewTask(
  context: EngineContext,
  { session, structure }: LoadedSession,
  phaseNumber: number,
  taskNumber: number,
): Promise<TaskView> {
  const refusal = readingRefusal(session.head, phaseNumber, structure);
  if (refusal !== undefined) throw refusal;
  const phase = requirePhase(structure, phaseNumber);
  const task = phase.tasks.find(({ number }) => number === taskNumber);
  if (task === undefined) throw taskNotFound(phase, taskNumber);
  const part = { phase: phaseNumber, task: taskNumber };
  return {
    ...standingOf(context, session),
    phase,
    task,
    ...(await viewText(context, structure, part, task.textRevision)),
  };
}

async function viewText(
  { options }: EngineContext,
  structure: WorkflowStructure,
  part: ContentPart,
  pinned: string | undefined,
): Promise<TextView> {
  const content = await options.content.text(structure.type, part);
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
