/**
 * The body of a commit and the hash chain. The hash of a commit is SHA-256 (with the host's key: an HMAC) over the previous
 * hash and the body, so that a change, a gap or a move in a log is detected. Payloads are in the body by their digest. The
 * summary is not covered by the hash, so it is checked against the body.
 */
import * as z from "zod/mini";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Commit, SessionSummary } from "../ports/storage-adapter.js";
import { ENTRY_WEIGHT, jsonWeight, RecentMap } from "../workflow/cache.js";
import { digest, keyedDigest } from "../workflow/json.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { type Keys, keysSchema, type Machine, upcast } from "./machine.js";

/** The state of a session after a commit. */
export interface Current<Head> {
  readonly sessionId: SessionId;
  /** The version of its last commit; 1 for the first one. */
  readonly version: number;
  /** The time of that commit: ISO 8601, UTC. */
  readonly at: string;
  readonly hash: string;
  /** The state after that commit. */
  readonly head: Head;
  /** The session as lists show it. */
  readonly summary: SessionSummary;
}

/** A commit, read and checked. */
export interface Recorded<Event, Head> extends Current<Head> {
  /** The events of the commit, in order. */
  readonly events: readonly Event[];
}

/** The result of a call; `replayed` if an earlier call with the same key led to it. */
export interface Executed<Event, Head> extends Recorded<Event, Head> {
  readonly replayed: boolean;
}

/** The newest commit of a session as it is cached: without its events, which may contain evidence. */
export interface Newest<Head> extends Current<Head> {
  /** The version of the format that its body has. */
  readonly schema: number;
  readonly keys: Keys;
  readonly body: string;
}

/** A commit that was read or made. */
export interface Made<Event, Head> {
  readonly newest: Newest<Head>;
  readonly events: readonly Event[];
}

const bodySchema = z.object({
  sessionId: z.custom<SessionId>(isSessionId),
  version: z.int().check(z.positive()),
  at: z.string(),
  /** The version of the format of events and head: under the hash, since it says how they are read. */
  schema: z.int().check(z.positive()),
  keys: z._default(keysSchema, []),
  events: z.readonly(z.array(z.unknown())),
  head: z.unknown(),
});

/** A body as it is read; the machine defines events and head. */
export type CommitBody = z.infer<typeof bodySchema>;

/** A body as it is written: without keys if there are none. */
export type WrittenBody = z.input<typeof bodySchema>;

export function commitHash(previousHash: string, body: string, hashKey?: Uint8Array): string {
  const text = `${previousHash}\n${body}`;
  return hashKey === undefined ? digest(text) : keyedDigest(hashKey, text);
}

/**
 * Checks the body of a stored commit against its hash and the commit's fields, and reads it.
 * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version wrote it.
 * @throws {PhasegateError} `TAMPERED` when it is not what was written.
 */
export function readBody(commit: Commit, schema: number, hashKey?: Uint8Array): CommitBody {
  if (commit.schema > schema) throw tooNew(commit.schema, schema);
  if (commitHash(commit.previousHash, commit.body, hashKey) !== commit.hash) {
    throw tampered(commit, "its hash is not that of its body");
  }
  const parsed = bodySchema.safeParse(parseJson(commit));
  if (!parsed.success) throw tampered(commit, "its body is not one that this library writes");
  const { sessionId, version, at } = parsed.data;
  if (parsed.data.schema !== commit.schema) throw tampered(commit, "its format is not the one that it was written in");
  if (sessionId !== commit.sessionId || version !== commit.version || at !== commit.at) {
    throw tampered(commit, "its body belongs to another place");
  }
  return parsed.data;
}

/** Returns true if a commit is not what was written. Any machine may have written it, in any format. */
export function isChanged(commit: Commit, hashKey?: Uint8Array): boolean {
  try {
    readBody(commit, commit.schema, hashKey);
    return false;
  } catch {
    return true; // the answer itself
  }
}

/**
 * Checks and reads a stored commit of a session, in any known format. The summary is computed from the head, since the
 * stored one is not covered by the hash.
 * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version wrote it.
 * @throws {PhasegateError} `TAMPERED` when it is not what was written.
 */
export function readCommit<Event, Head>(
  machine: Pick<Machine<never, Event, Head>, "kind" | "schema" | "upcasts" | "parse" | "summarize">,
  sessionId: SessionId,
  commit: Commit,
  hashKey?: Uint8Array,
): Made<Event, Head> {
  const { version, at, schema, hash, body } = commit;
  if (commit.sessionId !== sessionId) throw tampered({ sessionId, version }, "it belongs to another session");
  const { keys, ...stored } = readBody(commit, machine.schema, hashKey);
  const { events, head } = parse(machine, commit, stored);
  const summary = summaryOf(machine, { sessionId, head, at }, activeSinceOf(commit));
  return { newest: { sessionId, version, at, schema, hash, summary, body, keys, head: freeze(head) }, events };
}

/**
 * Checks and reads a single commit, including its summary.
 * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version wrote it.
 * @throws {PhasegateError} `TAMPERED` when it is not what was written.
 */
