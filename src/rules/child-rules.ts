/**
 * Which children a phase asks for that is a workflow of its own: the rules of its gate give their targets and options. Loaded
 * on demand, since it imports the rule language.
 */

import { isPhasegateError } from "../errors.js";
import {
  type Assignment,
  assignmentKey,
  type ChildWorkflow,
  childFaults,
  childWorkflowOf,
  isValueRule,
} from "../workflow/child-workflow.js";
import type { GateDefinition, GatePlace } from "../workflow/gate-definition.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { parseRelativePath, shown } from "../workflow/names.js";
import { earlierPhases } from "./artifact-keys.js";
import { boundedValue, type RuleValue } from "./compile.js";
import { loadRuleLanguage } from "./language.js";

/** The children that a phase asks for, or why that can't be said. */
export type Assignments =
  | { readonly ok: true; readonly children: readonly Assignment[] }
  | { readonly ok: false; readonly why: string };

/** The most children that a phase can have. */
const CHILDREN_MAX = 100;

type Compile = (cel: string, gives: "value" | "value of item") => (variables: Record<string, unknown>) => RuleValue;

/** Something wrong with the gate of a phase that is a workflow, and where in its check. */
interface ChildFault {
  readonly at: readonly string[];
  readonly message: string;
  readonly hint: string;
}

/** Returns what is wrong with the gate of a phase that is a workflow; nothing for any other gate. */
export async function childGateFaults(gate: GateDefinition, place: GatePlace): Promise<readonly ChildFault[]> {
  const faults: ChildFault[] = childFaults(gate).map((message) => ({ at: [], message, hint: "Correct the gate." }));
  if (faults.length > 0) return faults;
  const child = childWorkflowOf(gate);
  if (child === undefined) return [];
  const compiler = (await loadRuleLanguage()).forFields([], earlierPhases(place));
  for (const { at, rule, gives } of rulesOf(child)) {
    const compiled = compiler.compile(rule, { gives });
    if (!compiled.ok) faults.push({ at, message: compiled.message, hint: compiled.hint });
  }
  return faults;
}

function rulesOf({ target, options = {}, for_each: each }: ChildWorkflow) {
  const gives = each === undefined ? ("value" as const) : ("value of item" as const);
  const given = [
    { at: ["target"], value: target },
    ...Object.entries(options).map(([name, value]) => ({ at: ["options", name], value })),
  ];
  const rules = given.flatMap(({ at, value }) => (isValueRule(value) ? [{ at, rule: value.rule, gives }] : []));
  return each === undefined ? rules : [{ at: ["for_each"], rule: each, gives: "value" as const }, ...rules];
}

/**
 * Returns the children that a phase asks for. `variables` are those that the rules of its gate see, without the evidence;
 * `target` is what its own session works on.
 */
export async function assignmentsOf(child: ChildWorkflow, variables: Variables, target: string): Promise<Assignments> {
  const compiler = (await loadRuleLanguage()).forFields([]);
  const compile: Compile = (cel, gives) => {
    const compiled = compiler.compile(cel, { gives });
    // Rules are compiled before a session starts: one that can't be is from another version.
    return compiled.ok ? boundedValue(compiled) : () => ({ because: `can't be run: ${compiled.why}` });
  };
  try {
    const children = itemsOf(child, variables, compile).map(({ item }) => {
      const values = item === undefined ? variables : { ...variables, item };
      const given = { target: targetOf(child, values, compile, target), options: optionsOf(child, values, compile) };
      return item === undefined ? given : { item, ...given };
    });
    // Equal items are one child.
    const distinct = new Map(children.map((one) => [assignmentKey(child.type, one), one]));
    return { ok: true, children: [...distinct.values()] };
  } catch (error) {
    if (error instanceof Unassigned) return { ok: false, why: error.message };
    throw error;
  }
}

/** A rule that gives nothing that a child can be started with. */
class Unassigned extends Error {}

type Variables = Record<string, unknown>;

function itemsOf(child: ChildWorkflow, variables: Variables, compile: Compile): { readonly item?: JsonValue }[] {
  const { for_each: each, allow_empty: allowEmpty = false } = child;
  if (each === undefined) return [{}];
  const list = valueGiven(each, "for_each", variables, compile, "value");
  if (!Array.isArray(list)) throw new Unassigned(`for_each gives ${shown(list)}, which is no list`);
  if (list.length > CHILDREN_MAX)
    throw new Unassigned(`for_each gives ${list.length} items; at most ${CHILDREN_MAX} are possible`);
  if (list.length === 0 && !allowEmpty) throw new Unassigned("for_each gives an empty list");
  return list.map((item) => ({ item }));
}

function targetOf({ target }: ChildWorkflow, values: Variables, compile: Compile, own: string): string {
  if (target === undefined) return own;
  if (typeof target === "string") return target;
  const found = valueGiven(target.rule, "target", values, compile, gives(values));
  if (typeof found !== "string") throw new Unassigned(`target gives ${shown(found)}, which is no path`);
  return insideProject(found);
}

function insideProject(path: string): string {
  try {
    return parseRelativePath(path);
  } catch (error) {
    if (isPhasegateError(error)) throw new Unassigned(`target gives ${shown(path)}: ${error.message}`);
    throw error;
  }
}

function optionsOf({ options = {} }: ChildWorkflow, values: Variables, compile: Compile): JsonObject {
  const found = Object.entries(options).map(([name, value]): [string, JsonValue] => [
    name,
    isValueRule(value) ? valueGiven(value.rule, `options.${name}`, values, compile, gives(values)) : value,
  ]);
  return Object.fromEntries(found);
}

const gives = (values: Variables) => ("item" in values ? "value of item" : "value");

function valueGiven(
  rule: string,
  where: string,
  variables: Variables,
  compile: Compile,
  as: "value" | "value of item",
): JsonValue {
  const outcome = compile(rule, as)(variables);
  if ("because" in outcome) throw new Unassigned(`${where} ${outcome.because}`);
  const value = asJson(outcome.value);
  if (value === undefined) throw new Unassigned(`${where} gives a value that JSON can't hold exactly (${NO_JSON})`);
  return value;
}

const NO_JSON = `a time, bytes, a type, or a whole number beyond ${Number.MAX_SAFE_INTEGER}`;

/** Returns a value of CEL as JSON; undefined if it is none. Its whole numbers are BigInts, its maps may be Maps. */
function asJson(value: unknown): JsonValue | undefined {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (Array.isArray(value)) return allOf(value.map(asJson));
  const isPlain = typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  if (!(value instanceof Map) && !isPlain) {
    // Whole numbers without a sign have a class of their own.
    const whole = value instanceof Object ? value.valueOf() : undefined;
    return typeof whole === "bigint" ? asJson(whole) : undefined;
  }
  const entries = [...(value instanceof Map ? value : Object.entries(Object(value)))];
  const values = allOf(entries.map(([, inner]) => asJson(inner)));
  return values && Object.fromEntries(entries.map(([key], index) => [String(key), values[index] ?? null]));
}

function allOf(values: readonly (JsonValue | undefined)[]): JsonValue[] | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? known : undefined;
}
