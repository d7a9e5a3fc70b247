/**
 * Which artifacts a rule can read: those of the phases before its own, with the fields that their gates have. A rule that
 * reads another one could never be evaluated, so its gate would stay shut.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { GateDefinition, GatePlace } from "../workflow/gate-definition.js";
import { nearest, shown } from "../workflow/names.js";
import type { EarlierPhases, WhyAndHint } from "./rule-types.js";
import { keyIn } from "./tree.js";

/** Returns what the rules of a gate can read of the phases before its own. */
export function earlierPhases({ phase, before = [], startPhase = 0 }: GatePlace): EarlierPhases {
  const earlier = before.filter(({ number }) => number < phase && number >= startPhase);
  return new Map(earlier.map(({ number, gate }) => [String(number), fieldsOf(gate)]));
}

function fieldsOf(gate: GateDefinition): readonly string[] | undefined {
  return gate.kind === "fields" ? gate.fields.map(({ name }) => name) : undefined;
}

/** Returns why a rule can't read the artifacts that it names; undefined if it can, or if `earlier` is not known. */
export function artifactFault(nodes: readonly ASTNode[], earlier: EarlierPhases | undefined): WhyAndHint | undefined {
  if (earlier === undefined) return undefined;
  for (const node of nodes) {
    const phase = phaseIn(node);
    if (phase !== undefined && !earlier.has(phase)) return noPhase(phase, [...earlier.keys()]);
    const { of, key } = keyIn(node) ?? {};
    const within = of && phaseIn(of);
    const fields = within === undefined ? undefined : earlier.get(within);
    if (key === undefined || fields === undefined || fields.includes(key)) continue;
    const meant = nearest(key, fields);
    const names = fields.slice(0, 20).join(", ");
    const hint = meant === undefined ? `Write one of its fields: ${names}.` : `Did you mean ${shown(meant)}?`;
    return [`the evidence of phase ${within} has no field ${shown(key)}`, hint];
  }
  return undefined;
}

function noPhase(phase: string, earlier: readonly string[]): WhyAndHint {
  const why = `artifacts has no phase ${shown(phase)}: only phases before the rule's own have artifacts`;
  if (earlier.length === 0) return [why, "No phase comes before this one: write a rule over evidence."];
  return [why, `Write one of the phases before: ${earlier.join(", ")}.`];
}

/** Returns the phase that a node names: `artifacts["1"]`, `artifacts[1]`, `"1" in artifacts`. */
function phaseIn(node: ASTNode): string | undefined {
  const { of, key } = keyIn(node) ?? {};
  return of?.op === "id" && of.args === "artifacts" ? key : undefined;
}
