import type { SessionId } from "../../definition/names.js";
import { type Receipt, shortened } from "../../kernel/audit.js";
import { checkPayload, tampered } from "../../kernel/commit-body.js";
import type { Commit, Payload, StorageAdapter } from "../../ports/storage-adapter.js";
import { phasedMachine } from "../phased-machine.js";
import { LogRefusal } from "./log-refusal.js";
import { type SessionKind, sessionKind } from "./session-kind.js";

const PHASED = sessionKind(phasedMachine);

/**
 * Checks that a commit is what was written, and that it follows the one before it; gives the digests of the payloads that
 * it names. Throws `TAMPERED` or `FORMAT_TOO_NEW`, and a {@link LogRefusal} for a kind of session that isn't known here.
 */
export function checkCommit(
  sessionId: SessionId,
  commit: Commit,
  previous: Receipt | undefined,
  hashKey: Uint8Array | undefined,
  kinds: readonly SessionKind[] = [],
): readonly string[] {
  const { version, previousHash, summary } = commit;
  if (version !== (previous?.version ?? 0) + 1 || previousHash !== (previous?.hash ?? "")) {
    throw tampered({ sessionId, version }, "it does not follow the one before it");
  }
  const { kind } = summary;
  const known = [PHASED, ...kinds].find(({ name }) => name === kind);
  if (known !== undefined) return known.check(sessionId, commit, hashKey);
  throw new LogRefusal("unknown_kind", `sessions of the kind ${kind} can't be read here`);
}

/**
 * Reads the version of the newest commit of a session, of which nothing may have been cut off; 0 if there is no such session.
 * Throws `TAMPERED`.
 */
export async function newestVersion(storage: StorageAdapter, sessionId: SessionId): Promise<number> {
  // Asked first: a commit that is made meanwhile is in the log then, and not before it.
  const hinted = (await storage.hint?.(sessionId)) ?? 0;
  const version = (await storage.read(sessionId))?.version ?? 0;
  const reason = version === 0 ? undefined : shortened(version, hinted);
  if (reason !== undefined) throw tampered({ sessionId, version: hinted }, reason);
  return version;
}

/** A commit with the texts of all payloads that it names, each checked against its digest. */
export async function withPayloads(
  commit: Commit,
  hashes: readonly string[],
  read: (id: SessionId, hash: string) => Promise<string | undefined>,
): Promise<Commit> {
  const { payloads: given = [], ...bare } = commit;
  const payloads: Payload[] = [];
  for (const hash of new Set(hashes)) {
    const body = given.find((payload) => payload.hash === hash)?.body ?? (await read(commit.sessionId, hash));
    checkPayload(commit, hash, body);
    payloads.push({ hash, body });
  }
  return payloads.length === 0 ? bare : { ...bare, payloads };
}
