/**
 * Compares the phases of two definitions of a workflow. A session may move to a newer one only if what it has been through
 * is the same there: otherwise work of the newer definition would count as done without it.
 */
import { canonicalJson } from "../../workflow/json.js";
import type { GateDefinition, PhaseDefinition } from "../../workflow/structure.js";

/**
 * Returns in what the first phases of two definitions differ, by number, name, tasks and gate; undefined if in nothing.
 * Phases from a plan are compared when the plan is read again.
 */
export function phaseDifference(
  before: readonly PhaseDefinition[],
  after: readonly PhaseDefinition[],
  count: number,
): string | undefined {
  for (const [position, phase] of before.slice(0, count).entries()) {
    const other = after[position];
    if (other?.number !== phase.number) return `it has no phase ${phase.number} in this place`;
    if (phase.plan !== undefined && other.plan !== undefined) continue;
    const parts = Object.entries(PARTS).filter(([, part]) => canonicalJson(part(phase)) !== canonicalJson(part(other)));
    if (parts.length > 0) return `phase ${phase.number} has ${parts.map(([name]) => name).join(" and ")} there`;
  }
  return undefined;
}

/** What is compared of a phase, with the words for a difference. */
const PARTS: Readonly<Record<string, (phase: PhaseDefinition) => unknown>> = {
  "another name": ({ name }) => name,
  "other tasks": ({ tasks }) => tasks.map(({ number, name }) => [number, name]),
  "another gate": ({ gate }) => required(gate),
};

/** Returns a gate without its examples and the place where it was found, which require nothing. */
function required(gate: GateDefinition): unknown {
  if (gate.kind === "schema") {
    const { example: _, sample: __, ...rest } = gate;
    return rest;
  }
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, ...rest } = gate;
  return { ...rest, fields: fields.map(({ example: _, sample: __, ...field }) => field) };
}
