/**
 * Reads the source of a plan. A host's own parser may return anything, so its results are checked: what is
 * not a plan is a `PLAN_PARSE`, and what it ticks must still be the same plan.
 */
import * as z from "zod/mini";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { builtInParsers } from "../../plan/parse-plan.js";
import { PLAN_MAX, type Plan, type PlanReading } from "../../plan/plan.js";
import type { PlanSource, PlanText, SourceParser } from "../../ports/content-provider.js";
import { ENTRY_WEIGHT, RecentMap } from "../../workflow/cache.js";
import { nearest } from "../../workflow/names.js";
import type { DynamicDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { ENGLISH } from "../../workflow/zod-issues.js";
import type { ResolvedOptions } from "../options.js";
import { forSessions } from "./session-plan.js";

/** The current source of a plan, parsed. */
export interface ReadSource {
  readonly source: PlanText;
  readonly reading: PlanReading;
}

/** A parsed plan with the hash of its source. */
interface Kept {
  readonly hash: string;
  readonly reading: PlanReading;
  /** The characters of the source. */
  readonly characters: number;
}

const readingsOf = new WeakMap<ResolvedOptions, RecentMap<string, Kept>>();

/** Limits the characters of the plans that an engine caches, each in its newest version: some of the largest fit. */
const PLANS_WEIGHT = 4 * PLAN_MAX;

/** Reads the current plan; an unchanged one is not parsed again. Throws `PLAN_PARSE` if there is none. */
export async function readSource(
  options: ResolvedOptions,
  structure: WorkflowStructure,
  dynamic: DynamicDefinition,
  path: string,
  isPinned = false,
): Promise<ReadSource> {
  const source = await requireSource(requirePlans(options, structure), path, isPinned);
  const parser = await findParser(options, structure, dynamic);
  return { source, reading: readingOf(options, dynamic, parser, source) };
}

/** Returns the plan in a source; an unchanged one is not parsed again. */
export function readingOf(
  options: ResolvedOptions,
  dynamic: DynamicDefinition,
  parser: SourceParser,
  source: PlanText,
): PlanReading {
  const known = readingsIn(options).get(keyOf(dynamic, source));
  if (known?.hash === source.hash) return known.reading;
  const reading = parser.parse(source.text, source.path);
  keepReading(options, dynamic, source, reading);
  return reading;
}

/** Remembers the plan in a source as its newest version. */
export function keepReading(
  options: ResolvedOptions,
  dynamic: DynamicDefinition,
  source: PlanText,
  reading: PlanReading,
): void {
  readingsIn(options).set(keyOf(dynamic, source), { hash: source.hash, reading, characters: source.text.length });
}

function readingsIn(options: ResolvedOptions): RecentMap<string, Kept> {
  const weigh = ({ characters }: Kept) => characters + ENTRY_WEIGHT;
  const readings = readingsOf.get(options) ?? new RecentMap<string, Kept>(PLANS_WEIGHT, weigh);
  readingsOf.set(options, readings);
  return readings;
}

function keyOf({ parser }: DynamicDefinition, { path }: PlanText): string {
  return `${parser} ${path}`;
}

/** Returns the text of a plan. A pinned plan must be at exactly this path, not in a folder of that name. */
export async function requireSource(plans: PlanSource, path: string, isPinned = false): Promise<PlanText> {
  const source = await plans.read(path);
  if (source !== undefined && (!isPinned || source.path === path)) return source;
  throw new PhasegateError("PLAN_PARSE", `there is no plan at ${path}`, {
    remedy: "Give the path of a tasks.md, or of a folder with one, relative to the project root.",
    details: { file: path },
  });
}

/** The documents beside a plan that may have its requirements. */
const DOCUMENTS = ["requirements.md", "spec.md"];

/** Returns the document beside a plan that has its requirements, if there is one, and the path where it is expected. */
export async function requirementsBeside({ plans }: ResolvedOptions, path: string) {
  const [expected, ...others] = DOCUMENTS.map((name) => `${path.slice(0, path.lastIndexOf("/") + 1)}${name}`);
  for (const place of [expected, ...others]) {
    // What can't be read says nothing about the plan.
    const document = place === undefined ? undefined : await plans?.read(place).catch(() => undefined);
    if (document !== undefined) return { expected, document };
  }
  return { expected, document: undefined };
}

/** Returns the source of plans. Throws `DEFINITION_INVALID` if the host has not set one. */
export function requirePlans({ plans }: ResolvedOptions, { type }: WorkflowStructure): PlanSource {
  if (plans !== undefined) return plans;
  const problem = "its phases come from a plan, and this host reads no plans";
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${type} can't be used here: ${problem}`, {
    remedy:
      "The host must name the folder of plans: createEngine({ plans: new FilePlans({ root }) }) from phasegate/fs, or phasegate serve --project.",
    details: { workflowType: type, diagnostics: [problem] },
  });
}

