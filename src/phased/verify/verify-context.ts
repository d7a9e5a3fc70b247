/**
 * What verification needs of an engine, so that phases, routed steps and skill steps share one
 * implementation; and the check that a host has all verifiers of a workflow.
 */

import { isPhasegateError, PhasegateError } from "../../errors.js";
import { checksOf } from "../../gate/check-gate.js";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { nearest, type SessionId, shown } from "../../workflow/names.js";
import type { GateDefinition, VerifyDefinition } from "../../workflow/structure.js";
import type { ResolvedOptions } from "../options.js";
import type { Snapshot } from "../state/events.js";
import { type Verifiers, verifierOf } from "./run-verifiers.js";

/** An event that may contain snapshots. */
export interface WithSnapshots {
  readonly type: string;
  readonly snapshots?: readonly Snapshot[] | undefined;
}

/** The session of a gate. */
export interface VerifiedSession {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly hash: string;
  readonly head: { readonly workflowType: string; readonly target: string; readonly baseline?: number | undefined };
}

/** What verification needs of an engine, whichever kind of sessions it has. */
export interface VerifyContext {
  readonly options: Pick<ResolvedOptions, "verifiers" | "clock"> & {
    readonly storage: Pick<StorageAdapter, "payload">;
    readonly limits: Pick<ResolvedOptions["limits"], "maxVerifiersAtOnce" | "verifyDeadlineMs">;
  };
  readonly kernel: { at(id: SessionId, version: number): Promise<{ readonly events: readonly WithSnapshots[] }> };
  /** The commits in which the current phase was entered before. */
  readonly beginnings: { before(session: VerifiedSession): Promise<readonly number[]> };
  readonly notifications: {
    notify(name: "internalError", payload: { readonly operation: string; readonly error: unknown }): void;
  };
}

/** The phase or step of a gate. */
export interface VerifiedPhase {
  readonly number: number;
  readonly gate: GateDefinition;
}

/** A workflow with its gates. */
interface VerifiedWorkflow {
  readonly type: string;
  readonly phases: readonly VerifiedPhase[];
}

/** How long params are checked without yielding to other work, in milliseconds: a gate may have many. */
const TURN_MS = 20;

/**
 * Throws `DEFINITION_INVALID` if a gate names a verifier that the host has not registered, or has params
 * that it can't run with: a session must not get stuck at such a gate, let alone pass it.
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

function missingNames(phases: VerifiedWorkflow["phases"], verifiers: Verifiers): string[] {
  const names = phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier));
  return [...new Set(names)].filter((name) => verifierOf(verifiers, name) === undefined).map(shown);
}
