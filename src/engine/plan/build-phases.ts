/** A plan's phases as a session pins them. Pure. */
import {
  type PhaseDefinition,
  structureSchema,
  type TaskDefinition,
  type WorkflowStructure,
} from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { PlanPhase, PlanTask } from "../../plan/plan.js";

/** The revisions of the templates that the texts of phases and tasks are made with. */
export interface TemplateRevisions {
  readonly phase: string;
  readonly task: string;
}

/** The largest structure, in characters of JSON: a session's first commit carries it. */
const STRUCTURE_MAX = 4 * 1024 * 1024;

/** What must be added to a plan's own numbers so that its phases come after those before them: nothing, if they do. */
export function shiftAfter(last: number, phases: readonly PlanPhase[]): number {
  const first = phases[0]?.number ?? 0;
  return first > last ? 0 : last + 1 - first;
}

/** The phases of a plan. */
export function buildPhases(
  phases: readonly PlanPhase[],
  shift: number,
  revisions: TemplateRevisions,
): PhaseDefinition[] {
  return phases.map(({ number, name, goal, estimatedDuration, tasks, validationGate }) => ({
    number: number + shift,
    name,
    skippable: false,
    tasks: tasks.map((task, index) => buildTask(task, index + 1, revisions)),
    gate: {
      kind: "plan",
      allowOverride: false,
      tasks: tasks.map(({ id, optional }) => ({ id, optional })),
      items: validationGate.map(({ text }) => text),
    },
    textRevision: revisions.phase,
    plan: {
      number,
      ...(goal === undefined ? {} : { goal }),
      ...(estimatedDuration === undefined ? {} : { estimatedDuration }),
    },
  }));
}

function buildTask(task: PlanTask, number: number, revisions: TemplateRevisions): TaskDefinition {
  const { id, name, description, estimatedTime, dependencies, acceptanceCriteria, requirements } = task;
  return {
    number,
    name,
    textRevision: revisions.task,
    plan: {
      id,
      ...(description === undefined ? {} : { description }),
      ...(estimatedTime === undefined ? {} : { estimatedTime }),
      dependencies: [...dependencies],
      acceptanceCriteria: acceptanceCriteria.map(({ text }) => text),
      ...(requirements.length === 0 ? {} : { requirements: [...requirements] }),
      state: task.state,
      optional: task.optional,
      parallel: task.parallel,
    },
  };
}

/** Throws `TOO_LARGE` for a structure that no session can carry, and `PLAN_PARSE` for one that none could read again. */
export function checkPinned(structure: WorkflowStructure, file: string): void {
  const bytes = JSON.stringify(structure).length;
  if (bytes <= STRUCTURE_MAX) return checkForm(structure, file);
  throw new PhasegateError("TOO_LARGE", `the phases of ${file} are larger than ${STRUCTURE_MAX} characters of JSON`, {
    remedy: "Split the plan, or move long descriptions into files that it names.",
    details: { file, bytes, limit: STRUCTURE_MAX },
  });
}

/** A log with a structure that doesn't fit its schema would be taken for one that somebody has changed. */
function checkForm(structure: WorkflowStructure, file: string): void {
  const { error } = structureSchema.safeParse(structure);
  if (error === undefined) return;
  const [issue] = error.issues;
  const what = `${issue?.path.map(String).join(".")}: ${issue?.message}`;
  throw new PhasegateError("PLAN_PARSE", `the phases of ${file} can't be pinned: ${what}`, {
    remedy: "Mend that in the plan, or ask the person who runs this: a parser of the host's may have made it.",
    details: { file },
  });
}
