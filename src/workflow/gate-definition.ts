/**
 * The four kinds of gates that a session pins, as plain JSON: one schema for each part gives its type and checks it.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { aboutVerifier } from "./built-in-verifiers.js";
import { isJsonObject, type JsonObject, storedObjectSchema, storedValueSchema } from "./json.js";
import { shown } from "./names.js";
import { PhaseNames } from "./phase-names.js";

/** The types of evidence fields. `any` is for a field of which only the name is known. */
export const FIELD_TYPES = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;
/** The type of an evidence field. `any` is for a field of which only the name is known. */
export type FieldType = (typeof FIELD_TYPES)[number];

/** The values of {@link Reveal}. */
export const REVEALS = ["fields", "names", "none"] as const;
/** How much of a gate is shown to agents: all of it, the names of its fields, or nothing. */
export type Reveal = (typeof REVEALS)[number];

const isTrue = z.optional(z.literal(true));
const isFalse = z.optional(z.literal(false));
const text = z.optional(z.string());
const texts = z.optional(z.array(z.string()));

export const ruleSchema = z.object({
  /** As its author wrote it. */
  source: z.string(),
  /** The same rule in CEL, which is what runs. */
  cel: z.string(),
  /** The value of `params` in the rule. */
  params: z.optional(storedObjectSchema),
  /** The message for a value that breaks the rule. */
  message: text,
});
/** A rule that must hold. Its text is pinned, and compiled when it is first used. */
export type RuleDefinition = z.infer<typeof ruleSchema>;

export const fieldSchema = z.object({
  /** The field's key in the evidence. */
  name: z.string(),
  /** The type that its value must have. */
  type: z.enum(FIELD_TYPES),
  /** True if evidence without it is refused. A required boolean must be true. */
  required: z.boolean(),
  /** What the field means, for the agent. */
  description: text,
  /** A valid value, given by the author. */
  example: z.optional(storedValueSchema),
  /** True if the example may be what the work gives. Evidence that equals it is refused as copied if missing. */
  allowExample: isTrue,
  /** A generated value that passes the rules, if the author gives no example. */
  sample: z.optional(storedValueSchema),
  /** Rules for the value, if one is given. */
  rules: z.optional(z.array(ruleSchema)),
  /** `false` if nobody may waive the field. */
  waivable: isFalse,
});
/** One field that a gate asks for. */
export type FieldDefinition = z.infer<typeof fieldSchema>;

export const verifySchema = z.object({
  /** The name of the verifier. */
  verifier: z.string(),
  /** Its parameters; `{}` if there are none. */
  params: storedObjectSchema,
  /** The field whose value is checked; missing if the check belongs to the gate as a whole. */
  field: text,
  /** What it checks, for the agent. */
  description: text,
  /** `false` if nobody may waive the check. A check of a field goes with its field. */
  waivable: isFalse,
});
/** A check against reality, by a verifier that the host has registered. */
export type VerifyDefinition = z.infer<typeof verifySchema>;

export const approvalSchema = z.object({
  /** The question for the person. */
  prompt: z.string(),
  /** The names of the approvers who may answer, as the host knows them; any approver if missing. */
  approvers: texts,
});
/** An approval by a person. */
export type ApprovalDefinition = z.infer<typeof approvalSchema>;

const overrideShape = {
  /** True if the host may let a session pass without evidence. It may not if missing. */
  allowOverride: z.optional(z.boolean()),
};

const copiedShape = {
  /** The names that a person has waived: set in the copy that evidence is checked against, never by an author. */
  waived: texts,
  /** The claims that need a proof: set in the copy that evidence is checked against, never by an author. */
  proofs: texts,
};

const demandsShape = {
  /** Checks against reality. None if missing. */
  verify: z.optional(z.array(verifySchema)),
  /** A person who must approve complete evidence. Nobody if missing. */
  approval: z.optional(approvalSchema),
  /** How much of the gate agents see. `fields` if missing. */
  reveal: z.optional(z.enum(REVEALS)),
};

export const fieldGateSchema = z.object({
  /** Names this kind of gate. */
  kind: z.literal("fields"),
  /** True if rules block, false if they only warn. Missing fields and wrong types always block. */
  strict: z.boolean(),
  ...overrideShape,
  /** The fields of the evidence. */
  fields: z.array(fieldSchema),
  /** Rules for the evidence as a whole. None if missing. */
  rules: z.optional(z.array(ruleSchema)),
  ...demandsShape,
  /** The place where the requirements were found. */
  source: z.enum(["gate-file", "document", "metadata"]),
  ...copiedShape,
});
/** A gate that asks for named fields: from a gate file, metadata or code. */
export type FieldGate = z.infer<typeof fieldGateSchema>;

const schemaGateSchema = z.object({
  /** Names this kind of gate. */
  kind: z.literal("schema"),
  ...overrideShape,
  /** The JSON Schema of the Standard Schema, if it provides one. */
  jsonSchema: z.optional(storedObjectSchema),
  /** Evidence that the schema accepts, if the author gives an example. */
  example: z.optional(storedObjectSchema),
  /** True if the example may be what the work gives. Evidence that equals it is refused as copied if missing. */
  allowExample: isTrue,
  /** Generated values that the schema accepts. Missing if it was not run before the session was started. */
  sample: z.optional(
    z.object({
      /** The values, by field. */
      values: storedObjectSchema,
      /** False if they are no evidence that the schema accepts as a whole. It accepts them if missing. */
      complete: z.optional(z.boolean()),
    }),
  ),
  ...demandsShape,
  ...copiedShape,
});
/** A gate whose evidence is checked by a Standard Schema in code. */
export type SchemaGate = z.infer<typeof schemaGateSchema>;

