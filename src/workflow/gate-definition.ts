/**
 * The gate part of a definition that a session pins: four kinds of gates (fields, schema, open, plan) as plain JSON. The
 * interfaces say what each member means; the schemas below check the same when a gate is read from a store.
 */
import * as z from "zod/mini";
import { isJsonObject, type JsonObject, type JsonValue, storedObjectSchema, storedValueSchema } from "./json.js";

/** The types of evidence fields. `any` is for a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;
/** The type of an evidence field. `any` is for a field of which only the name is known. */
export type FieldType = "boolean" | "integer" | "number" | "string" | "object" | "list" | "any";

/** The values of {@link Reveal}. */
export const REVEALS = ["fields", "names", "none"] as const;
/** How much of a gate is shown to agents: all of it, the names of its fields, or nothing. */
export type Reveal = "fields" | "names" | "none";

/** The requirements that must be met before a phase counts as done. */
export type GateDefinition = FieldGate | SchemaGate | OpenGate | PlanGate;

/** A gate that asks for named fields: from a gate file, metadata or code. */
export interface FieldGate {
  /** Names this kind of gate. */
  kind: "fields";
  /** True if rules block, false if they only warn. Missing fields and wrong types always block. */
  strict: boolean;
  /** True if the host may let a session pass without evidence. It may not if missing. */
  allowOverride?: boolean | undefined;
  /** The fields of the evidence. */
  fields: FieldDefinition[];
  /** Rules for the evidence as a whole. None if missing. */
  rules?: RuleDefinition[] | undefined;
  /** Checks against reality. None if missing. */
  verify?: VerifyDefinition[] | undefined;
  /** A person who must approve complete evidence. Nobody if missing. */
  approval?: ApprovalDefinition | undefined;
  /** How much of the gate agents see. `fields` if missing. */
  reveal?: Reveal | undefined;
  /** The place where the requirements were found. */
  source: "gate-file" | "document" | "metadata";
  /** The names that a person has waived: set in the copy that evidence is checked against, never by an author. */
  waived?: string[] | undefined;
  /** The claims that need a proof: set in the copy that evidence is checked against, never by an author. */
  proofs?: string[] | undefined;
}

/** A gate whose evidence is checked by a Standard Schema in code. */
export interface SchemaGate {
  /** Names this kind of gate. */
  kind: "schema";
  /** True if the host may let a session pass without evidence. It may not if missing. */
  allowOverride?: boolean | undefined;
  /** The JSON Schema of the Standard Schema, if it provides one. */
  jsonSchema?: JsonObject | undefined;
  /** Evidence that the schema accepts, if the author gives an example. */
  example?: JsonObject | undefined;
  /** True if the example may be what the work gives. Evidence that equals it is refused as copied if missing. */
  allowExample?: true | undefined;
  /** Generated values that the schema accepts. Missing if it was not run before the session was started. */
  sample?:
    | {
        /** The values, by field. */
        values: JsonObject;
        /** False if they are no evidence that the schema accepts as a whole. It accepts them if missing. */
        complete?: boolean | undefined;
      }
    | undefined;
  /** Checks against reality. None if missing. */
  verify?: VerifyDefinition[] | undefined;
  /** A person who must approve complete evidence. Nobody if missing. */
  approval?: ApprovalDefinition | undefined;
  /** How much of the gate agents see. `fields` if missing. */
  reveal?: Reveal | undefined;
  /** The names that a person has waived: set in the copy that evidence is checked against, never by an author. */
  waived?: string[] | undefined;
  /** The claims that need a proof: set in the copy that evidence is checked against, never by an author. */
  proofs?: string[] | undefined;
}

/** A gate that any evidence object passes. */
export interface OpenGate {
  /** Names this kind of gate. */
  kind: "open";
  /** True if the host may let a session pass without evidence. It may not if missing. */
  allowOverride?: boolean | undefined;
}

/** The gate of a phase from a plan: its tasks and the items of its validation gate must be claimed. */
export interface PlanGate {
  /** Names this kind of gate. */
  kind: "plan";
  /** True if the host may let a session pass without evidence. It may not if missing. */
  allowOverride?: boolean | undefined;
  /** Tasks of the phase by the plan's own ids: all that are not optional must be claimed. */
  tasks: { id: string; optional: boolean }[];
  /** Items of the phase's validation gate, in order: all must be claimed, by number (from 1) or by text. */
  items: string[];
  /** Checks against reality, the same at every gate of a plan. None if missing. */
  verify?: VerifyDefinition[] | undefined;
  /** The names that a person has waived: set in the copy that evidence is checked against, never by an author. */
  waived?: string[] | undefined;
  /** The claims that need a proof: set in the copy that evidence is checked against, never by an author. */
  proofs?: string[] | undefined;
}

