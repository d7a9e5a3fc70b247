/**
 * Checks logs before they are copied or imported: each commit must be intact and follow the one before it.
 * What is wrong with one session is a refusal of that session; anything else is an error of the whole copy.
 */
import { type ErrorCode, isPhasegateError } from "../errors.js";
import { checkPayload, checkSummary, type Receipt, readCommit, shortened, tampered } from "../log/commit.js";
import type { Machine } from "../log/machine.js";
import type { Commit, Payload, StorageAdapter } from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";
import { phasedMachine } from "./state/machine.js";

/** Why a session's log is not copied. */
export type RefusalReason =
  /** The log is not what was written, or a newer version of this library has written it. */
  | "unreadable"
  /** It is a kind of session that this library doesn't know. */
  | "unknown_kind"
  /** The target has another session under the same id. */
  | "differs"
  /** The target has the whole log, and has gone on with it. */
  | "ahead"
  /** The target had a session of that id, and it was removed: no id is used twice. */
  | "removed"
  /** There is no such session; if the target has its beginning, it was removed while it was copied. */
  | "not_found"
  /** The target takes no commit of that size or form. */
  | "not_taken";

/** A session's log that is not copied; the others are. */
export class LogRefusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "LogRefusal";
    this.reason = reason;
  }
}

/** A kind of session, for checking its logs. */
export interface SessionKind {
  /** Its name in summaries: `phased`, `routed`. */
  readonly name: string;
  /**
   * Checks that a commit is what was written, and gives the digests of the payloads that it names. Throws `TAMPERED` or
   * `FORMAT_TOO_NEW`.
   */
  check(sessionId: SessionId, commit: Commit, hashKey: Uint8Array | undefined): readonly string[];
}

const PHASED = sessionKind(phasedMachine);

/**
 * Checks that a commit is intact and follows the one before it; returns the digests of its payloads. Throws
 * `TAMPERED` or `FORMAT_TOO_NEW`, and a {@link LogRefusal} for an unknown kind of session.
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
 * Returns the version of a session's newest commit, after checking that none was cut off; 0 if there is no
 * such session. Throws `TAMPERED`.
 */
export async function newestVersion(storage: StorageAdapter, sessionId: SessionId): Promise<number> {
  // Read before the log: a commit that is appended meanwhile must not look missing.
  const hinted = (await storage.hint?.(sessionId)) ?? 0;
  const version = (await storage.read(sessionId))?.version ?? 0;
  const reason = version === 0 ? undefined : shortened(version, hinted);
  if (reason !== undefined) throw tampered({ sessionId, version: hinted }, reason);
  return version;
}

/** Returns a commit with the texts of all its payloads, each checked against its digest. */
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

const REASONS: Readonly<Partial<Record<ErrorCode, RefusalReason>>> = {
  TAMPERED: "unreadable",
  FORMAT_TOO_NEW: "unreadable",
  TOO_LARGE: "not_taken",
  INVALID_INPUT: "not_taken",
};

/** Returns the refusal of one session; throws any other error, which concerns all of them. */
export function asRefusal(error: unknown): LogRefusal {
  if (error instanceof LogRefusal) return error;
  const reason = isPhasegateError(error) ? REASONS[error.code] : undefined;
  if (reason === undefined || !(error instanceof Error)) throw error;
  return new LogRefusal(reason, error.message, { cause: error });
}

/** Returns the kind of a machine's sessions. */
export function sessionKind<Event, Head>(machine: Machine<never, Event, Head>): SessionKind {
  return {
    name: machine.kind,
    check(sessionId, commit, hashKey) {
      const { newest, events } = readCommit(machine, sessionId, commit, hashKey);
      checkSummary(commit, newest.summary);
      return events.flatMap((event) => machine.payloadsOf(event));
    },
  };
}
