/**
 * A phase that is a workflow of its own: its gate has one check, which the engine makes itself, and asks for nothing else. The
 * sessions on that workflow are the children of the phase's session.
 */
import * as z from "zod/mini";
import type { GateDefinition, VerifyDefinition } from "./gate-definition.js";
import {
  canonicalJson,
  digest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  storedObjectSchema,
  storedValueSchema,
} from "./json.js";
import { isPlainPath, isWorkflowType, shown } from "./names.js";

/** The name of the check. No host can register a verifier of this name. */
export const CHILD_CHECK = "workflow";

/** A rule in CEL that gives a value. It reads what a rule of a gate reads but evidence, and `item`. */
const valueRule = z.strictObject({ rule: z.string().check(z.regex(/\S/)) }, "{rule: …} with a rule in CEL");

const childShape = z.strictObject({
  /** The type of the workflow. */
  type: z.string().check(z.refine(isWorkflowType, "the type of a workflow, as its folder is called")),
  /** What a child works on: a path, or a rule that gives one. Default: what the phase's own session works on. */
  target: z.optional(z.union([z.string().check(z.regex(/\S/)), valueRule], "a path, or {rule: …}")),
  /** The options that a child is started with: values, or rules that give them. Default: none. */
  options: z.optional(z.record(z.string(), z.union([valueRule, storedValueSchema]), "an object with the options")),
  /** A rule in CEL that gives a list: one child for each of its items, which are `item` in the other rules. Default: one child. */
  for_each: z.optional(z.string("a rule in CEL that gives a list").check(z.regex(/\S/))),
  /** True if the phase passes where that list is empty. Default: it does not. */
  allow_empty: z.optional(z.boolean("true or false")),
});
/** The workflow that a phase is. */
export type ChildWorkflow = z.infer<typeof childShape>;
/** Returns the workflow that a phase with this gate is; undefined if it is none. */
export function childWorkflowOf(gate: GateDefinition): ChildWorkflow | undefined {
  const params = childCheckOf(gate)?.params;
  return params && childShape.parse(params);
}

/** Returns true for the gate of a phase that is a workflow. */
export function hasChildCheck(gate: GateDefinition): boolean {
  return childCheckOf(gate) !== undefined;
}

function childCheckOf(gate: GateDefinition): VerifyDefinition | undefined {
  const checks = "verify" in gate ? (gate.verify ?? []) : [];
  return checks.find(({ verifier }) => verifier === CHILD_CHECK);
}

/** Returns the check of a phase that is a workflow. */
export function childCheck(child: ChildWorkflow): VerifyDefinition {
  const many = child.for_each === undefined ? "" : `, for each item of ${child.for_each}`;
  const description = `the workflow ${child.type} is completed${many}`;
  const params = Object.fromEntries(Object.entries(child).filter(([, value]) => value !== undefined));
  return { verifier: CHILD_CHECK, params: storedObjectSchema.parse(params), description, waivable: false };
}

/** Returns the workflows that phases are and that are not among `types`; undefined if there are none. */
export function missingWorkflows(
  phases: readonly { readonly gate: GateDefinition }[],
  types: ReadonlySet<string>,
): readonly string[] | undefined {
  const missing = new Set(phases.map(({ gate }) => childWorkflowOf(gate)?.type).filter((type) => type !== undefined));
  for (const type of types) missing.delete(type);
  return missing.size === 0 ? undefined : [...missing];
}

/** Returns what is wrong with a gate that has the check of a workflow, apart from its rules; nothing of any other gate. */
export function childFaults(gate: GateDefinition): readonly string[] {
  const check = childCheckOf(gate);
  if (check === undefined) return [];
  const { params, field, waivable } = check;
  const issues = z.safeParse(childShape, params).error?.issues ?? [];
  const faults = issues.map((issue) => {
    const at = issue.path.map(String).join(".");
    if (issue.code === "unrecognized_keys") return `a workflow has no key ${issue.keys.map(shown).join(", ")}`;
    const given = issue.path.reduce<unknown>((inner, key) => Object(inner)[key], params);
    return given === undefined ? `${at} is missing` : `${at} must be ${issue.message}, not ${shown(given)}`;
  });
  if (typeof params.target === "string" && !isPlainPath(params.target))
    faults.push(`target must be a path in the project, not ${shown(params.target)}`);
  const isAlone =
    gate.kind === "fields" &&
    gate.fields.length === 0 &&
    gate.verify?.length === 1 &&
    gate.rules === undefined &&
    gate.approval === undefined;
  if (!isAlone || field !== undefined)
    faults.push("a phase that is a workflow passes by that alone: its gate has nothing else");
  else if (waivable !== false) faults.push("nobody may waive a phase that is a workflow: write waivable: false");
  return faults;
}

/** Returns the parameters of the check with each of its rules changed. */
export async function withChildRules(
  params: JsonObject,
  change: (rule: string) => Promise<string>,
): Promise<JsonObject> {
  const { target, options, for_each: each } = params;
  const changed = async (value: JsonValue): Promise<JsonValue> =>
    isValueRule(value) ? { rule: await change(value.rule) } : value;
  const inOptions = Object.entries(isJsonObject(options) ? options : {}).map(
    async ([name, value]): Promise<[string, JsonValue]> => [name, await changed(value)],
  );
  return {
    ...params,
    ...(target === undefined ? {} : { target: await changed(target) }),
    ...(options === undefined ? {} : { options: Object.fromEntries(await Promise.all(inOptions)) }),
    ...(typeof each === "string" ? { for_each: await change(each) } : {}),
  };
}

/** Checks whether a value stands for what a rule gives. */
export function isValueRule(value: JsonValue | undefined): value is { readonly rule: string } & JsonObject {
  return isJsonObject(value) && typeof value.rule === "string" && Object.keys(value).length === 1;
}

/** What one child is started with. */
export interface Assignment {
  /** The item of `for_each` that it is for. */
  readonly item?: JsonValue;
  readonly target: string;
  readonly options: JsonObject;
}

/** Identifies what a child is started with, so that it is the same child wherever its item stands in a list. */
export function assignmentKey(type: string, { item, target, options }: Assignment): string {
  return digest(canonicalJson([type, item ?? null, target, options])).slice(0, 32);
}