/** Checks whether the evidence `{}` passes a gate, as far as its definition tells: a schema in code may take it, too. */
export function requiresNothing(gate: GateDefinition): boolean {
  switch (gate.kind) {
    case "open":
      return true;
    case "schema":
      return false;
    case "fields": {
      const { fields, rules = [], verify = [], approval, strict } = gate;
      const isChecked = (strict && rules.length > 0) || verify.some(({ field }) => field === undefined);
      return approval === undefined && !isChecked && fields.every(({ required }) => !required);
    }
    case "plan":
      return gate.items.length === 0 && gate.verify === undefined && gate.tasks.every(({ optional }) => optional);
  }
}

/** Returns the numbers of the phases that require nothing. */
export function openPhases(phases: readonly { readonly number: number; readonly gate: GateDefinition }[]): number[] {
  return phases.flatMap(({ number, gate }) => (requiresNothing(gate) ? [number] : []));
}

/** One field that a gate asks for. */
export interface FieldDefinition {
  /** The field's key in the evidence. */
  name: string;
  /** The type that its value must have. */
  type: FieldType;
  /** True if evidence without it is refused. A required boolean must be true. */
  required: boolean;
  /** What the field means, for the agent. */
  description?: string | undefined;
  /** A valid value, given by the author. */
  example?: JsonValue | undefined;
  /** True if the example may be what the work gives. Evidence that equals it is refused as copied if missing. */
  allowExample?: true | undefined;
  /** A generated value that passes the rules, if the author gives no example. */
  sample?: JsonValue | undefined;
  /** Rules for the value, if one is given. */
  rules?: RuleDefinition[] | undefined;
  /** `false` if nobody may waive the field. */
  waivable?: false | undefined;
}

/** A rule that must hold. Its text is pinned, and compiled when it is first used. */
export interface RuleDefinition {
  /** As its author wrote it. */
  source: string;
  /** The same rule in CEL, which is what runs. */
  cel: string;
  /** The value of `params` in the rule. */
  params?: JsonObject | undefined;
  /** The message for a value that breaks the rule. */
  message?: string | undefined;
}

/** A check against reality, by a verifier that the host has registered. */
export interface VerifyDefinition {
  /** The name of the verifier. */
  verifier: string;
  /** Its parameters; `{}` if there are none. */
  params: JsonObject;
  /** The field whose value is checked; missing if the check belongs to the gate as a whole. */
  field?: string | undefined;
  /** What it checks, for the agent. */
  description?: string | undefined;
  /** `false` if nobody may waive the check. A check of a field goes with its field. */
  waivable?: false | undefined;
}

/** The built-in verifiers that compare with a snapshot, and take the parameter `since`. */
export const SINCE_VERIFIERS: readonly string[] = [
  "changed_since_phase_start",
  "unchanged_since_phase_start",
  "git_clean_since_phase_start",
  "git_changed_since_phase_start",
  "git_changes",
  "fails_without",
  "tasks_shown",
  "tests_kept",
];

/** Stands for the start of the session, where {@link sinceOf} returns the number of a phase. */
export const SESSION_START = -1;

/**
 * Returns the phase that a check's parameter `since` names: its snapshot is taken when that phase is passed. `since: start`
 * is {@link SESSION_START}.
 */
export function sinceOf({ since }: JsonObject): number | undefined {
  if (since === "start") return SESSION_START;
  if (!isJsonObject(since) || Object.keys(since).length !== 1) return undefined;
  return typeof since.phase === "number" && Number.isInteger(since.phase) ? since.phase : undefined;
}

/** The phase of a gate, among those of its workflow. */
export interface GatePlace {
  readonly phase: number;
  /** All phases, in ascending order; empty for a step of a routed workflow. */
  readonly phases: readonly number[];
  /** The phase that sessions begin with. Default: the first one. */
  readonly startPhase?: number | undefined;
  /** The phases before it that have been read, with their gates. */
  readonly before?: readonly { readonly number: number; readonly gate: GateDefinition }[];
}

/** The place of a gate that belongs to no phase. */
export const NO_PHASES: GatePlace = { phase: 0, phases: [] };

