/**
 * The definition of a workflow as plain JSON: what a session pins when it starts. This is the entry file of the folder.
 * One schema for each part gives its type, and checks it when it is read from a store.
 *
 * What is decided where:
 * - gate-definition.ts: the four kinds of gates, and what each can ask for
 * - gate-change.ts: which changes of a gate let more evidence pass, and which less
 * - built-in-verifiers.ts: the names of the built-in verifiers, and what is known of each without its host
 * - workflow-input.ts: the input of `defineWorkflow`, and what is said of a wrong one
 * - inferred-types.ts: which evidence the compiler lets each phase take, and which keys it refuses
 * - phase-names.ts: by which keys a phase can be named, and when a key names none
 * - json-schema.ts, schema-sample.ts: which values a schema accepts as far as its JSON Schema says, and examples for agents
 * - routed-definition.ts: the definition of a routed workflow, and when two step names are the same
 * - names.ts: which ids, types and paths from outside are accepted, and which files are never shown to agents
 *   because they hold secrets
 * - hidden.ts: which characters are escaped
 * - field-types.ts: the words for field types, and when a value is blank
 * - json.ts: canonical JSON, digests and revisions
 * - json-source.ts, yaml.ts: which JSON and YAML is accepted, with the position of every value
 * - file-schema.ts: how wrong, missing and unknown keys of a file are reported, by its schema
 * - diagnostic.ts: every check that reading a definition can report
 * - report.ts: how many diagnostics and rules a definition may have
 * - from-markdown.ts: parsing Markdown in linear time
 * - markdown-facts.ts: the facts shown from the text of a phase or task
 * - placeholders.ts: the placeholders that templates may use
 *
 * `files/` reads workflow folders; `infer/` reads gates from prose.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { gateSchema, verifySchema } from "./gate-definition.js";
import { storedObjectSchema } from "./json.js";

export type {
  ApprovalDefinition,
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  OpenGate,
  PlanGate,
  Reveal,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "./gate-definition.js";

/** A definition that an engine can run. */
export interface WorkflowDefinition {
  /** The part that is plain JSON. */
  readonly structure: WorkflowStructure;
  /** The evidence schemas, which exist only as code, by phase number. */
  readonly schemas: ReadonlyMap<number, StandardSchemaV1>;
  /** The schema of a start's options, if it exists as code. */
  readonly options?: StandardSchemaV1;
}

const text = z.optional(z.string());
const texts = z.optional(z.array(z.string()));
const number = z.int().check(z.nonnegative());

const extraShape = {
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
};

const plannedTaskSchema = z.object({
  /** The plan's own id. */
  id: z.string(),
  /** The text below the task's name. */
  description: text,
  /** How long it takes, in the plan's words. */
  estimatedTime: text,
  /** Ids of the tasks that must be done before this one. */
  dependencies: z.array(z.string()),
  /** When the task is done. */
  acceptanceCriteria: z.array(z.string()),
  /** The requirements that the task serves, if the plan names them. */
  requirements: texts,
  /** The task's state when the plan was pinned. The gate does not require a task that was dropped. */
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done", "dropped"]),
  /** True if the phase can pass without it. */
  optional: z.boolean(),
  /** True if it can be done at the same time as its neighbours. */
  parallel: z.boolean(),
});
/** What a session keeps of a task in a plan. */
export type PlannedTask = z.infer<typeof plannedTaskSchema>;

const taskSchema = z.object({
  /** Its number in the phase. */
  number,
  /** Its name. */
  name: z.string(),
  /** What the task is for. */
  purpose: text,
  /** The path of its text, relative to the workflow's folder. */
  file: text,
  /** The revision of the task's text when the definition was read. */
  textRevision: text,
  /** What the plan says of it, if it comes from one. */
  plan: z.optional(plannedTaskSchema),
  ...extraShape,
});
/** One task of a phase. */
export type TaskDefinition = z.infer<typeof taskSchema>;

const phaseSchema = z.object({
  /** Its number in the session. */
  number,
  /** Its name. */
  name: z.string(),
  /** The path of its text, relative to the workflow's folder. */
  file: text,
  /** What the phase is for. */
  purpose: text,
  /** How much work it is, in the author's words. */
  estimatedEffort: text,
  /** What it produces, in the author's words. */
  keyDeliverables: texts,
  /** When it is done, in the author's words. The gate decides. */
  validationCriteria: texts,
  /** True if the host may skip it. It may not if missing. */
  skippable: z.optional(z.boolean()),
  /** When a session skips it on its own. Never if missing. */
  skipWhen: z.optional(
    z.object({
      /** The rule over the session's options, in CEL. */
      cel: z.string(),
      /** The reason that is recorded, in the author's words. */
      reason: z.string(),
    }),
  ),
  /** Its tasks, in order. */
  tasks: z.array(taskSchema),
  /** What its evidence must fulfil. */
  gate: gateSchema,
  /** The revision of the phase's text when the definition was read. */
  textRevision: text,
  /** What the plan says of it, if it comes from one. */
  plan: z.optional(
    z.object({
      /** The number in the plan; it differs from the session's number where phases were shifted. */
      number,
      /** The number as the plan's file has it, where it differs: `1.5`, `A`. */
      written: text,
      /** The phase's goal. */
      goal: text,
      /** How long it takes, in the plan's words. */
      estimatedDuration: text,
    }),
  ),
  ...extraShape,
});
/** One phase, with its tasks and its gate. */
export type PhaseDefinition = z.infer<typeof phaseSchema>;

