/**
 * The gate part of a definition that a session pins: four kinds of gates (fields, schema, open, plan) as plain JSON.
 * Types are inferred from the zod schemas.
 */
import * as z from "zod";
import { storedObjectSchema, storedValueSchema } from "./json.js";

/** The types of evidence fields. `any` is for a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;

/** The parts of a gate that agents see: all of it, the names of its fields, or nothing. */
export const REVEALS = ["fields", "names", "none"] as const;

/** Checks the approval that a gate requires. */
export const approvalSchema = z.object({
  /** The question for the person. */
  prompt: z.string(),
  /** The names of the approvers who may answer, as the host knows them; any approver if not given. */
  approvers: z.array(z.string()).optional(),
});

/** A rule that must hold. Its text is pinned, and compiled when it is first used. */
const ruleSchema = z.object({
  /** The rule as its author wrote it. */
  source: z.string(),
  /** The same rule in CEL, which is what runs. */
  cel: z.string(),
  /** The value of `params` in the rule. */
  params: z.optional(storedObjectSchema),
  /** The message for a value that breaks the rule. */
  message: z.string().optional(),
});

const fieldSchema = z.object({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  description: z.string().optional(),
  /** An example by the author. */
  example: z.optional(storedValueSchema),
  /** A generated value that passes the rules, if the author gives no example. */
  sample: z.optional(storedValueSchema),
  /** Rules for the value, if one is given. */
  rules: z.array(ruleSchema).optional(),
});

/** A check against reality, by a verifier that the host has registered. */
const verifySchema = z.object({
  verifier: z.string(),
  params: storedObjectSchema,
  /** The field whose value is checked; missing if the check belongs to the gate as a whole. */
  field: z.string().optional(),
});

/** Requirements that every gate with evidence may have in addition. */
const demandsShape = {
  verify: z.array(verifySchema).optional(),
  approval: approvalSchema.optional(),
  /** `fields` if not given. */
  reveal: z.enum(REVEALS).optional(),
};

export const fieldGateSchema = z.object({
  kind: z.literal("fields"),
  /** True if rules block (`true`) or only warn; missing fields and wrong types always block. */
  strict: z.boolean(),
  /** True if the host may let a session pass without evidence. */
  allowOverride: z.boolean(),
  fields: z.array(fieldSchema),
  /** Rules for the evidence as a whole. */
  rules: z.array(ruleSchema).optional(),
  ...demandsShape,
  /** The place where the requirements were found. */
  source: z.enum(["gate-file", "document", "metadata"]),
});

const schemaGateSchema = z.object({
  kind: z.literal("schema"),
  allowOverride: z.boolean(),
  /** The JSON Schema of the Standard Schema in code, if it provides one. */
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

/** Checks a gate that is read from a store. */
export const gateSchema = z.discriminatedUnion("kind", [
  fieldGateSchema,
  schemaGateSchema,
  openGateSchema,
  planGateSchema,
]);

/** The type of an evidence field. */
export type FieldType = (typeof FIELD_TYPES)[number];
/** The part of a gate that agents see. */
export type Reveal = (typeof REVEALS)[number];
/** A rule, as text. */
export type RuleDefinition = z.infer<typeof ruleSchema>;
/** A check against reality, by the name of a verifier. */
export type VerifyDefinition = z.infer<typeof verifySchema>;
/** An approval by a person. */
export type ApprovalDefinition = z.infer<typeof approvalSchema>;
/** One field of a gate. */
export type FieldDefinition = z.infer<typeof fieldSchema>;
/** A gate with named fields: from a gate file, metadata or code. */
export type FieldGate = z.infer<typeof fieldGateSchema>;
/** A gate whose evidence is checked by a Standard Schema in code. */
export type SchemaGate = z.infer<typeof schemaGateSchema>;
/** A gate that any evidence object passes. */
export type OpenGate = z.infer<typeof openGateSchema>;
/** The gate of a phase from a plan: its tasks and the items of its validation gate must be claimed. */
export type PlanGate = z.infer<typeof planGateSchema>;
/** The requirements that must be met before a phase counts as done. */
export type GateDefinition = z.infer<typeof gateSchema>;
