import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Plan, PlanReading } from "../../plan/plan.js";
import { builtInParsers } from "../../plan/source-parsers.js";
import type { PlanSource, PlanText, SourceParser } from "../../ports/content-provider.js";
import { RecentMap } from "../../runtime/cache.js";
import { nearest } from "../../workflow/names.js";
import type { DynamicDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { ResolvedOptions } from "../options.js";
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

/**
 * The parser of a workflow's plans: the host's own of that name, with its results checked, else the one that comes with the
 * library, which is loaded when it is first needed. Throws `DEFINITION_INVALID` if there is none.
 */
export async function findParser(
  { parsers }: ResolvedOptions,
  { type }: WorkflowStructure,
  { parser: name }: DynamicDefinition,
): Promise<SourceParser> {
  const own = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
  if (own !== undefined) return checkedParser(name, own);
  const found = Object.hasOwn(builtInParsers, name) ? builtInParsers[name] : undefined;
  if (found !== undefined) return found;
  const known = [...new Set([...Object.keys(parsers), ...Object.keys(builtInParsers)])].sort();
  const similar = nearest(name, known);
  const problem = `there is no source parser '${name}': known are ${known.join(", ") || "none"}`;
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${type} can't be used: ${problem}`, {
    remedy:
      similar === undefined
        ? "Write one of them in dynamic_config.parser, or let the host register that one: createEngine({ parsers })."
        : `Did you mean '${similar}'? Write it in dynamic_config.parser.`,
    details: { workflowType: type, diagnostics: [problem] },
  });
}

/** What a plan was read from, for errors of its ticks. */
const fileOf = new WeakMap<Plan, string>();

/**
 * A host's own parser, whose results are checked: what is no plan is a `PLAN_PARSE` that names the parser and
 * the file, and so is whatever else it throws. What it ticks must be the same plan when it is read again.
 */
function checkedParser(name: string, parser: SourceParser): SourceParser {
  const parse = (text: string, file: string): PlanReading => {
    const reading = guarded(name, file, () => parser.parse(text, file));
    const checked = readingSchema.safeParse(reading);
    if (!checked.success) throw failed(name, file, `made no plan of it: ${firstIssue(checked.error.issues)}`);
    fileOf.set(reading.plan, file);
    return reading;
  };
  if (parser.tick === undefined) return { parse };
  const write = parser.tick.bind(parser);
  const tick: SourceParser["tick"] = (text, plan, request) => {
    const file = fileOf.get(plan) ?? "the plan";
    const ticked: unknown = guarded(name, file, () => write(text, plan, request));
    if (typeof ticked !== "string") throw failed(name, file, "gave no text for its ticks");
    if (ticked !== text && sayingOf(parse(ticked, file).plan) !== sayingOf(plan)) {
      throw failed(name, file, "changed more than ticks");
    }
    return ticked;
  };
  return { parse, tick };
}

function guarded<T>(name: string, file: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (isPhasegateError(error, "PLAN_PARSE")) throw error;
    throw failed(name, file, "failed for a reason of its own", error);
  }
}

function firstIssue(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  const [first] = issues;
  const place = first === undefined || first.path.length === 0 ? "" : `${first.path.map(String).join(".")}: `;
  return `${place}${first?.message ?? "nothing"}`;
}

/** All that a plan says but its ticks, and where in the source it says so. */
function sayingOf({ phases }: Plan): string {
  return JSON.stringify(
    phases.map(({ number, name, tasks, validationGate }) => [
      number,
      name,
      tasks.map((task) => [task.id, task.name, task.dependencies, task.acceptanceCriteria.map(({ text }) => text)]),
      validationGate.map(({ text }) => text),
    ]),
  );
}

/** None of the parser's own words: they may hold anything. */
function failed(name: string, file: string, what: string, cause?: unknown): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `${file} can't be used: the source parser '${name}' ${what}`, {
    remedy: "Tell the person who runs this: the parser is the host's own, and has to be mended.",
    details: { file },
    cause,
  });
}

/** What a reading of a plan must be, so that sessions can stand on it: a host's own parser may give anything. */

const position = z.object({
  line: z.int().nonnegative(),
  column: z.int().nonnegative(),
  offset: z.int().nonnegative(),
});
const checkbox = z.object({ mark: z.string(), position });
const item = z.object({
  text: z.string(),
  checked: z.boolean(),
  details: z.array(z.string()).optional(),
  checkbox: checkbox.optional(),
  position,
});

const task = z.object({
  id: z.string().min(1),
  name: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(item),
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  checkbox: checkbox.optional(),
  optional: z.boolean(),
  parallel: z.boolean(),
  story: z.string().optional(),
  requirements: z.array(z.string()),
  files: z.array(z.string()),
  position,
});

const phase = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
  tasks: z.array(task),
  validationGate: z.array(item),
  position,
});

const diagnostic = z.object({
  severity: z.enum(["error", "warning"]),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  file: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
});

/** Checks a reading: its form, the order of its phases, and that ids name one task each. */
const readingSchema = z
  .object({
    plan: z.object({ dialect: z.string(), phases: z.array(phase).min(1) }),
    diagnostics: z.array(diagnostic),
  })
  .superRefine(({ plan: { phases } }, context) => {
    const say = (message: string) => context.addIssue({ code: "custom", message });
    for (const [index, { number }] of phases.entries()) {
      const before = phases[index - 1]?.number ?? -1;
      if (number <= before) say(`phase ${number} comes after phase ${before}: numbers must ascend`);
    }
    const tasks = phases.flatMap((own) => own.tasks);
    const ids = new Set(tasks.map(({ id }) => id));
    if (ids.size < tasks.length) say("two tasks have one id");
    for (const { id, dependencies } of tasks) {
      const wrong = dependencies.find((needed) => needed === id || !ids.has(needed));
      if (wrong !== undefined) say(`task ${id} depends on ${wrong}, which is itself or no task`);
    }
  });