const openGateSchema = z.object({
  /** Names this kind of gate. */
  kind: z.literal("open"),
  ...overrideShape,
});
/** A gate that any evidence object passes. */
export type OpenGate = z.infer<typeof openGateSchema>;

const planGateSchema = z.object({
  /** Names this kind of gate. */
  kind: z.literal("plan"),
  ...overrideShape,
  /** Tasks of the phase by the plan's own ids: all that are not optional must be claimed. */
  tasks: z.array(z.object({ id: z.string(), optional: z.boolean() })),
  /** Items of the phase's validation gate, in order: all must be claimed, by number (from 1) or by text. */
  items: z.array(z.string()),
  /** Checks against reality, the same at every gate of a plan. None if missing. */
  verify: demandsShape.verify,
  ...copiedShape,
});
/** The gate of a phase from a plan: its tasks and the items of its validation gate must be claimed. */
export type PlanGate = z.infer<typeof planGateSchema>;

export const gateSchema = z.discriminatedUnion("kind", [
  fieldGateSchema,
  schemaGateSchema,
  openGateSchema,
  planGateSchema,
]);
/** The requirements that must be met before a phase counts as done. */
export type GateDefinition = z.infer<typeof gateSchema>;

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

export function openPhases(phases: readonly { readonly number: number; readonly gate: GateDefinition }[]): number[] {
  return phases.flatMap(({ number, gate }) => (requiresNothing(gate) ? [number] : []));
}

/** Stands for the start of the session, where {@link sinceOf} returns the number of a phase. */
export const SESSION_START = -1;

/** Returns the phase whose passing the `since` of a pinned check names; {@link SESSION_START} for `since: start`. */
export function sinceOf(params: JsonObject): number | undefined {
  if (params.since === "start") return SESSION_START;
  const key = sinceKey(params);
  return typeof key === "number" ? key : undefined;
}

/** Returns the phase that `since` names, by number or by another key; undefined if it names none. */
function sinceKey({ since }: JsonObject): number | string | undefined {
  if (typeof since === "string") return since;
  if (!isJsonObject(since) || Object.keys(since).length !== 1) return undefined;
  const { phase } = since;
  return typeof phase === "string" || (typeof phase === "number" && Number.isInteger(phase)) ? phase : undefined;
}

/** The phase of a gate, among those of its workflow. */
export interface GatePlace {
  readonly phase: number;
  /** All phases, in ascending order; none for a step of a routed workflow. */
  readonly phases: PhaseNames;
  /** The phase that sessions begin with. Default: the first one. */
  readonly startPhase?: number | undefined;
  /** The phases before it that have been read, with their gates. */
  readonly before?: readonly EarlierPhase[];
}

/** A phase with its gate, and the schema of the gate if it has one. */
export interface EarlierPhase {
  readonly number: number;
  readonly gate: GateDefinition;
  readonly schema?: StandardSchemaV1 | undefined;
  /** The phases of the workflow that it is, if it is one and that is known: what its artifact has, by their names. */
  readonly child?: readonly EarlierPhase[] | undefined;
  /** The name of the phase in the artifact of one that is its workflow. */
  readonly key?: string | undefined;
}

/** The place of a gate that belongs to no phase. */
export const NO_PHASES: GatePlace = { phase: 0, phases: new PhaseNames([]) };

/**
 * Returns why the parameter `since` of a check can't be used at a place, and what to write; undefined if it can. `isKnown` is
 * true if the verifier compares with a snapshot: another one may mean something else by it.
 */
export function sinceFault(
  { verifier, params }: Pick<VerifyDefinition, "verifier" | "params">,
  { phase, phases, startPhase = phases.numbers[0] }: GatePlace,
  isKnown = aboutVerifier(verifier)?.since === true,
): { readonly message: string; readonly hint: string } | undefined {
  const { since } = params;
  const key = sinceKey(params);
  if (key === undefined) {
    const hint = "Write since: {phase: 1}, with the number or the name of an earlier phase, or since: start.";
    return isKnown && since !== undefined ? { message: "`since` must name a phase, or the start", hint } : undefined;
  }
  const shared = phases.sharedFault(String(key));
  const named = phases.find(String(key));
  if (typeof since === "string" && since !== "start" && !isKnown && named === undefined && shared === undefined) {
    return undefined;
  }
  if (phases.numbers.length === 0) {
    const hint = "Leave it out: the check compares with the time when the step was entered.";
    return { message: "`since` can't name a phase here: a routed workflow has steps", hint };
  }
  if (since === "start") return undefined;
  if (shared !== undefined) return { message: `\`since\`: ${shared.message}`, hint: shared.hint };
  const start = startPhase ?? 0;
  const earlier = phases.numbers.filter((number) => number < phase && number >= start);
  const hint =
    earlier.length === 0
      ? "Leave `since` out: no phase comes before this one. The check then compares with the start of its own phase."
      : `Write one of the phases before: ${phases.list(earlier)}. Without \`since\` the check compares with the start of its own phase.`;
  const said = typeof key === "number" ? `phase ${key}` : `the phase ${shown(key)}`;
  if (named === undefined) return { message: `\`since\` names ${said}, which does not exist`, hint };
  if (named >= phase) return { message: `\`since\` names ${said}, which is not before phase ${phase}`, hint };
  if (named >= start) return undefined;
  return { message: `\`since\` names ${said}, which no session passes: they begin with phase ${start}`, hint };
}

/** Returns the parameters of a check as they are pinned: `since` has the number of its phase. */
export function withSinceNumber(params: JsonObject, phases: PhaseNames): JsonObject {
  const key = params.since === "start" ? undefined : sinceKey(params);
  const phase = typeof key === "string" ? phases.find(key) : undefined;
  return phase === undefined ? params : { ...params, since: { phase } };
}
