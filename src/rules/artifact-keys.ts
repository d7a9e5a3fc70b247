/**
 * Which artifacts a rule can read: those of the phases before its own, with the fields that their gates have. A rule that
 * reads another one could never be evaluated, so its gate would stay shut.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { GateDefinition, GatePlace } from "../workflow/gate-definition.js";
import { nearest, shown } from "../workflow/names.js";
import { literalText } from "./tree.js";

/** The earlier phases by number, each with the names of its fields; undefined if it may have any. */
export type EarlierPhases = ReadonlyMap<string, readonly string[] | undefined>;

/** Returns what the rules of a gate can read of the phases before its own. */
export function earlierPhases({ phase, before = [], startPhase = 0 }: GatePlace): EarlierPhases {
  const earlier = before.filter(({ number }) => number < phase && number >= startPhase);
  return new Map(earlier.map(({ number, gate }) => [String(number), fieldsOf(gate)]));
}

function fieldsOf(gate: GateDefinition): readonly string[] | undefined {
  return gate.kind === "fields" ? gate.fields.map(({ name }) => name) : undefined;
}

/** Returns why a rule can't read the artifacts that it names, and what to write instead; undefined if it can. */
export function artifactFault(
  nodes: readonly ASTNode[],
  earlier: EarlierPhases,
): { readonly why: string; readonly hint: string } | undefined {
  for (const node of nodes) {
    const phase = phaseIn(node);
    if (phase !== undefined && !earlier.has(phase)) return noPhase(phase, earlier);
    const { of, key } = keyIn(node) ?? {};
    const within = of === undefined ? undefined : phaseIn(of);
    const fields = within === undefined ? undefined : earlier.get(within);
    if (key === undefined || fields === undefined || fields.includes(key)) continue;
    const meant = nearest(key, fields);
    const names = fields.slice(0, 20).join(", ");
    const hint = meant === undefined ? `Write one of its fields: ${names}.` : `Did you mean ${shown(meant)}?`;
    return { why: `the evidence of phase ${within} has no field ${shown(key)}`, hint };
  }
  return undefined;
}

function noPhase(phase: string, earlier: EarlierPhases) {
  const why = `artifacts has no phase ${shown(phase)}: only phases before the rule's own have artifacts`;
  if (earlier.size === 0) return { why, hint: "No phase comes before this one: write a rule over evidence." };
  return { why, hint: `Write one of the phases before: ${[...earlier.keys()].join(", ")}.` };
}

/** Returns the phase that a node names: `artifacts["1"]`, `artifacts[1]`, `"1" in artifacts`. */
function phaseIn(node: ASTNode): string | undefined {
  const { of, key } = keyIn(node) ?? {};
  return of?.op === "id" && of.args === "artifacts" ? key : undefined;
}

/** Returns the constant key that a node reads or looks for, and the value that it is a key of. */
function keyIn(node: ASTNode): { readonly of: ASTNode; readonly key: string | undefined } | undefined {
  switch (node.op) {
    case ".":
    case ".?":
      return { of: node.args[0], key: keyText(node.args[1]) };
    case "[]":
    case "[?]":
      return { of: node.args[0], key: keyText(node.args[1]) };
    case "in":
      return { of: node.args[1], key: keyText(node.args[0]) };
    default:
      return undefined;
  }
}

function keyText(key: ASTNode | string): string | undefined {
  if (typeof key === "string") return key;
  const isNumber = key.op === "value" && (typeof key.args === "bigint" || typeof key.args === "number");
  return isNumber ? String(key.args) : literalText(key);
}
