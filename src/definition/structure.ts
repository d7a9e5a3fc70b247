/**
 * The part of a definition that is plain JSON: what a session pins when it starts. Types are
 * inferred from the schemas, so that a body read back from a store is checked by the same words.
 */
import * as z from "zod";
import { storedObjectSchema, storedValueSchema } from "./json.js";

/** What a field of evidence may be. `any` is a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;

/** How much of what a gate asks for is shown to agents: all of it, the names of its fields, or nothing. */
export const REVEALS = ["fields", "names", "none"] as const;

/** A rule that must hold. Its text is pinned, and compiled when it is first used. */
const ruleSchema = z.object({
  /** As its author wrote it. */
  source: z.string(),
  /** The same in CEL: what is run. */
  cel: z.string(),
  /** What `params` is in it. */
  params: storedObjectSchema.optional(),
  /** What is said where it doesn't hold. */
  message: z.string().optional(),
});

/** A check against reality, by a verifier that the host has registered. */
const verifySchema = z.object({
  verifier: z.string(),
  params: storedObjectSchema,
  /** The field whose value is looked at; the gate itself asks for the check where there is none. */
  field: z.string().optional(),
});

/** Checks what a gate asks a person. */
export const approvalSchema = z.object({
  /** What the person is asked. */
  prompt: z.string(),
  /** Who may answer, by the names that the host knows them by; any approver if not given. */
  approvers: z.array(z.string()).optional(),
});

/** What a gate may ask for beside evidence of the right form. */
const demandsShape = {
  verify: z.array(verifySchema).optional(),
  approval: approvalSchema.optional(),
  /** `fields` if not given. */
  reveal: z.enum(REVEALS).optional(),
};

const fieldSchema = z.object({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  description: z.string().optional(),
  example: storedValueSchema.optional(),
  /** What its value must fulfil, where there is one. */
  rules: z.array(ruleSchema).optional(),
});

export const fieldGateSchema = z.object({
  kind: z.literal("fields"),
  /** Whether rules block (`true`) or only warn; missing fields and wrong types always block. */
  strict: z.boolean(),
  /** Whether the host may let a session pass without evidence. */
  allowOverride: z.boolean(),
  fields: z.array(fieldSchema),
  /** What the evidence as a whole must fulfil. */
  rules: z.array(ruleSchema).optional(),
  ...demandsShape,
  /** Where the requirements were found. */
  source: z.enum(["gate-file", "document", "metadata"]),
});

const schemaGateSchema = z.object({
  kind: z.literal("schema"),
  allowOverride: z.boolean(),
  /** What the Standard Schema in code says of itself, where it gives a JSON Schema. */
  jsonSchema: storedObjectSchema.optional(),
  example: storedObjectSchema.optional(),
  ...demandsShape,
});

const openGateSchema = z.object({ kind: z.literal("open"), allowOverride: z.boolean() });

const planGateSchema = z.object({
  kind: z.literal("plan"),
  allowOverride: z.boolean(),
  /** Tasks of the phase by the plan's own ids: all that are not optional must be claimed. */
  tasks: z.array(z.object({ id: z.string(), optional: z.boolean() })),
  /** Items of the phase's validation gate, in order: all must be claimed, by number (from 1) or by text. */
  items: z.array(z.string()),
});

const gateSchema = z.discriminatedUnion("kind", [fieldGateSchema, schemaGateSchema, openGateSchema, planGateSchema]);

/** What a plan says of a task, as far as a session needs it. */
const plannedTaskSchema = z.object({
  /** The plan's own id. */
  id: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  /** Ids of tasks that must be done first. */
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(z.string()),
  /** What the plan said when it was pinned. */
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  optional: z.boolean(),
  parallel: z.boolean(),
});

/** What a plan says of a phase, as far as a session needs it. */
const plannedPhaseSchema = z.object({
  /** The plan's own number, which is another one where phases were shifted. */
  number: z.int().nonnegative(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
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
  extra: storedObjectSchema.optional(),
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
  extra: storedObjectSchema.optional(),
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
  extra: storedObjectSchema.optional(),
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
  extra: storedObjectSchema.optional(),
});

/** Checks a pinned definition that comes out of a store. */
export const structureSchema = structureShape.refine(
  ({ phases, dynamic, plan }) => phases.length > 0 || (dynamic !== undefined && plan === undefined),
  "a workflow needs a phase, or a plan that gives it some",
);

/** What a field of evidence may be. */
export type FieldType = (typeof FIELD_TYPES)[number];
/** How much of what a gate asks for is shown to agents. */
export type Reveal = (typeof REVEALS)[number];
/** A rule that must hold, as its text. */
export type RuleDefinition = z.infer<typeof ruleSchema>;
/** A check against reality, by the name of a verifier. */
export type VerifyDefinition = z.infer<typeof verifySchema>;
/** A person that must say yes. */
export type ApprovalDefinition = z.infer<typeof approvalSchema>;
/** One field that a gate asks for. */
export type FieldDefinition = z.infer<typeof fieldSchema>;
/** A gate that asks for named fields: from a gate file, metadata or code. */
export type FieldGate = z.infer<typeof fieldGateSchema>;
/** A gate whose evidence is checked by a Standard Schema in code. */
export type SchemaGate = z.infer<typeof schemaGateSchema>;
/** A gate that any evidence object passes. */
export type OpenGate = z.infer<typeof openGateSchema>;
/** A gate of a phase out of a plan: its tasks and the items of its validation gate must be claimed. */
export type PlanGate = z.infer<typeof planGateSchema>;
/** What a plan says of a task, as far as a session needs it. */
export type PlannedTask = z.infer<typeof plannedTaskSchema>;
/** What a plan says of a phase, as far as a session needs it. */
export type PlannedPhase = z.infer<typeof plannedPhaseSchema>;
/** How the phases after the static ones come out of a plan. */
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
/** The plan that a session has pinned. */
export type PlanPin = z.infer<typeof planPinSchema>;
/** What must be shown before a phase counts as done. */
export type GateDefinition = z.infer<typeof gateSchema>;
/** One task of a phase. */
export type TaskDefinition = z.infer<typeof taskSchema>;
/** One phase, with its tasks and its gate. */
export type PhaseDefinition = z.infer<typeof phaseSchema>;
/** A whole definition as plain JSON. */
export type WorkflowStructure = z.infer<typeof structureSchema>;
