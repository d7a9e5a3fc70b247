import type { JsonValue } from "../../definition/json.js";
import { fillParams } from "../../gate/fill-params.js";
import type { Verifier } from "../../ports/verifier.js";
import { type BoundedOptions, runBounded } from "./run-bounded.js";
import { placeholderValues, VERIFY_DEFAULTS, type Verifiers, verifierOf } from "./run-verifiers.js";

type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

/** A verifier of the phase that is being entered. */
export interface SnapshotCheck {
  readonly verifier: string;
  readonly request: SnapshotRequest;
}

/** What was recorded for one verifier, or what kept it from being recorded. */
export type SnapshotOutcome =
  | { readonly status: "taken"; readonly value: JsonValue }
  /** The verifier takes none. */
  | { readonly status: "none" }
  | { readonly status: "failed"; readonly error: unknown };

/**
 * What verifiers look at when a phase is entered, in the order of the checks. Never rejects: without its
 * snapshot a verifier refuses at the gate, so whoever enters the phase must hear of a failure.
 */
export async function takeSnapshots(
  checks: readonly SnapshotCheck[],
  verifiers: Verifiers,
  options: Partial<BoundedOptions> = {},
): Promise<readonly SnapshotOutcome[]> {
  const jobs = checks.map((check) => () => snapshot(check, verifiers));
  const settled = await runBounded(jobs, { ...VERIFY_DEFAULTS, ...options });
  return settled.map((end): SnapshotOutcome => {
    if (end.status === "done")
      return end.value === undefined ? { status: "none" } : { status: "taken", value: end.value };
    return { status: "failed", error: end.status === "failed" ? end.error : new Error(`a snapshot was ${end.status}`) };
  });
}

async function snapshot({ verifier: name, request }: SnapshotCheck, verifiers: Verifiers) {
  const verifier = verifierOf(verifiers, name);
  // Params of the others may want evidence, which isn't there yet.
  if (verifier?.snapshot === undefined) return undefined;
  const { verbatim = [] } = verifier;
  const params = fillParams(request.params, placeholderValues(request), { verbatim });
  return await verifier.snapshot({ ...request, params });
}
