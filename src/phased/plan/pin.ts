/**
 * Reads the plan of a new session and makes its phases part of the pinned structure. Everything that can be
 * wrong with plan, parser or templates fails here, before anything is written.
 */
import { PhasegateError } from "../../errors.js";
import { keptItems, type PlanPhase, PlanReport, type PlanTask } from "../../plan/plan.js";
import { missingRequirements } from "../../plan/requirements.js";
import { type Diagnostic, formatDiagnostic } from "../../workflow/diagnostic.js";
import type { JsonObject } from "../../workflow/json.js";
import { parseRelativePath } from "../../workflow/names.js";
import {
  type DynamicDefinition,
  type PhaseDefinition,
  structureSchema,
  type TaskDefinition,
  type WorkflowStructure,
} from "../../workflow/structure.js";
import { ENGLISH } from "../../workflow/zod-issues.js";
import type { EngineContext } from "../engine-context.js";
import { findParser, type ReadSource, readSource, requirementsBeside } from "./source.js";

/** The revisions of the templates for the texts of phases and tasks. */
interface TemplateRevisions {
  readonly phase: string;
  readonly task: string;
}

/** A plan without errors, with the revisions of its templates. */
export interface UsablePlan extends ReadSource {
  readonly revisions: TemplateRevisions;
  /** True if its source is written. */
  readonly ticked: boolean;
}

interface PinnedPlan {
  readonly structure: WorkflowStructure;
  readonly warnings: readonly Diagnostic[];
}

/** Reads the plan of a new session and adds its phases to the structure. Throws any error of plan, parser or templates. */
export async function pinPlan(
  context: EngineContext,
  structure: WorkflowStructure,
  dynamic: DynamicDefinition,
  target: string,
  settings: JsonObject,
): Promise<PinnedPlan> {
  const given = Object.hasOwn(settings, dynamic.sourcePathKey) ? settings[dynamic.sourcePathKey] : undefined;
  const path = given === undefined ? target : parseRelativePath(given);
  if (given !== undefined) await context.options.targets?.check(path);
  const usable = await usablePlan(context, structure, dynamic, path);
  const { plan, diagnostics } = usable.reading;
  const shift = shiftAfter(structure.phases.at(-1)?.number ?? 0, plan.phases);
  const phases = [...structure.phases, ...buildPhases(plan.phases, shift, usable.revisions, dynamic.verify)];
  const first = structure.phases.length === 0 ? phases[0]?.number : undefined;
  const pinned = { ...structure, startPhase: first ?? structure.startPhase, phases, plan: planPin(usable, shift) };
  checkPinned(pinned, usable.source.path);
  return { structure: pinned, warnings: [...diagnostics, ...(await requirementWarnings(context, usable))] };
}

/** How many requirements a warning names. */
const NAMED_MAX = 10;

/** Warns of requirements that tasks cite and the document beside the plan does not have. */
async function requirementWarnings(
  { options }: EngineContext,
  { source: { path: file }, reading: { plan } }: UsablePlan,
): Promise<readonly Diagnostic[]> {
  const first = plan.phases.flatMap(({ tasks }) => tasks).find(({ requirements }) => requirements.length > 0);
  if (first === undefined) return [];
  const { expected, document } = await requirementsBeside(options, file);
  const report = new PlanReport(file);
  if (document !== undefined) {
    const missing = missingRequirements(plan, document.text);
    const [one] = missing;
    if (one === undefined) return [];
    const named = missing.slice(0, NAMED_MAX).map(({ id, task }) => `${id} (task ${task.id})`);
    const more = missing.length > NAMED_MAX ? `, and ${missing.length - NAMED_MAX} more` : "";
    const message = `tasks cite requirements that ${document.path} does not have: ${named.join(", ")}${more}`;
    report.warn("REQUIREMENT_UNKNOWN", one.task.position, message, "Correct the ids, or add the requirements.");
    return report.sorted();
  }
  if (plan.dialect !== "kiro") return [];
  const message = `tasks cite requirements, such as ${first.requirements[0]}, and there is no ${expected}`;
  report.warn("REQUIREMENT_UNKNOWN", first.position, message, "Put the requirements there, or ask for them.");
  return report.sorted();
}

/** Returns what a session remembers of the plan as a whole. */
export function planPin({ source: { path, hash }, reading, ticked }: UsablePlan, shift: number) {
  return { path, hash, dialect: reading.plan.dialect, shift, ticked };
}

