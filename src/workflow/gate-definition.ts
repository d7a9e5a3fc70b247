/** What a session pins of a gate: plain JSON, whose types are inferred from its schemas. */
import * as z from "zod";
import { storedObjectSchema, storedValueSchema } from "./json.js";

/** What a field of evidence may be. `any` is a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;

/** How much of what a gate asks for is shown to agents: all of it, the names of its fields, or nothing. */
export const REVEALS = ["fields", "names", "none"] as const;

/** Checks what a gate asks a person. */
export const approvalSchema = z.object({
  /** What the person is asked. */
  prompt: z.string(),
  /** Who may answer, by the names that the host knows them by; any approver if not given. */
  approvers: z.array(z.string()).optional(),
});

/** A rule that must hold. Its text is pinned, and compiled when it is first used. */
const ruleSchema = z.object({
  /** As its author wrote it. */
  source: z.string(),
  /** The same in CEL: what is run. */
  cel: z.string(),
  /** What `params` is in it. */
  params: z.optional(storedObjectSchema),
  /** What is said where it doesn't hold. */
  message: z.string().optional(),
});

const fieldSchema = z.object({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  description: z.string().optional(),
  /** A value that would do, by its author. */
  example: z.optional(storedValueSchema),
  /** A value that its rules take, made up where its author gives none. */
  sample: z.optional(storedValueSchema),
  /** What its value must fulfil, where there is one. */
  rules: z.array(ruleSchema).optional(),
});

/** A check against reality, by a verifier that the host has registered. */
const verifySchema = z.object({
  verifier: z.string(),
  params: storedObjectSchema,
  /** The field whose value is looked at; the gate itself asks for the check where there is none. */
  field: z.string().optional(),
});

/** What a gate may ask for beside evidence of the right form. */
const demandsShape = {
  verify: z.array(verifySchema).optional(),
  approval: approvalSchema.optional(),
  /** `fields` if not given. */
  reveal: z.enum(REVEALS).optional(),
};

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
  jsonSchema: z.optional(storedObjectSchema),
  example: z.optional(storedObjectSchema),
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

/** Checks a gate that comes out of a store. */
export const gateSchema = z.discriminatedUnion("kind", [
  fieldGateSchema,
  schemaGateSchema,
  openGateSchema,
  planGateSchema,
]);

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
/** What must be shown before a phase counts as done. */
export type GateDefinition = z.infer<typeof gateSchema>;
