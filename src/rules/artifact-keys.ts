/**
 * Which artifacts a rule can read: those of the phases before its own, with the fields that their gates have. A rule that
 * reads another one could never be evaluated, so its gate would stay shut.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { childWorkflowOf } from "../workflow/child-workflow.js";
import type { EarlierPhase, GatePlace } from "../workflow/gate-definition.js";
import { fieldsGiven } from "../workflow/json-schema.js";
import { nearest, shown } from "../workflow/names.js";
import type { EarlierPhases, WhyAndHint } from "./rule-types.js";
import { keyIn } from "./tree.js";

/** Returns what the rules of a gate can read of the phases before its own. */
export function earlierPhases({ phase, phases, before = [], startPhase = 0 }: GatePlace): EarlierPhases {
  const earlier = before.filter(({ number }) => number < phase && number >= startPhase);
  // Several children stand in a list.
  const only = earlier.filter(({ gate }) => childWorkflowOf(gate)?.for_each === undefined);
  return {
    phases,
    fields: new Map(earlier.map((one) => [one.number, fieldsOf(one)])),
    inner: new Map(only.flatMap(({ number, child }) => (child === undefined ? [] : [[number, innerFields(child)]]))),
  };
}

/** Returns the fields of the phases of a child, by the names that they have in its artifact. */
function innerFields(child: readonly EarlierPhase[]): ReadonlyMap<string, readonly string[] | undefined> {
  return new Map(child.map((one) => [one.key ?? "", fieldsOf(one)]));
}

function fieldsOf({ gate, schema, child }: EarlierPhase): readonly string[] | undefined {
  const workflow = childWorkflowOf(gate);
  // Its artifacts are those of another workflow.
  if (workflow !== undefined) return workflow.for_each === undefined ? child?.map((one) => one.key ?? "") : ["items"];
  if (gate.kind === "fields") return gate.fields.map(({ name }) => name);
  return schema && fieldsGiven(schema);
}

/** Returns why a rule can't read the artifacts that it names; undefined if it can, or if `earlier` is not known. */
export function artifactFault(nodes: readonly ASTNode[], earlier: EarlierPhases | undefined): WhyAndHint | undefined {
  if (earlier === undefined) return undefined;
  for (const node of nodes) {
    const phase = phaseIn(node);
    const fault = (phase === undefined ? undefined : phaseFault(phase, earlier)) ?? unknownField(node, earlier);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Returns why a node can't be read that names a field of a phase, or of a phase of a child: `artifacts.review.verdict.approved`. */
function unknownField(node: ASTNode, { phases, fields, inner }: EarlierPhases): WhyAndHint | undefined {
  const numberIn = (of: ASTNode | undefined) => {
    const phase = of && phaseIn(of);
    return phase === undefined ? undefined : phases.find(phase);
  };
  const { of, key } = keyIn(node) ?? {};
  if (of === undefined || key === undefined) return undefined;
  const number = numberIn(of);
  if (number !== undefined) return fieldFault(key, fields.get(number), `phase ${number}`);
  const { of: child, key: name } = keyIn(of) ?? {};
  const outer = numberIn(child);
  if (outer === undefined || name === undefined) return undefined;
  return fieldFault(key, inner.get(outer)?.get(name), `${shown(name)} in phase ${outer}`);
}

function fieldFault(key: string, fields: readonly string[] | undefined, where: string): WhyAndHint | undefined {
  if (fields === undefined || fields.includes(key)) return undefined;
  const meant = nearest(key, fields);
  const names = fields.slice(0, 20).join(", ");
  const hint = meant === undefined ? `Write one of its fields: ${names}.` : `Did you mean ${shown(meant)}?`;
  return [`the evidence of ${where} has no field ${shown(key)}`, hint];
}

function phaseFault(key: string, { phases, fields }: EarlierPhases): WhyAndHint | undefined {
  const shared = phases.sharedFault(key);
  if (shared !== undefined) return [shared.message, shared.hint];
  const number = phases.find(key);
  if (number !== undefined && fields.has(number)) return undefined;
  const why = `artifacts has no phase ${shown(key)}: only phases before the rule's own have artifacts`;
  const earlier = [...fields.keys()];
  if (earlier.length === 0) return [why, "No phase comes before this one: write a rule over evidence."];
  return [why, `Write one of the phases before: ${phases.list(earlier)}.`];
}

/** Returns the key of the phase that a node names: `artifacts.test`, `artifacts["1"]`, `artifacts[1]`, `"1" in artifacts`. */
function phaseIn(node: ASTNode): string | undefined {
  return phaseKeyIn(node)?.key;
}

/** The same, with the constant that holds the key; `artifacts.test` has none. */
export function phaseKeyIn(
  node: ASTNode,
): { readonly key: string; readonly literal?: ASTNode | undefined } | undefined {
  const { of, key, literal } = keyIn(node) ?? {};
  return of?.op === "id" && of.args === "artifacts" && key !== undefined ? { key, literal } : undefined;
}
