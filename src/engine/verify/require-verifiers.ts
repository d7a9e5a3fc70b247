import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import type { VerifyDefinition } from "../../definition/structure.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/checks-of.js";
import { type Verifiers, verifierOf } from "./run-verifiers.js";
import type { VerifiedPhase } from "./verify-context.js";

/** A workflow, as far as its gates are asked about. */
interface VerifiedWorkflow {
  readonly type: string;
  readonly phases: readonly VerifiedPhase[];
}

/** So many milliseconds at a time params are checked without letting anything else run: a gate may have many. */
const TURN_MS = 20;

/**
 * Throws `DEFINITION_INVALID` where a gate names a verifier that the host has not registered, or gives it params
 * that it can't be run with: a session must not get stuck before such a gate, let alone pass it.
 */
export async function requireVerifiers({ type, phases }: VerifiedWorkflow, verifiers: Verifiers): Promise<void> {
  const diagnostics: string[] = [];
  let turn = performance.now();
  for (const { number, gate } of phases) {
    for (const check of checksOf(gate)) {
      const fault = faultOf(check, verifiers);
      if (fault !== undefined) diagnostics.push(`phase ${number}${inField(check)}: ${fault}`);
      if (performance.now() - turn < TURN_MS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      turn = performance.now();
    }
  }
  const [first, ...others] = diagnostics;
  if (first === undefined) return;
  const missing = missingNames(phases, verifiers);
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  throw new PhasegateError("DEFINITION_INVALID", `${type} can't be run by this host: ${first}${more}`, {
    remedy:
      missing.length === 0
        ? "Correct the params of the gate's `verify`, or let the host allow what they ask for."
        : `The host must register ${missing.join(", ")}: createEngine({ verifiers }), with createVerifiers() of phasegate/verify for the built-in ones (phasegate serve: --project).`,
    details: { workflowType: type, diagnostics },
  });
}

function missingNames(phases: VerifiedWorkflow["phases"], verifiers: Verifiers): string[] {
  const names = phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier));
  return [...new Set(names)].filter((name) => verifierOf(verifiers, name) === undefined).map(shown);
}

function faultOf({ verifier: name, params }: VerifyDefinition, verifiers: Verifiers): string | undefined {
  const verifier = verifierOf(verifiers, name);
  if (verifier === undefined) {
    const similar = nearest(name, Object.keys(verifiers));
    const hint = similar === undefined ? "" : `; did you mean ${shown(similar)}?`;
    return `the verifier ${shown(name)} is not registered${hint}`;
  }
  try {
    verifier.check?.(params);
    return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return `${shown(name)}: ${error.message}`;
    throw error;
  }
}

function inField({ field }: VerifyDefinition): string {
  return field === undefined ? "" : `, ${shown(field)}`;
}
