import process from "node:process";
import type { EngineOptions } from "../engine/options.js";
import { readTrust } from "./approval-options.js";
import type { ServeOptions } from "./serve-options.js";
import { openVerifiers } from "./verifier-options.js";

/** What phased and routed engines are given alike. */
export type SharedEngineOptions = Pick<
  EngineOptions,
  "storage" | "enforcement" | "approvers" | "hashKey" | "verifiers" | "allowUnsignedApprovals" | "limits"
>;

/** Reads what both engines are given out of the options of `serve`. */
export async function sharedOptions(options: ServeOptions): Promise<Omit<SharedEngineOptions, "storage">> {
  const { enforcement, maxAttempts, maxAttemptsTotal, maxSessions, maxEvidence } = options;
  return {
    enforcement,
    ...(await readTrust(options)),
    verifiers: await openVerifiers(options, process.env),
    allowUnsignedApprovals: options.allowUnsignedApprovals === true,
    limits: {
      maxAttempts,
      maxAttemptsTotal,
      maxEvidenceBytes: maxEvidence,
      maxActiveSessions: maxSessions === 0 ? Number.POSITIVE_INFINITY : maxSessions,
    },
  };
}
