import type { SessionId } from "../../definition/names.js";
import type { GateDefinition } from "../../definition/structure.js";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import type { Snapshot } from "../../session/verification.js";
import type { ResolvedOptions } from "../options.js";

/** An event, as far as checks begin with what it holds. */
export interface WithSnapshots {
  readonly type: string;
  readonly snapshots?: readonly Snapshot[] | undefined;
}

/** What verifying needs of an engine, of whichever kind its sessions are. */
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

/** Whose gate it is. */
export interface VerifiedSession {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly hash: string;
  readonly head: { readonly workflowType: string; readonly target: string; readonly baseline?: number | undefined };
}

/** Which gate it is. */
export interface VerifiedPhase {
  readonly number: number;
  readonly gate: GateDefinition;
}