export function readWhole<Event, Head>(
  machine: Machine<never, Event, Head>,
  commit: Commit,
  hashKey: Uint8Array | undefined,
): Recorded<Event, Head> {
  const made = readCommit(machine, commit.sessionId, commit, hashKey);
  checkSummary(commit, made.newest.summary);
  return recordedOf(made);
}

export function recordedOf<Event, Head>({ newest, events }: Made<Event, Head>): Recorded<Event, Head> {
  const { sessionId, version, at, hash, head, summary } = newest;
  return { sessionId, version, at, hash, head, summary, events };
}

export function summaryOf<Head>(
  machine: Pick<Machine<never, never, Head>, "kind" | "summarize">,
  { sessionId, head, at }: Pick<Current<Head>, "sessionId" | "head" | "at">,
  activeSince: number,
): SessionSummary {
  return { ...machine.summarize(head), sessionId, kind: machine.kind, updatedAt: at, activeSince };
}

/** The fields that lists filter by and show: a wrong value would list a session in the wrong place. */
const LISTED_FIELDS = [
  ...(["kind", "workflowType", "target", "owner", "team"] as const),
  ...(["status", "current", "createdAt", "updatedAt"] as const),
] as const;
/** The fields that a summary may omit. */
const OPTIONAL_FIELDS = ["total", "completedAt"] as const;

/**
 * Checks a commit's stored summary against the one computed from its head.
 * @throws {PhasegateError} `TAMPERED` when they differ.
 */
export function checkSummary(commit: Commit, made: SessionSummary): void {
  const { summary } = commit;
  const differs =
    LISTED_FIELDS.some((field) => summary[field] !== made[field]) ||
    OPTIONAL_FIELDS.some((field) => summary[field] !== undefined && summary[field] !== made[field]);
  if (summary.sessionId !== made.sessionId || differs || summary.activeSince !== made.activeSince) {
    throw tampered(commit, "its summary is not that of its body");
  }
}

/**
 * Checks a payload against the digest in a commit.
 * @throws {PhasegateError} `TAMPERED` when it is missing or another one.
 */
export function checkPayload(
  place: { readonly sessionId: SessionId; readonly version: number },
  hash: string,
  text: string | undefined,
): asserts text is string {
  if (text === undefined) throw tampered(place, "a payload of it is missing");
  if (digest(text) !== hash) throw tampered(place, "a payload of it is not the one that was handed in");
}

export function tampered(
  place: { readonly sessionId: SessionId; readonly version: number },
  reason: string,
  cause?: unknown,
): PhasegateError<"TAMPERED"> {
  const { sessionId, version } = place;
  return new PhasegateError("TAMPERED", `commit ${version} of session ${sessionId} was changed: ${reason}`, {
    remedy: "Do not go on with this session: restore its log from a backup, or start a new one.",
    details: { sessionId, version, reason },
    cause,
  });
}

/** Freezes a value deeply: heads are cached and handed out, and a caller that changes one must not change the next decision. */
export function freeze<T>(value: T): T {
  // True for values that are not objects, too.
  if (Object.isFrozen(value)) return value;
  Object.freeze(value);
  // Most values inside are not objects: a call for each would take longer than the rest. So does `for … in` on an array.
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") freeze(item);
  } else {
    for (const key in value) if (typeof value[key] === "object") freeze(value[key]);
  }
  return value;
}

/** The position of a commit in the chain, kept outside the storage. It reveals a log whose end was cut off. */
export interface Receipt {
  /** The version of the newest commit. */
  readonly version: number;
  /** Its hash. */
  readonly hash: string;
}

/** The result of an audit. `versions` is the number of commits from the first one on that are intact. */
export type AuditReport =
  | { readonly intact: true; readonly versions: number; readonly receipt: Receipt }
  | { readonly intact: false; readonly versions: number; readonly reason: string };

/**
 * Reads a whole log and checks its chain, that it contains the receipt's commit, and that it reaches the version that the
 * store hints at. Only a receipt reveals that somebody removed the newest commits together with the hint.
 */
export async function audit(
  log: AsyncIterable<Recorded<unknown, unknown>>,
  receipt: Receipt | undefined,
  hinted: number,
): Promise<AuditReport> {
  let last: Receipt = { version: 0, hash: "" };
  let found = receipt === undefined;
  try {
    for await (const { version, hash } of log) {
      last = { version, hash };
      if (version === receipt?.version) found = hash === receipt.hash;
    }
  } catch (error) {
    // Only tampering is a finding. An unreadable store or a newer format says nothing about the log.
    if (!isPhasegateError(error, "TAMPERED")) throw error;
    return { intact: false, versions: last.version, reason: error.message };
  }
  if (!found) return { intact: false, versions: last.version, reason: "the commit of the receipt is not in the log" };
  const reason = shortened(last.version, hinted);
  if (reason !== undefined) return { intact: false, versions: last.version, reason };
  return { intact: true, versions: last.version, receipt: last };
}

/** Describes a log that ends before the version that the store hints at. */
export function shortened(newest: number, hinted: number): string | undefined {
  return hinted > newest ? `the store names commit ${hinted} as one of the session's, and it is missing` : undefined;
}