/** Reads a plan and its templates; throws if the plan has errors. */
export async function usablePlan(
  { options }: EngineContext,
  structure: WorkflowStructure,
  dynamic: DynamicDefinition,
  path: string,
  isPinned = false,
): Promise<UsablePlan> {
  const read = await readSource(options, structure, dynamic, path, isPinned);
  const errors = read.reading.diagnostics.filter(({ severity }) => severity === "error");
  if (errors[0] !== undefined) throw planInvalid(errors[0], errors.length);
  const phase = await options.content.text(structure.type, { template: "phase" });
  const task = await options.content.text(structure.type, { template: "task" });
  const { tick } = await findParser(options, structure, dynamic);
  return { ...read, revisions: { phase: phase.revision, task: task.revision }, ticked: tick !== undefined };
}

/** Returns the number to add to a plan's own numbers so that its phases follow phase `last`; 0 if they already do. */
export function shiftAfter(last: number, phases: readonly PlanPhase[]): number {
  const first = phases[0]?.number ?? 0;
  return first > last ? 0 : last + 1 - first;
}

/** Returns the phases of a plan as a session pins them. Pure. */
export function buildPhases(
  phases: readonly PlanPhase[],
  shift: number,
  revisions: TemplateRevisions,
  verify?: DynamicDefinition["verify"],
): PhaseDefinition[] {
  return phases.map(({ number, written, name, goal, estimatedDuration, tasks, validationGate }) => ({
    number: number + shift,
    name,
    tasks: tasks.map((task, index) => buildTask(task, index + 1, revisions)),
    gate: {
      kind: "plan",
      tasks: tasks.flatMap(({ id, optional, state }) => (state === "dropped" ? [] : [{ id, optional }])),
      items: keptItems(validationGate).map(({ text }) => text),
      verify,
    },
    textRevision: revisions.phase,
    plan: { number, written, goal, estimatedDuration },
  }));
}

/** The largest structure, in characters of JSON: a session's first commit contains it. */
const STRUCTURE_MAX = 4 * 1024 * 1024;

/** Throws `TOO_LARGE` for a structure that is too large for a commit, and `PLAN_PARSE` for one that could not be read again. */
export function checkPinned(structure: WorkflowStructure, file: string): void {
  const bytes = JSON.stringify(structure).length;
  if (bytes <= STRUCTURE_MAX) return checkForm(structure, file);
  throw new PhasegateError("TOO_LARGE", `the phases of ${file} are larger than ${STRUCTURE_MAX} characters of JSON`, {
    remedy: "Split the plan, or move long descriptions into files that it names.",
    details: { file, bytes, limit: STRUCTURE_MAX },
  });
}

function planInvalid(first: Diagnostic, count: number): PhasegateError<"PLAN_PARSE"> {
  const { file, line, column, hint } = first;
  const more = count > 1 ? `, and ${count - 1} more` : "";
  return new PhasegateError("PLAN_PARSE", `the plan has errors: ${formatDiagnostic(first)}${more}`, {
    remedy: hint ?? "Fix the plan at that place.",
    details: { file, line, column },
  });
}

function buildTask(task: PlanTask, number: number, revisions: TemplateRevisions): TaskDefinition {
  const { id, name, description, estimatedTime, dependencies, acceptanceCriteria, requirements } = task;
  return {
    number,
    name,
    textRevision: revisions.task,
    plan: {
      id,
      description,
      estimatedTime,
      dependencies: [...dependencies],
      acceptanceCriteria: keptItems(acceptanceCriteria).map(({ text }) => text),
      ...(requirements.length === 0 ? {} : { requirements: [...requirements] }),
      state: task.state,
      optional: task.optional,
      parallel: task.parallel,
    },
  };
}

/** A stored structure that does not match its schema would look like a tampered log. */
function checkForm(structure: WorkflowStructure, file: string): void {
  const { error } = structureSchema.safeParse(structure, ENGLISH);
  if (error === undefined) return;
  const [issue] = error.issues;
  const what = `${issue?.path.map(String).join(".")}: ${issue?.message}`;
  throw new PhasegateError("PLAN_PARSE", `the phases of ${file} can't be pinned: ${what}`, {
    remedy: "Fix this in the plan, or ask the person who runs this: a parser of the host's may have made it.",
    details: { file },
  });
}
