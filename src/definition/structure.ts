/**
 * The part of a definition that is plain JSON: what a session pins when it starts. Types are
 * inferred from the schemas, so that a body read back from a store is checked by the same words.
 */
import * as z from "zod";
import { gateSchema } from "./gate-structure.js";
import { storedObjectSchema } from "./json.js";
import { dynamicSchema, plannedPhaseSchema, plannedTaskSchema, planPinSchema } from "./plan-structure.js";

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
} from "./gate-structure.js";
export type { DynamicDefinition, PlannedPhase, PlannedTask, PlanPin } from "./plan-structure.js";

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
