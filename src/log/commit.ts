/**
 * What stands in a commit's body, and how it is bound to the one before: the hash of a commit is
 * SHA-256 (an HMAC with the host's key) over the previous hash and the body, so nothing in a log
 * can be changed, left out or moved without it showing. Payloads stand in the body by their digest.
 */
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Commit, SessionSummary } from "../ports/storage-adapter.js";
import { digest, keyedDigest } from "../workflow/json.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { type Keys, keysSchema, type Machine, upcast } from "./machine.js";

const bodySchema = z.object({
  sessionId: z.custom<SessionId>(isSessionId),
  version: z.int().positive(),
  at: z.string(),
  /** The version of the format of events and head: under the hash, since it says how they are read. */
  schema: z.int().positive(),
  keys: keysSchema,
  events: z.array(z.unknown()).readonly(),
  head: z.unknown(),
});

/** A body as it is written; events and head are the machine's. */
export type CommitBody = z.infer<typeof bodySchema>;

/** The hash of a commit with that body after the one with that hash. */
export function commitHash(previousHash: string, body: string, hashKey?: Uint8Array): string {
  const text = `${previousHash}\n${body}`;
  return hashKey === undefined ? digest(text) : keyedDigest(hashKey, text);
}

/**
 * Checks a commit that comes out of a store against its hash and its own words, and reads its body.
 * Throws `FORMAT_TOO_NEW` or `TAMPERED`.
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

/** The log of a session is not what was written. */
export function tampered(
  place: { readonly sessionId: SessionId; readonly version: number },
  reason: string,
): PhasegateError<"TAMPERED"> {
  return new PhasegateError(
    "TAMPERED",
    `commit ${place.version} of session ${place.sessionId} was changed: ${reason}`,
    {
      remedy: "Do not go on with this session: restore its log from a backup, or start a new one.",
      details: { sessionId: place.sessionId, version: place.version, reason },
    },
  );
}

/** Checks a payload against the digest that stands in a commit. Throws `TAMPERED`. */
export function checkPayload(
  place: { readonly sessionId: SessionId; readonly version: number },
  hash: string,
  text: string | undefined,
): asserts text is string {
  if (text === undefined) throw tampered(place, "a payload of it is missing");
  if (digest(text) !== hash) throw tampered(place, "a payload of it is not the one that was handed in");
}

function parseJson(commit: Commit): unknown {
  try {
    return JSON.parse(commit.body);
  } catch (cause) {
    throw new PhasegateError("TAMPERED", `commit ${commit.version} of session ${commit.sessionId} is no JSON`, {
      remedy: "Do not go on with this session: restore its log from a backup, or start a new one.",
      details: { sessionId: commit.sessionId, version: commit.version, reason: "its body is no JSON" },
      cause,
    });
  }
}

function tooNew(found: number, supported: number): PhasegateError<"FORMAT_TOO_NEW"> {
  return new PhasegateError("FORMAT_TOO_NEW", `this session was written in format ${found}; ${supported} is known`, {
    remedy: "Update phasegate to the version that wrote it.",
    details: { found, supported },
  });
}

/** What is kept of a session's newest commit; not the events, which may hold evidence. */
export interface Newest<Head> extends Current<Head> {
  readonly keys: Keys;
  readonly body: string;
}

/** A commit that was read or made: what is kept of it, and what happened in it. */
export interface Made<Event, Head> {
  readonly newest: Newest<Head>;
  readonly events: readonly Event[];
}

/**
 * Checks a commit of a session that comes out of a store, and reads it, from whatever format it was written in. Throws
 * `TAMPERED` or `FORMAT_TOO_NEW`. The summary is made anew: the one beside the body is for lists, and no hash covers it.
 */
export function readCommit<Event, Head>(
  machine: Pick<Machine<never, Event, Head>, "kind" | "schema" | "upcasts" | "parse" | "summarize">,
  sessionId: SessionId,
  commit: Commit,
  hashKey?: Uint8Array,
): Made<Event, Head> {
  const { version, at, hash, body } = commit;
  if (commit.sessionId !== sessionId) throw tampered({ sessionId, version }, "it belongs to another session");
  const { keys, ...stored } = readBody(commit, machine.schema, hashKey);
  const { events, head } = parse(machine, commit, stored);
  const summary = summaryOf(machine, { sessionId, head, at }, activeSinceOf(commit));
  return { newest: { sessionId, version, at, hash, summary, body, keys, head: freeze(head) }, events };
}

/** What a list shows of a session that stands so. */
export function summaryOf<Head>(
  machine: Pick<Machine<never, never, Head>, "kind" | "summarize">,
  { sessionId, head, at }: Pick<Current<Head>, "sessionId" | "head" | "at">,
  activeSince: number,
): SessionSummary {
  return { sessionId, kind: machine.kind, ...machine.summarize(head), updatedAt: at, activeSince };
}

