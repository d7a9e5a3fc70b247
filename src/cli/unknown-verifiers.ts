import { VERIFIER_NAMES } from "../adapters/verifiers/create-verifiers.js";
import type { Diagnostic } from "../definition/diagnostic.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { WorkflowStructure } from "../definition/structure.js";
import { checksOf } from "../gate/checks-of.js";

/** A warning for each gate that names a verifier which `phasegate serve` doesn't have: a host may have it. */
export function unknownVerifiers({ phases }: WorkflowStructure): Diagnostic[] {
  const known: readonly string[] = VERIFIER_NAMES;
  return phases.flatMap(({ number, gate }) => {
    const names = new Set(checksOf(gate).map(({ verifier }) => verifier));
    return [...names].filter((name) => !known.includes(name)).map((name) => warning(number, name, known));
  });
}

function warning(phase: number, name: string, known: readonly string[]): Diagnostic {
  const similar = nearest(name, known);
  const meant = similar === undefined ? "" : `Did you mean ${shown(similar)}? `;
  return {
    file: `phases/${phase}/gate-definition.yaml`,
    severity: "warning",
    code: "VERIFIER_UNKNOWN",
    message: `phase ${phase} names the verifier ${shown(name)}, which phasegate serve doesn't have`,
    hint: `${meant}Only a host that registers it can start this workflow.`,
  };
}
