/**
 * The part of a definition that is plain JSON: what a session pins when it starts. Types are
 * inferred from the schemas, so that a body read back from a store is checked by the same words.
 */
import * as z from "zod";
import { storedObjectSchema, storedValueSchema } from "./json.js";

/** What a field of evidence may be. `any` is a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;

const fieldSchema = z.object({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  description: z.string().optional(),
  example: storedValueSchema.optional(),
});

const fieldGateSchema = z.object({
  kind: z.literal("fields"),
  /** Whether rules block (`true`) or only warn; missing fields and wrong types always block. */
  strict: z.boolean(),
  /** Whether the host may let a session pass without evidence. */
  allowOverride: z.boolean(),
  fields: z.array(fieldSchema),
  /** Where the requirements were found. */
  source: z.enum(["gate-file", "metadata"]),
});

const schemaGateSchema = z.object({
  kind: z.literal("schema"),
  allowOverride: z.boolean(),
  /** What the Standard Schema in code says of itself, where it gives a JSON Schema. */
  jsonSchema: storedObjectSchema.optional(),
  example: storedObjectSchema.optional(),
});

const openGateSchema = z.object({ kind: z.literal("open"), allowOverride: z.boolean() });

const gateSchema = z.discriminatedUnion("kind", [fieldGateSchema, schemaGateSchema, openGateSchema]);

const taskSchema = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  purpose: z.string().optional(),
  /** Where its text lies, relative to the workflow's folder. */
  file: z.string().optional(),
  /** The revision of the task's text when the definition was read. */
  textRevision: z.string().optional(),
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
  /** Keys of the source that this version doesn't know, kept. */
  extra: storedObjectSchema.optional(),
});

/** Checks a pinned definition that comes out of a store. */
export const structureSchema = z.object({
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
  /** In ascending order of their numbers; the numbers may have gaps and begin at 0. */
  phases: z.array(phaseSchema).min(1),
  extra: storedObjectSchema.optional(),
});

/** What a field of evidence may be. */
export type FieldType = (typeof FIELD_TYPES)[number];
/** One field that a gate asks for. */
export type FieldDefinition = z.infer<typeof fieldSchema>;
/** A gate that asks for named fields: from a gate file, metadata or code. */
export type FieldGate = z.infer<typeof fieldGateSchema>;
/** A gate whose evidence is checked by a Standard Schema in code. */
export type SchemaGate = z.infer<typeof schemaGateSchema>;
/** A gate that any evidence object passes. */
export type OpenGate = z.infer<typeof openGateSchema>;
/** What must be shown before a phase counts as done. */
export type GateDefinition = z.infer<typeof gateSchema>;
/** One task of a phase. */
export type TaskDefinition = z.infer<typeof taskSchema>;
/** One phase, with its tasks and its gate. */
export type PhaseDefinition = z.infer<typeof phaseSchema>;
/** A whole definition as plain JSON. */
export type WorkflowStructure = z.infer<typeof structureSchema>;
