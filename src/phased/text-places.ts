/**
 * Where the texts and documents of a session's phases are. A session keeps its phases, and its workflow may have others by now,
 * under other numbers: a phase is found again by its name, and a task by its name in that phase.
 */
import { isPhasegateError } from "../errors.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { PhaseDefinition, TaskDefinition, WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { EngineContext } from "./engine-context.js";
import { findAgain } from "./state/find-again.js";

/** The places of a session's phases in its workflow as it is now. */
export interface TextPlaces {
  /** The phases of the workflow as it is now; none if it can't be read. */
  readonly phases: readonly PhaseDefinition[];
  /** Returns the phase that has the texts of a session's phase; undefined if there is none any more. */
  phase(phase: PhaseDefinition): PhaseDefinition | undefined;
  /** Returns the task that has the text of a task of a session's phase; undefined if there is none any more. */
  task(phase: PhaseDefinition, task: TaskDefinition): TaskDefinition | undefined;
}

/** Finds the places of a session's phases. All are where they were if the provider still has the session's revision. */
export async function findTextPlaces(
  { options: { content } }: EngineContext,
  structure: WorkflowStructure,
): Promise<TextPlaces> {
  const { type, revision, phases } = structure;
  const newest = await definitionIn(content, type);
  const isOwn = (found: typeof newest) =>
    found !== undefined && found !== "broken" && found.structure.revision === revision;
  // A provider without any definition says itself what it lacks.
  if (newest === undefined || isOwn(newest) || isOwn(await definitionIn(content, type, revision)))
    return { phases, phase: (phase) => phase, task: (_, task) => task };
  const now = newest === "broken" ? [] : newest.structure.phases;
  const phaseNow = (phase: PhaseDefinition) => findAgain(phase, phases, now);
  return {
    phases: now,
    // The texts of a phase from a plan come from templates.
    phase: (phase) => (phase.plan === undefined ? phaseNow(phase) : phase),
    task: (phase, task) =>
      phase.plan === undefined ? findAgain(task, phase.tasks, phaseNow(phase)?.tasks ?? []) : task,
  };
}

/** Returns a definition, the newest or that of a revision; undefined if there is none. */
async function definitionIn(
  content: ContentProvider,
  type: string,
  revision?: string,
): Promise<WorkflowDefinition | "broken" | undefined> {
  try {
    return await content.definition(type, revision);
  } catch (error) {
    if (isPhasegateError(error)) return "broken";
    throw error;
  }
}