/** Describes an error with a plan for a call that continues without it; without the text of a foreign error. */
export function reasonOf(error: unknown): string {
  return isPhasegateError(error) ? error.message : "the host could not read or write it";
}

/** Returns the parser of a workflow's plans: the host's own of that name, with checks, or the built-in one. Throws `DEFINITION_INVALID` without one. */
export async function findParser(
  { parsers }: ResolvedOptions,
  { type }: WorkflowStructure,
  { parser: name }: DynamicDefinition,
): Promise<SourceParser> {
  const own = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
  if (own !== undefined) return forSessions(checkedParser(name, own));
  const found = Object.hasOwn(builtInParsers, name) ? builtInParsers[name] : undefined;
  if (found !== undefined) return forSessions(found);
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

const position = z.object({
  line: z.int().check(z.nonnegative()),
  column: z.int().check(z.nonnegative()),
  offset: z.int().check(z.nonnegative()),
});

const checkbox = z.object({ mark: z.string(), position });

const item = z.object({
  text: z.string(),
  checked: z.boolean(),
  dropped: z.optional(z.literal(true)),
  details: z.optional(z.array(z.string())),
  checkbox: z.optional(checkbox),
  position,
});

const task = z.object({
  id: z.string().check(z.minLength(1)),
  name: z.string(),
  description: z.optional(z.string()),
  estimatedTime: z.optional(z.string()),
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(item),
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done", "dropped"]),
  checkbox: z.optional(checkbox),
  status: z.optional(z.object({ text: z.string(), position })),
  optional: z.boolean(),
  parallel: z.boolean(),
  story: z.optional(z.string()),
  requirements: z.array(z.string()),
  files: z.array(z.string()),
  position,
});

const phase = z.object({
  number: z.int().check(z.nonnegative()),
  written: z.optional(z.string()),
  name: z.string(),
  goal: z.optional(z.string()),
  estimatedDuration: z.optional(z.string()),
  tasks: z.array(task),
  validationGate: z.array(item),
  position,
});

const diagnostic = z.object({
  severity: z.enum(["error", "warning"]),
  code: z.string(),
  message: z.string(),
  hint: z.optional(z.string()),
  file: z.string(),
  line: z.optional(z.int()),
  column: z.optional(z.int()),
});

/** Checks a reading: its form, the order of its phases, and that ids are unique. */
const readingSchema = z
  .object({
    plan: z.object({ dialect: z.string(), phases: z.array(phase).check(z.minLength(1)) }),
    diagnostics: z.array(diagnostic),
  })
  .check(
    z.superRefine(({ plan: { phases } }, context) => {
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
    }),
  );

/** The file that a plan was read from, for errors in ticking. */
const fileOf = new WeakMap<Plan, string>();

/** Wraps a host's own parser: bad results are a `PLAN_PARSE` that names it and the file, and a ticked text must be the same plan. */
function checkedParser(name: string, parser: SourceParser): SourceParser {
  const parse = (text: string, file: string): PlanReading => {
    const reading = guarded(name, file, () => parser.parse(text, file));
    const checked = readingSchema.safeParse(reading, ENGLISH);
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
    if (ticked !== text && partsOf(parse(ticked, file).plan) !== partsOf(plan)) {
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
    throw failed(name, file, "failed with an internal error", error);
  }
}

/** Omits the parser's own error text, which may contain anything. */
function failed(name: string, file: string, what: string, cause?: unknown): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `${file} can't be used: the source parser '${name}' ${what}`, {
    remedy: "Tell the person who runs this: the host's own parser must be fixed.",
    details: { file },
    cause,
  });
}

function firstIssue(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  const [first] = issues;
  const place = first === undefined || first.path.length === 0 ? "" : `${first.path.map(String).join(".")}: `;
  return `${place}${first?.message ?? "nothing"}`;
}

/** Returns what ticks must not change in a plan: its phases, tasks, dependencies, criteria and items. */
function partsOf({ phases }: Plan): string {
  return JSON.stringify(
    phases.map(({ number, name, tasks, validationGate }) => [
      number,
      name,
      tasks.map((task) => [task.id, task.name, task.dependencies, task.acceptanceCriteria.map(({ text }) => text)]),
      validationGate.map(({ text }) => text),
    ]),
  );
}
