import type { GateDefinition, VerifyDefinition, WorkflowStructure } from "../definition/structure.js";

const NONE: readonly VerifyDefinition[] = [];

/** The checks against reality that a gate asks for, in their order. */
export function checksOf(gate: GateDefinition): readonly VerifyDefinition[] {
  return "verify" in gate ? (gate.verify ?? NONE) : NONE;
}

/** The names of all verifiers that a workflow's gates need, each once: a host that lacks one can't run it. */
export function verifierNames({ phases }: WorkflowStructure): readonly string[] {
  return [...new Set(phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier)))];
}
