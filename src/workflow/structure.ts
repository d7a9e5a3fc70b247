/** What a session pins of a plan, and of how its phases come out of one. */

import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod";
import { gateSchema } from "./gate-definition.js";
import { storedObjectSchema } from "./json.js";

/** What a plan says of a task, as far as a session needs it. */
export type PlannedTask = z.infer<typeof plannedTaskSchema>;
/** What a plan says of a phase, as far as a session needs it. */
export type PlannedPhase = z.infer<typeof plannedPhaseSchema>;
/** How the phases after the static ones come out of a plan. */
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
/** The plan that a session has pinned. */
export type PlanPin = z.infer<typeof planPinSchema>;

/**
 * The part of a definition that is plain JSON: what a session pins when it starts. Types are
 * inferred from the schemas, so that a body read back from a store is checked by the same words.
 */

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

/** What a plan says of a task, as far as a session needs it. */
const plannedTaskSchema = z.object({
  /** The plan's own id. */
  id: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  /** Ids of tasks that must be done first. */
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(z.string()),
  /** What it is done for, where the plan says so. */
  requirements: z.array(z.string()).optional(),
  /** What the plan said when it was pinned. */
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  optional: z.boolean(),
  parallel: z.boolean(),
});

const taskSchema = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  purpose: z.string().optional(),
  /** Where its text lies, relative to the workflow's folder. */
  file: z.string().optional(),
  /** The revision of the task's text when the definition was read. */
  textRevision: z.string().optional(),
  /** What the plan says of it, where it comes from one. */
  plan: plannedTaskSchema.optional(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

/** What a plan says of a phase, as far as a session needs it. */
const plannedPhaseSchema = z.object({
  /** The plan's own number, which is another one where phases were shifted. */
  number: z.int().nonnegative(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
});

const phaseSchema = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  /** Where its text lies, relative to the workflow's folder. */
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
  /** What the plan says of it, where it comes from one. */
  plan: plannedPhaseSchema.optional(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

/** How the phases after the static ones come out of a plan. */
const dynamicSchema = z.object({
  /** The name of the source parser. */
  parser: z.string(),
  /** The option of a session that says where its plan lies. */
  sourcePathKey: z.string(),
  /** Where the templates lie, relative to the workflow's folder. */
  templates: z.object({ phase: z.string(), task: z.string() }),
  /** The revisions of the templates' texts when the definition was read. */
  templateRevisions: z.object({ phase: z.string().optional(), task: z.string().optional() }).optional(),
  /** Whether a task whose dependencies are open can be read. */
  enforceDependencies: z.boolean(),
  /** Whether acceptance criteria are ticked with their tasks. */
  tickCriteria: z.boolean(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

/** The plan that a session has pinned. */
const planPinSchema = z.object({
  /** Where it lies, relative to the project root. */
  path: z.string(),
  /** The state of the text that was pinned. */
  hash: z.string(),
  dialect: z.string(),
  /** What was added to the plan's own phase numbers. */
  shift: z.int(),
  /** Whether tasks are ticked in it once their phase's gate has passed: not every source can be written. */
  ticked: z.boolean(),
});

const structureShape = z.object({
  type: z.string(),
  version: z.string(),
  /** Names this state of the definition: the author's word for code, a digest for files. */
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
   * In ascending order of their numbers; the numbers may have gaps and begin at 0. Empty only where all
   * of them come out of a plan, and none is pinned yet.
   */
  phases: z.array(phaseSchema),
  /** Where phases come out of a plan: how. */
  dynamic: dynamicSchema.optional(),
  /** The plan of a session whose phases come out of one. */
  plan: planPinSchema.optional(),
  extra: z.optional(storedObjectSchema),
});

/** Checks a pinned definition that comes out of a store. */
export const structureSchema = structureShape.refine(
  ({ phases, dynamic, plan }) => phases.length > 0 || (dynamic !== undefined && plan === undefined),
  "a workflow needs a phase, or a plan that gives it some",
);

/** One task of a phase. */
export type TaskDefinition = z.infer<typeof taskSchema>;
/** One phase, with its tasks and its gate. */
export type PhaseDefinition = z.infer<typeof phaseSchema>;
/** A whole definition as plain JSON. */
export type WorkflowStructure = z.infer<typeof structureSchema>;

/**
 * A definition that an engine can run: its structure, and the evidence schemas that exist only as
 * code, by phase number.
 */
export interface WorkflowDefinition {
  readonly structure: WorkflowStructure;
  readonly schemas: ReadonlyMap<number, StandardSchemaV1>;
}