function tooNew(found: number, supported: number): PhasegateError<"FORMAT_TOO_NEW"> {
  return new PhasegateError("FORMAT_TOO_NEW", `this session was written in format ${found}; ${supported} is known`, {
    remedy: "Update phasegate to the version that wrote it.",
    details: { found, supported },
  });
}

function parseJson(commit: Commit): unknown {
  try {
    return JSON.parse(commit.body);
  } catch (cause) {
    throw tampered(commit, "its body is no JSON", cause);
  }
}

function parse<Event, Head>(
  machine: Pick<Machine<never, Event, Head>, "schema" | "upcasts" | "parse">,
  commit: Commit,
  stored: Pick<CommitBody, "events" | "head">,
) {
  try {
    const { events, head } = upcast(stored, commit.schema, machine.schema, machine.upcasts ?? {});
    return machine.parse(events, head);
  } catch (cause) {
    throw tampered(commit, "phasegate does not write such events", cause);
  }
}

/** `activeSince` is not in the body, so a value that can't be a version up to this one is replaced. */
function activeSinceOf({ version, summary: { activeSince } }: Commit): number {
  return Number.isInteger(activeSince) && activeSince >= 1 ? Math.min(activeSince, version) : version;
}

/** The value of a fold, and the last commit in it. */
interface Folded<T> {
  readonly upTo: Receipt;
  readonly value: T;
}

/** Limits the values that are cached, in characters. The part that a commit adds, a name or a place, is estimated. */
const FOLDS_WEIGHT = 32 * 1024 * 1024;
const COMMIT_WEIGHT = 64;
/** The highest weight of the commits: the value of a long log, which takes longest to compute, is cached, too. */
const COMMITS_WEIGHT_MAX = FOLDS_WEIGHT / 8;

/** The place of a commit in all logs. */
export type Place = Receipt & { readonly sessionId: SessionId };

interface LogReader<Event, Head> {
  logTo(place: Place, after?: Receipt): AsyncIterable<Recorded<Event, Head>>;
}

/** Folds the log of a session, commit by commit, and caches the result: only commits that were added are read. */
export class LogFold<Event, Head, T> {
  readonly #kernel: LogReader<Event, Head>;
  readonly #beginning: T;
  readonly #add: (value: T, commit: Recorded<Event, Head>) => T | Promise<T>;
  readonly #from: (place: Place) => Promise<Receipt | undefined>;
  readonly #kept: RecentMap<SessionId, Folded<T>>;

  /**
   * `add` returns a new value and does not change the old one. `keptIn` returns the parts of a session, beside names and
   * places, that a value keeps: they add to its weight. `from` returns the commit behind which it begins, for a value that needs
   * only the last ones.
   */
  constructor(
    kernel: LogReader<Event, Head>,
    beginning: T,
    add: (value: T, commit: Recorded<Event, Head>) => T | Promise<T>,
    keptIn: (value: T) => readonly object[] = () => [],
    from: (place: Place) => Promise<Receipt | undefined> = async () => undefined,
  ) {
    this.#kernel = kernel;
    this.#beginning = beginning;
    this.#add = add;
    this.#from = from;
    this.#kept = new RecentMap(FOLDS_WEIGHT, ({ upTo, value }) => {
      const ofCommits = ENTRY_WEIGHT + Math.min(COMMIT_WEIGHT * upTo.version, COMMITS_WEIGHT_MAX);
      return keptIn(value).reduce((sum: number, part) => sum + jsonWeight(part), ofCommits);
    });
  }

  /**
   * Returns the value at this version of a session.
   * @throws {PhasegateError} `TAMPERED` when the log does not lead to this commit.
   */
  async at({ sessionId, version, hash }: Pick<Current<Head>, "sessionId" | "version" | "hash">): Promise<T> {
    const kept = this.#kept.get(sessionId);
    if (kept?.upTo.hash === hash) return kept.value;
    const place = { sessionId, version, hash };
    // A log that was restored from a backup may have gone on in another way.
    const added = kept === undefined ? undefined : await this.#added(kept, place);
    const folded = added ?? (await this.#fold({ upTo: await this.#from(place), value: this.#beginning }, place));
    this.#kept.set(sessionId, folded);
    return folded.value;
  }

  /** Adds the commits after a value; undefined if they do not follow it. */
  async #added(kept: Folded<T>, place: Place): Promise<Folded<T> | undefined> {
    try {
      return await this.#fold(kept, place);
    } catch (error) {
      if (!isPhasegateError(error, "TAMPERED")) throw error;
      return undefined;
    }
  }

  async #fold({ upTo, value }: { upTo: Receipt | undefined; value: T }, place: Place): Promise<Folded<T>> {
    for await (const commit of this.#kernel.logTo(place, upTo)) {
      value = await this.#add(value, commit);
      upTo = { version: commit.version, hash: commit.hash };
    }
    // Otherwise the value lacks the last commits.
    if (upTo?.hash !== place.hash) throw tampered(place, "its log does not lead to it");
    return { upTo, value };
  }
}
