import { VERIFIER_NAMES } from "../adapters/verifiers/create-verifiers.js";
import type { Diagnostic } from "../definition/diagnostic.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { GateDefinition, WorkflowStructure } from "../definition/structure.js";
import { checksOf } from "../gate/checks-of.js";

/** A warning for each gate that names a verifier which `phasegate serve` doesn't have: a host may have it. */
export function unknownVerifiers({ phases }: WorkflowStructure): Diagnostic[] {
  return phases.flatMap(({ number, gate }) =>
    unknownInGates(gate, `phase ${number}`, `phases/${number}/gate-definition.yaml`),
  );
}

/** The same for one gate: `where` says whose it is, in a sentence. */
export function unknownInGates(gate: GateDefinition, where: string, file: string): Diagnostic[] {
  const names = new Set(checksOf(gate).map(({ verifier }) => verifier));
  return [...names].filter((name) => !KNOWN.includes(name)).map((name) => warning(where, file, name));
}

const KNOWN: readonly string[] = VERIFIER_NAMES;

function warning(where: string, file: string, name: string): Diagnostic {
  const similar = nearest(name, KNOWN);
  const meant = similar === undefined ? "" : `Did you mean ${shown(similar)}? `;
  return {
    file,
    severity: "warning",
    code: "VERIFIER_UNKNOWN",
    message: `${where} names the verifier ${shown(name)}, which phasegate serve doesn't have`,
    hint: `${meant}Only a host that registers it can start this workflow.`,
  };
}
