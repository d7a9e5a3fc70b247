/**
 * The definition of a workflow as plain JSON: what a session pins when it starts. This is the entry file of the folder.
 * Types are inferred from the zod schemas, so a definition read back from a store is checked by the same rules as one
 * that was just read.
 *
 * Rules that are decided in this folder:
 * - gate-definition.ts: the four kinds of gates, and what each can ask for
 * - define-workflow.ts: what a workflow defined in code must fulfil
 * - workflow-input.ts: the input types of `defineWorkflow`
 * - routed-definition.ts: the definition of a routed workflow, and when two step names are the same
 * - names.ts: which ids, types and paths from outside are accepted, and which characters are escaped
 * - kept-back.ts: which files are never shown to agents because they hold secrets
 * - field-types.ts: the words for field types, and when a value is blank
 * - json.ts: canonical JSON, digests and revisions
 * - json-source.ts, yaml.ts: which JSON and YAML is accepted, with the position of every value
 * - object-reader.ts: how wrong, missing and unknown keys are reported
 * - report.ts: how many diagnostics and rules one definition may have
 * - diagnostic.ts: every check that reading a definition can report
 * - from-markdown.ts, markdown-blocks.ts: parsing Markdown in linear time
 * - markdown-facts.ts: the facts shown from the text of a phase or task
 * - placeholders.ts: the placeholders that templates may use
 *
 * `files/` reads workflow folders; `infer/` reads gates from prose.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod";
import { gateSchema } from "./gate-definition.js";
import { storedObjectSchema } from "./json.js";

/** The part of a plan's task that a session keeps. */
export type PlannedTask = z.infer<typeof plannedTaskSchema>;
/** The part of a plan's phase that a session keeps. */
export type PlannedPhase = z.infer<typeof plannedPhaseSchema>;
/** The way in which the phases after the static ones are read from a plan. */
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
/** The plan that a session is pinned to. */
export type PlanPin = z.infer<typeof planPinSchema>;

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

const plannedTaskSchema = z.object({
  /** The plan's own id. */
  id: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  /** Ids of the tasks that must be done before this one. */
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(z.string()),
  /** The requirements that the task serves, if the plan names them. */
  requirements: z.array(z.string()).optional(),
  /** The task's state when the plan was pinned. */
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  optional: z.boolean(),
  parallel: z.boolean(),
});

const taskSchema = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  purpose: z.string().optional(),
  /** The path of its text, relative to the workflow's folder. */
  file: z.string().optional(),
  /** The revision of the task's text when the definition was read. */
  textRevision: z.string().optional(),
  /** Its part of the plan, if it comes from one. */
  plan: plannedTaskSchema.optional(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

const plannedPhaseSchema = z.object({
  /** The number in the plan; it differs from the session's number if phases were shifted. */
  number: z.int().nonnegative(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
});

const phaseSchema = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  /** The path of its text, relative to the workflow's folder. */
  file: z.string().optional(),
  purpose: z.string().optional(),
  estimatedEffort: z.string().optional(),
  keyDeliverables: z.array(z.string()).optional(),
  validationCriteria: z.array(z.string()).optional(),
  skippable: z.boolean(),
  tasks: z.array(taskSchema),
  gate: gateSchema,
  /** The revision of the phase's text when the definition was read. */
  textRevision: z.string().optional(),
  /** Its part of the plan, if it comes from one. */
  plan: plannedPhaseSchema.optional(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

const dynamicSchema = z.object({
  /** The name of the source parser. */
  parser: z.string(),
  /** The session option that has the path of the plan. */
  sourcePathKey: z.string(),
  /** Paths of the templates, relative to the workflow's folder. */
  templates: z.object({ phase: z.string(), task: z.string() }),
  /** The revisions of the templates' texts when the definition was read. */
  templateRevisions: z.object({ phase: z.string().optional(), task: z.string().optional() }).optional(),
  /** True if a task can't be read while its dependencies are open. */
  enforceDependencies: z.boolean(),
  /** True if acceptance criteria are ticked with their tasks. */
  tickCriteria: z.boolean(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

const planPinSchema = z.object({
  /** The path of the plan, relative to the project root. */
  path: z.string(),
  /** The digest of the text that was pinned. */
  hash: z.string(),
  dialect: z.string(),
  /** The number that was added to the plan's own phase numbers. */
  shift: z.int(),
  /** True if tasks are ticked in the plan once their phase's gate has passed; not every source can be written. */
  ticked: z.boolean(),
});

const structureShape = z.object({
  type: z.string(),
  version: z.string(),
  /** Identifies this version of the definition: chosen by the author in code, a digest for files. */
  revision: z.string(),
  name: z.string(),
  description: z.string(),
  category: z.string().optional(),
  estimatedDuration: z.string().optional(),
  targetLanguages: z.array(z.string()).optional(),
  artifacts: z.array(z.string()).optional(),
  prerequisites: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
  startPhase: z.int().nonnegative(),
  /**
   * In ascending order of their numbers, which may have gaps and may begin at 0. Empty only if all phases
   * come from a plan that is not pinned yet.
   */
  phases: z.array(phaseSchema),
  /** The way in which phases are read from a plan, if they are. */
  dynamic: dynamicSchema.optional(),
  /** The pinned plan of a session whose phases come from a plan. */
  plan: planPinSchema.optional(),
  extra: z.optional(storedObjectSchema),
});

/** Checks a pinned definition that is read from a store. */
export const structureSchema = structureShape.refine(
  ({ phases, dynamic, plan }) => phases.length > 0 || (dynamic !== undefined && plan === undefined),
  "a workflow needs a phase, or a plan with phases",
);

/** One task of a phase. */
export type TaskDefinition = z.infer<typeof taskSchema>;
/** One phase, with its tasks and its gate. */
export type PhaseDefinition = z.infer<typeof phaseSchema>;
/** A whole definition as plain JSON. */
export type WorkflowStructure = z.infer<typeof structureSchema>;

/** A definition that an engine can run. */
export interface WorkflowDefinition {
  /** The part that is plain JSON. */
  readonly structure: WorkflowStructure;
  /** The evidence schemas, which exist only as code, by phase number. */
  readonly schemas: ReadonlyMap<number, StandardSchemaV1>;
}
