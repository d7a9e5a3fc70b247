/** Checks that a host can run the verifiers of a workflow: before a session starts, not when it is at the gate. */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/check-gate.js";
import { fillKnownOptions } from "../../gate/fill-params.js";
import { turns } from "../../ports/clock.js";
import { sinceFault } from "../../workflow/gate-definition.js";
import type { JsonObject } from "../../workflow/json.js";
import { nearest, shown } from "../../workflow/names.js";
import type { VerifyDefinition } from "../../workflow/structure.js";
import type { ResolvedOptions } from "../options.js";
import { type VerifiedPhase, type Verifiers, verifierOf } from "./run-verifiers.js";

/** A workflow with its gates. */
interface VerifiedWorkflow {
  readonly type: string;
  readonly phases: readonly VerifiedPhase[];
  /** The phase that sessions begin with; missing for a routed workflow, whose gates belong to steps. */
  readonly startPhase?: number;
}

/** How long params are checked without yielding to other work, in milliseconds: a gate may have many. */
const TURN_MS = 20;

/**
 * Throws `DEFINITION_INVALID` if a gate names a verifier that the host has not registered, or has params
 * that it can't run with: a session must not get stuck at such a gate, let alone pass it.
 */
export async function requireVerifiers(
  workflow: VerifiedWorkflow,
  { verifiers, clock }: Pick<ResolvedOptions, "verifiers" | "clock">,
): Promise<void> {
  const { type, phases, startPhase } = workflow;
  const numbers = startPhase === undefined ? [] : phases.map(({ number }) => number);
  const diagnostics: string[] = [];
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, gate } of phases) {
    for (const check of checksOf(gate)) {
      const since = sinceFault(check, { phase: number, phases: numbers, startPhase });
      const fault = since === undefined ? faultOf(check, verifiers) : `${shown(check.verifier)}: ${since.message}`;
      if (fault !== undefined) diagnostics.push(`phase ${number}${inField(check)}: ${fault}`);
      await takeTurns();
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

/**
 * Throws `INVALID_INPUT` if a check of a workflow can't run with the options that a session is started with, such as a
 * command that the host does not allow: the session would get stuck at that gate.
 */
export async function requireFittingOptions(
  { type, phases }: VerifiedWorkflow,
  settings: JsonObject,
  { verifiers, clock }: Pick<ResolvedOptions, "verifiers" | "clock">,
): Promise<void> {
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, gate } of phases) {
    for (const check of checksOf(gate)) {
      const fault = optionsFaultOf(check, settings, verifiers);
      if (fault === undefined) await takeTurns();
      if (fault === undefined) continue;
      throw new PhasegateError("INVALID_INPUT", `${type} can't be started with these options: ${fault}`, {
        remedy: `Correct the option that phase ${number} reads; if the host must allow something, ask the person who runs it.`,
        details: { field: "options" },
      });
    }
  }
}

function optionsFaultOf({ verifier: name, params }: VerifyDefinition, settings: JsonObject, verifiers: Verifiers) {
  // All others were checked as they are.
  if (!JSON.stringify(params).includes("{options.")) return undefined;
  const verifier = verifierOf(verifiers, name);
  try {
    const verbatim = verifier?.verbatim;
    verifier?.check?.(fillKnownOptions(params, settings, verbatim === undefined ? {} : { verbatim }));
    return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return error.message;
    throw error;
  }
}

/** Returns why a host can't run a check: it lacks the verifier, or does not allow its params. Undefined if it can. */
export function faultOf({ verifier: name, params }: VerifyDefinition, verifiers: Verifiers): string | undefined {
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

function missingNames(phases: VerifiedWorkflow["phases"], verifiers: Verifiers): string[] {
  const names = phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier));
  return [...new Set(names)].filter((name) => verifierOf(verifiers, name) === undefined).map(shown);
}
