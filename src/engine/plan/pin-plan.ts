import { type Diagnostic, formatDiagnostic } from "../../definition/diagnostic.js";
import type { JsonObject } from "../../definition/json.js";
import { parseRelativePath } from "../../definition/relative-path.js";
import type { DynamicDefinition, WorkflowStructure } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { EngineContext } from "../engine-context.js";
import { buildPhases, checkPinned, shiftAfter, type TemplateRevisions } from "./build-phases.js";
import { findParser } from "./find-parser.js";
import { type ReadSource, readSource } from "./read-source.js";

/** A structure with the phases of a plan in it. */
export interface PinnedPlan {
  readonly structure: WorkflowStructure;
  /** What is unsure about the plan. */
  readonly warnings: readonly Diagnostic[];
}

/** A plan that a session can be bound to, with what its texts are made with. */
export interface UsablePlan extends ReadSource {
  readonly revisions: TemplateRevisions;
  /** Whether its source is written back. */
  readonly ticked: boolean;
}

/**
 * Reads the plan of a session that is to be started, and makes its phases part of the structure. Throws
 * whatever is wrong with plan, parser or templates: nothing has been written yet.
 */
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
  const phases = [...structure.phases, ...buildPhases(plan.phases, shift, usable.revisions)];
  const first = structure.phases.length === 0 ? phases[0]?.number : undefined;
  const pinned = { ...structure, startPhase: first ?? structure.startPhase, phases, plan: planPin(usable, shift) };
  checkPinned(pinned, usable.source.path);
  return { structure: pinned, warnings: diagnostics };
}

/** What a session remembers of the plan as a whole. */
export function planPin({ source: { path, hash }, reading, ticked }: UsablePlan, shift: number) {
  return { path, hash, dialect: reading.plan.dialect, shift, ticked };
}

/** A plan without errors, whose templates are there. */
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

function planInvalid(first: Diagnostic, count: number): PhasegateError<"PLAN_PARSE"> {
  const { file, line, column, hint } = first;
  const more = count > 1 ? `, and ${count - 1} more` : "";
  return new PhasegateError("PLAN_PARSE", `the plan has errors: ${formatDiagnostic(first)}${more}`, {
    remedy: hint ?? "Mend the plan at that place.",
    details: { file, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) },
  });
}
