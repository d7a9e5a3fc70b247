import type { DynamicDefinition, WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { PlanReading } from "../../plan/plan.js";
import type { PlanSource, PlanText } from "../../ports/plan-source.js";
import type { ResolvedOptions } from "../options.js";
import { findParser } from "./find-parser.js";

/** The source of a plan as it is now, and what it says. */
export interface ReadSource {
  readonly source: PlanText;
  readonly reading: PlanReading;
}

/** What a plan was read as, and in which state. */
interface Kept {
  readonly hash: string;
  readonly reading: PlanReading;
}

/** Of how many plans an engine keeps what they were read as: each in its newest state alone. */
const PLANS_KEPT = 16;
const readingsOf = new WeakMap<ResolvedOptions, RecentMap<string, Kept>>();

/** Reads a plan as it is now; one that was read before is not parsed again. Throws `PLAN_PARSE` if there is none. */
export async function readSource(
  options: ResolvedOptions,
  structure: WorkflowStructure,
  dynamic: DynamicDefinition,
  path: string,
  isPinned = false,
): Promise<ReadSource> {
  const source = await requireSource(requirePlans(options, structure), path, isPinned);
  const key = `${dynamic.parser} ${source.path}`;
  const readings = readingsOf.get(options) ?? new RecentMap<string, Kept>(PLANS_KEPT);
  readingsOf.set(options, readings);
  const known = readings.get(key);
  if (known?.hash === source.hash) return { source, reading: known.reading };
  const reading = (await findParser(options, structure, dynamic)).parse(source.text, source.path);
  readings.set(key, { hash: source.hash, reading });
  return { source, reading };
}

/** The text of a plan that must be there: for one that is pinned at this very path, not in a folder of its name. */
export async function requireSource(plans: PlanSource, path: string, isPinned = false): Promise<PlanText> {
  const source = await plans.read(path);
  if (source !== undefined && (!isPinned || source.path === path)) return source;
  throw new PhasegateError("PLAN_PARSE", `there is no plan at ${path}`, {
    remedy: "Give the path of a tasks.md, or of a folder with one, relative to the project root.",
    details: { file: path },
  });
}

/** Where plans come from. Throws `DEFINITION_INVALID` if the host has not said so. */
export function requirePlans({ plans }: ResolvedOptions, { type }: WorkflowStructure): PlanSource {
  if (plans !== undefined) return plans;
  const problem = "its phases come out of a plan, and this host reads no plans";
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${type} can't be used here: ${problem}`, {
    remedy:
      "The host must say where plans lie: createEngine({ plans: new FilePlans({ root }) }) from phasegate/fs, or phasegate serve --project.",
    details: { workflowType: type, diagnostics: [problem] },
  });
}

/** What is wrong with a plan, as it is told where the call goes on without it: none of a foreign error's words. */
export function reasonOf(error: unknown): string {
  return isPhasegateError(error) ? error.message : "the host could not read or write it";
}