/** Since which version a session is active stands in no body: what can't be a version before this one is not gone by. */
function activeSinceOf({ version, summary: { activeSince } }: Commit): number {
  return Number.isInteger(activeSince) && activeSince >= 1 && activeSince <= version ? activeSince : version;
}

/** What lists filter on and show: a summary that lies in one of these would show a session in the wrong place. */
const LISTED = ["kind", "workflowType", "target", "status", "current", "createdAt", "updatedAt"] as const;
/** What a summary may leave out. */
const OPTIONAL = ["total", "completedAt"] as const;

/**
 * Checks the summary beside a commit's body against the one that was made of the head in it: no hash covers the one beside
 * the body, and lists filter by it. Throws `TAMPERED`.
 */
export function checkSummary(commit: Commit, made: SessionSummary): void {
  const { summary } = commit;
  const differs =
    LISTED.some((field) => summary[field] !== made[field]) ||
    OPTIONAL.some((field) => summary[field] !== undefined && summary[field] !== made[field]);
  if (summary.sessionId !== made.sessionId || differs || summary.activeSince !== made.activeSince) {
    throw tampered(commit, "its summary is not that of its body");
  }
}

/** A commit as it is handed out. */
export function recordedOf<Event, Head>({ newest, events }: Made<Event, Head>): Recorded<Event, Head> {
  const { sessionId, version, at, hash, head, summary } = newest;
  return { sessionId, version, at, hash, head, summary, events };
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
    const error = tampered(commit, "its events are none that this library writes");
    error.cause = cause;
    throw error;
  }
}

/** Checks and reads a commit that comes by itself, with its summary. Throws `TAMPERED` or `FORMAT_TOO_NEW`. */
export function readWhole<Event, Head>(
  machine: Machine<never, Event, Head>,
  commit: Commit,
  hashKey: Uint8Array | undefined,
): Recorded<Event, Head> {
  const made = readCommit(machine, commit.sessionId, commit, hashKey);
  checkSummary(commit, made.newest.summary);
  return recordedOf(made);
}

/** Where a session stands after a commit. */
export interface Current<Head> {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly at: string;
  readonly hash: string;
  readonly head: Head;
  readonly summary: SessionSummary;
}

/** A commit, read and checked. */
export interface Recorded<Event, Head> extends Current<Head> {
  readonly events: readonly Event[];
}

/** What a call led to; `replayed` if an earlier call with the same key did it. */
export interface Executed<Event, Head> extends Recorded<Event, Head> {
  readonly replayed: boolean;
}

/**
 * Freezes a value with all that is in it: heads are kept between calls and handed out, and whoever
 * changes one must not change what the next decision is made on.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inside of Object.values(value)) if (typeof inside === "object") freeze(inside);
  return value;
}

/** A commit's place in the chain, kept by somebody else: it shows a log whose tail was cut. */
export interface Receipt {
  readonly version: number;
  readonly hash: string;
}

/** What an audit found. `versions` is how many commits hold together from the first on. */
export type AuditReport =
  | { readonly intact: true; readonly versions: number; readonly receipt: Receipt }
  | { readonly intact: false; readonly versions: number; readonly reason: string };

/**
 * Reads a whole log and checks its chain, that a receipt's commit is in it, and that it reaches as far as the store
 * hints. Whoever takes the newest commits away with the hint leaves a shorter log that holds together: only a receipt
 * shows that.
 */
export async function audit(
  log: AsyncIterable<Recorded<unknown, unknown>>,
  receipt?: Receipt,
  hinted = 0,
): Promise<AuditReport> {
  let last: Receipt = { version: 0, hash: "" };
  let found = receipt === undefined;
  try {
    for await (const { version, hash } of log) {
      last = { version, hash };
      if (version === receipt?.version) found = hash === receipt.hash;
    }
  } catch (error) {
    // Only tampering is a finding; a store that can't be read, or a newer format, says nothing of the log.
    if (!isPhasegateError(error, "TAMPERED")) throw error;
    return { intact: false, versions: last.version, reason: error.message };
  }
  if (!found) return { intact: false, versions: last.version, reason: "the commit of the receipt is not in the log" };
  const reason = shortened(last.version, hinted);
  if (reason !== undefined) return { intact: false, versions: last.version, reason };
  return { intact: true, versions: last.version, receipt: last };
}

/** What is wrong with a log that ends with a version although the store hints at a later one; undefined if nothing is. */
export function shortened(newest: number, hinted: number): string | undefined {
  return hinted > newest ? `the store names commit ${hinted} as one of the session's, and it is missing` : undefined;
}