const dynamicSchema = z.object({
  /** The name of the source parser. */
  parser: z.string(),
  /** The session option that holds the path of the plan. */
  sourcePathKey: z.string(),
  /** Paths of the templates, relative to the workflow's folder. */
  templates: z.object({ phase: z.string(), task: z.string() }),
  /** The revisions of the templates' texts when the definition was read. */
  templateRevisions: z.optional(z.object({ phase: text, task: text })),
  /** True if a task can't be read while its dependencies are open. */
  enforceDependencies: z.boolean(),
  /** True if acceptance criteria are ticked with their tasks. */
  tickCriteria: z.boolean(),
  /** Checks at the gate of every phase from the plan. None if missing. */
  verify: z.optional(z.array(verifySchema)),
  ...extraShape,
});
/** How the phases after the static ones are read from a plan. */
export type DynamicDefinition = z.infer<typeof dynamicSchema>;

const planPinSchema = z.object({
  /** The path of the plan, relative to the project root. */
  path: z.string(),
  /** The digest of the text that was pinned. */
  hash: z.string(),
  /** The dialect that the plan was read in. */
  dialect: z.string(),
  /** What was added to the plan's own phase numbers. */
  shift: z.int(),
  /** True if tasks are ticked in the plan once their phase's gate has passed; not every source can be written. */
  ticked: z.boolean(),
});

const weakerSchema = z.object({
  /** The name of its phase. */
  phase: z.string(),
  what: z.array(z.string()),
  /** Why its author allows that. */
  reason: z.string(),
  /** The workflow that asks for more, if that is not the one that is extended but one which that extends. */
  than: z.optional(z.string()),
});

const extendsSchema = z.object({
  /** The type of the workflow that it extends. */
  type: z.string(),
  /** The revision of that. */
  revision: z.string(),
  /** The gates that ask for less than there, or already did there. None if missing. */
  weaker: z.optional(z.array(weakerSchema)),
});
/** The workflow that another one extends. */
export type ExtendedFrom = z.infer<typeof extendsSchema>;

const shape = z.object({
  /** The workflow's type: the name that sessions are started with. */
  type: z.string(),
  /** The author's version. */
  version: z.string(),
  /** Identifies this version of the definition: chosen by the author in code, a digest for files. */
  revision: z.string(),
  /** The name for people. */
  name: z.string(),
  /** What the workflow is for. */
  description: z.string(),
  /** The author's category, if any. */
  category: text,
  /** How long the workflow takes, in the author's words. */
  estimatedDuration: text,
  /** The programming languages that it is for. */
  targetLanguages: texts,
  /** What the workflow produces, in the author's words. */
  artifacts: texts,
  /** What must be there before it starts, in the author's words. */
  prerequisites: texts,
  /** The author's tags. */
  tags: texts,
  /** `none` if the workflow is not about a file or folder: its sessions have the project itself, `.`, as their target. */
  target: z.optional(z.literal("none")),
  /** True if a text of its folder tells the agent to search. */
  searches: z.optional(z.literal(true)),
  /** The JSON Schema of the options that a session can be started with. Any options if missing. */
  optionsSchema: z.optional(storedObjectSchema),
  /** The number of the first phase. */
  startPhase: number,
  /**
   * In ascending order of their numbers, which may have gaps and may begin at 0. Empty only if all phases
   * come from a plan that is not pinned yet.
   */
  phases: z.array(phaseSchema),
  /** The workflow that it extends, if it does. */
  extends: z.optional(extendsSchema),
  /** How phases are read from a plan, if they are. */
  dynamic: z.optional(dynamicSchema),
  /** The pinned plan of a session whose phases come from a plan. */
  plan: z.optional(planPinSchema),
  ...extraShape,
});

/** Checks a definition that is read from a store. */
export const structureSchema: z.ZodMiniType<WorkflowStructure> = shape.check(
  z.refine(
    ({ phases, dynamic, plan }) => phases.length > 0 || (dynamic !== undefined && plan === undefined),
    "a workflow needs a phase, or a plan that gives it some",
  ),
);
/** A whole definition as plain JSON. */
export interface WorkflowStructure extends z.infer<typeof shape> {}

/** Returns the number of a phase as its plan's file has it, where the session has another one. */
export function numberInPlan({ number, plan }: PhaseDefinition): string | undefined {
  const written = plan && (plan.written ?? `${plan.number}`);
  return written === `${number}` ? undefined : written;
}

/** Returns the paths of all texts, those of templates last; each once. */
export function textPaths({ phases, dynamic }: Pick<WorkflowStructure, "phases" | "dynamic">): readonly string[] {
  const paths = phases.flatMap(({ file, tasks }) => [file, ...tasks.map((task) => task.file)]);
  const all = [...paths, dynamic?.templates.phase, dynamic?.templates.task];
  return [...new Set(all)].filter((path) => path !== undefined);
}
