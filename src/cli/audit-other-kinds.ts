import { utf8ToBytes } from "@noble/hashes/utils.js";
import { parseSessionId } from "../definition/names.js";
import type { SessionAudit } from "../engine/approval/audit-session.js";
import type { EngineOptions } from "../engine/options.js";
import type { Receipt } from "../kernel/audit.js";
import { Kernel } from "../kernel/kernel.js";
import type { Machine } from "../kernel/machine.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { routedMachine } from "../routed/session/routed-machine.js";
import { recordedMachine } from "../workspace/session/recorded-machine.js";
import { openState } from "./open-state.js";

/** Checks the log of a session that is no phased one; undefined for those that are, and where there is none. */
export async function auditOtherKinds(
  state: string,
  { hashKey }: Pick<EngineOptions, "hashKey">,
  sessionId: string,
  receipt: Receipt | undefined,
): Promise<SessionAudit | undefined> {
  const storage = await openState(state);
  try {
    const id = parseSessionId(sessionId);
    // Which kind it is stands where no hash covers it: under another kind's machine, a log is none that holds together.
    const kind = (await storage.read(id))?.summary.kind;
    const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
    if (kind === routedMachine.kind) return await audited(storage, routedMachine, key, id, receipt);
    if (kind === recordedMachine.kind) return await audited(storage, recordedMachine, key, id, receipt);
    return undefined;
  } finally {
    await storage.close?.();
  }
}

async function audited<Command, Event, Head>(
  storage: StorageAdapter,
  machine: Machine<Command, Event, Head>,
  hashKey: Uint8Array | undefined,
  id: ReturnType<typeof parseSessionId>,
  receipt: Receipt | undefined,
): Promise<SessionAudit> {
  const clock = { now: () => Date.now() };
  const kernel = new Kernel({ storage, machine, clock, ...(hashKey === undefined ? {} : { hashKey }) });
  return { ...(await kernel.audit(id, receipt)), approvals: [] };
}