/** Returns why the parameter `since` of a check can't be used at a place, and what to write; undefined if it can. */
export function sinceFault(
  { verifier, params }: VerifyDefinition,
  { phase, phases, startPhase = phases[0] }: GatePlace,
): { readonly message: string; readonly hint: string } | undefined {
  const since = sinceOf(params);
  if (since === undefined) {
    const isWrong = SINCE_VERIFIERS.includes(verifier) && params.since !== undefined;
    const message = "`since` must name a phase by its number, or the start";
    const hint = "Write since: {phase: 1}, with the number of an earlier phase, or since: start.";
    return isWrong ? { message, hint } : undefined;
  }
  if (phases.length === 0) {
    const hint = "Leave it out: the check compares with the time when the step was entered.";
    return { message: "`since` can't name a phase here: a routed workflow has steps", hint };
  }
  if (since === SESSION_START) return undefined;
  const start = startPhase ?? 0;
  const earlier = phases.filter((number) => number < phase && number >= start);
  const hint =
    earlier.length === 0
      ? "Leave `since` out: no phase comes before this one. The check then compares with the start of its own phase."
      : `Write one of the phases before: ${earlier.join(", ")}. Without \`since\` the check compares with the start of its own phase.`;
  if (!phases.includes(since)) return { message: `\`since\` names phase ${since}, which does not exist`, hint };
  if (since >= phase) return { message: `\`since\` names phase ${since}, which is not before phase ${phase}`, hint };
  if (since >= start) return undefined;
  return { message: `\`since\` names phase ${since}, which no session passes: they begin with phase ${start}`, hint };
}

/** An approval by a person. */
export interface ApprovalDefinition {
  /** The question for the person. */
  prompt: string;
  /** The names of the approvers who may answer, as the host knows them; any approver if missing. */
  approvers?: string[] | undefined;
}

/** Checks the approval that a gate asks for. */
export const approvalSchema = z.object({ prompt: z.string(), approvers: z.optional(z.array(z.string())) });

/** Checks a rule. */
export const ruleSchema = z.object({
  source: z.string(),
  cel: z.string(),
  params: z.optional(storedObjectSchema),
  message: z.optional(z.string()),
});

/** Checks a field. */
export const fieldSchema = z.object({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  description: z.optional(z.string()),
  example: z.optional(storedValueSchema),
  allowExample: z.optional(z.literal(true)),
  sample: z.optional(storedValueSchema),
  rules: z.optional(z.array(ruleSchema)),
  waivable: z.optional(z.literal(false)),
});

/** Checks the demand for a verifier's check. */
export const verifySchema = z.object({
  verifier: z.string(),
  params: storedObjectSchema,
  field: z.optional(z.string()),
  description: z.optional(z.string()),
  waivable: z.optional(z.literal(false)),
});

const copied = { waived: z.optional(z.array(z.string())), proofs: z.optional(z.array(z.string())) };

const demandsShape = {
  verify: z.optional(z.array(verifySchema)),
  approval: z.optional(approvalSchema),
  reveal: z.optional(z.enum(REVEALS)),
};

/** Checks a gate of fields. */
export const fieldGateSchema = z.object({
  kind: z.literal("fields"),
  strict: z.boolean(),
  allowOverride: z.optional(z.boolean()),
  fields: z.array(fieldSchema),
  rules: z.optional(z.array(ruleSchema)),
  ...demandsShape,
  source: z.enum(["gate-file", "document", "metadata"]),
  ...copied,
});

const schemaGateSchema = z.object({
  kind: z.literal("schema"),
  allowOverride: z.optional(z.boolean()),
  jsonSchema: z.optional(storedObjectSchema),
  example: z.optional(storedObjectSchema),
  allowExample: z.optional(z.literal(true)),
  sample: z.optional(z.object({ values: storedObjectSchema, complete: z.optional(z.boolean()) })),
  ...demandsShape,
  ...copied,
});

const openGateSchema = z.object({ kind: z.literal("open"), allowOverride: z.optional(z.boolean()) });

const planGateSchema = z.object({
  kind: z.literal("plan"),
  allowOverride: z.optional(z.boolean()),
  tasks: z.array(z.object({ id: z.string(), optional: z.boolean() })),
  items: z.array(z.string()),
  verify: z.optional(z.array(verifySchema)),
  ...copied,
});

/** Checks a gate that is read from a store. */
export const gateSchema = z.discriminatedUnion("kind", [
  fieldGateSchema,
  schemaGateSchema,
  openGateSchema,
  planGateSchema,
]);
