/**
 * `phasegate export`: writes the logs of sessions as lines of JSON, which `import` reads. The first line names the format.
 * Each of the next has one commit with its payloads; the commits of a session are together and in order. The last line has
 * the counts and a digest of the others, so that a truncated or changed file is noticed. A commit's body is a string, since
 * its hash is made over the text.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { errnoOf, PhasegateError } from "../errors.js";
import {
  asRefusal,
  checkCommit,
  LogRefusal,
  newestVersion,
  type SessionKind,
  withPayloads,
} from "../phased/log-check.js";
import { chosenSessions, type SessionChoice, unlistedSessions } from "../phased/log-copy.js";
import { type Commit, SESSION_STATUSES, type SessionSummary, type StorageAdapter } from "../ports/storage-adapter.js";
import { ROUTED_SESSIONS } from "../routed/state/machine.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { RECORDED_SESSIONS } from "../workspace/session/machine.js";
import { command, required, text } from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { choiceOf, filterOptions, jsonIn, stateOption } from "./options.js";
import { sessionMeant } from "./session-id.js";
import { withState } from "./state.js";
import { counted, printable } from "./terminal.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

const HELP = `
Each line is JSON: one commit with its payloads. The last line has a digest of the others, so that a truncated file
is noticed. The file contains all evidence: protect it like the state. A filter takes a session without its children,
unless they match it, too. A session whose log is damaged is skipped and listed, and the exit code is 1.`;

export const exportCommand = command({
  name: "export",
  description: "Writes the complete logs of sessions, which are checked first, as lines of JSON.",
  options: {
    state: required(stateOption()),
    out: text("--out <file>", "file to create; stdout if not given"),
    ...filterOptions(),
    hashKeyFile: hashKeyOption(),
  },
  help: HELP,
  async run(options, { stdout, stderr }) {
    const { hashKey } = await readHashKey(options);
    const tell = (line: string) => void stderr.write(`${printable(line)}\n`);
    let [refused, unreadable] = [0, 0];
    await withState(options.state, async (storage) => {
      const lines = exportLines(storage, {
        ...(await choiceOf(options, (given) => sessionMeant(storage, given))),
        hashKey: hashKey === undefined ? undefined : utf8ToBytes(hashKey),
        onRefused: (sessionId, { message, reason }) => {
          refused += 1;
          if (reason === "unreadable") unreadable += 1;
          tell(`session ${sessionId} was skipped: ${message}`);
        },
        onEnd: ({ sessions, commits }) =>
          tell(`exported ${counted(sessions, "session")}, ${counted(commits, "commit")}`),
      });
      await (options.out === undefined ? writeToStream(lines, stdout) : writeToFile(lines, options.out));
    });
    if (unreadable > 0 && hashKey === undefined) tell(KEY_HINT);
    return refused === 0 ? EXIT.ok : EXIT.problems;
  },
});

interface ExportSelection extends SessionChoice {
  readonly hashKey?: Uint8Array;
  readonly onRefused: (sessionId: SessionId, refusal: LogRefusal) => void;
  /** Called after the last line. */
  readonly onEnd: (counts: { readonly sessions: number; readonly commits: number }) => void;
}

/** Each log is read twice, so that a damaged one is refused before any of it is written. */
export async function* exportLines(storage: StorageAdapter, options: ExportSelection): AsyncGenerator<string> {
  const digest = createHash("sha256");
  let [sessions, commits] = [0, 0];
  const hashed = (text: string) => {
    digest.update(text);
    return text;
  };
  yield hashed(lineOf({ phasegate: "sessions", format: LINES_FORMAT }));
  for await (const sessionId of chosenSessions(storage, options)) {
    const newest = await lastOf(storage, sessionId, options.hashKey).catch(asRefusal);
    if (newest instanceof LogRefusal) {
      options.onRefused(sessionId, newest);
      continue;
    }
    let version = 0;
    for await (const commit of checkedLog(storage, sessionId, options.hashKey, newest.version)) {
      ({ version } = commit);
      commits += 1;
      yield hashed(lineOf(bare(commit)));
    }
    // A session counts as soon as it has a line in the file.
    if (version > 0) sessions += 1;
    if (version < newest.version) {
      const there = version === 0 ? "" : `; the export has its first ${version} commits`;
      options.onRefused(sessionId, new LogRefusal("not_found", `it was removed during the export${there}`));
    }
  }
  for await (const [id, refusal] of unlistedSessions(storage, options)) options.onRefused(id, refusal);
  yield lineOf({ end: { sessions, commits, digest: digest.digest("hex") } });
  options.onEnd({ sessions, commits });
}

export async function* checkedLog(
  storage: StorageAdapter,
  sessionId: SessionId,
  hashKey: Uint8Array | undefined,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Commit> {
  let previous: Commit | undefined;
  for await (const commit of storage.log(sessionId, { limit })) {
    const hashes = checkCommit(sessionId, commit, previous, hashKey, KINDS);
    yield withPayloads(commit, hashes, (id, hash) => storage.payload(id, hash));
    previous = commit;
  }
}

/** Checks a session's whole log, and returns its newest commit. */
async function lastOf(storage: StorageAdapter, sessionId: SessionId, hashKey: Uint8Array | undefined): Promise<Commit> {
  await newestVersion(storage, sessionId);
  let last: Commit | undefined;
  for await (const commit of checkedLog(storage, sessionId, hashKey)) last = commit;
  if (last !== undefined) return last;
  throw new LogRefusal("not_found", "there is no such session");
}

async function writeToStream(lines: AsyncIterable<string>, stream: Writable): Promise<void> {
  for await (const line of lines) {
    if (stream.destroyed) return;
    if (!stream.write(line) && !(await acceptsMore(stream))) return;
  }
}

/** Returns false if the reader has gone, which is no failure: `phasegate export | head`. */
async function acceptsMore(stream: Writable): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const drained = once(stream, "drain", { signal }).then(() => true);
  const closed = once(stream, "close", { signal }).then(() => false);
  try {
    return await Promise.race([drained, closed]);
  } catch (error) {
    if (errnoOf(error) === "EPIPE") return false;
    throw error;
  } finally {
    // Removes the listeners of both.
    waiting.abort();
  }
}

/** Only the owner can read the file. If writing fails, the file is removed. */
export async function writeToFile(lines: Iterable<string> | AsyncIterable<string>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    const exists = errnoOf(cause) === "EEXIST";
    const message = exists ? `${path} already exists, and was not changed` : `${path} can't be written`;
    const hint = exists ? "Name a new file." : "Name a file in a folder that you may write to.";
    throw new CommandFailure(message, EXIT.environment, hint, { cause });
  });
  try {
    for await (const line of lines) await file.writeFile(line);
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(path, { force: true });
    throw error;
  }
}

/** The version of the format. A change that older versions cannot read needs a new number, and a reader for this one. */
const LINES_FORMAT = 1;

/** The keys of a summary in the order in which engines write them. */
const SUMMARY_ORDER = [
  ...(["sessionId", "kind", "workflowType", "target", "status", "current", "total"] as const),
  ...(["createdAt", "completedAt", "updatedAt", "activeSince"] as const),
];

const headerSchema = z.object({ phasegate: z.literal("sessions"), format: z.int().positive() });
/** The digest is SHA-256 of all lines before it, line ends included. */
const endSchema = z.object({ end: z.object({ sessions: z.int(), commits: z.int(), digest: z.string() }) });
export type LinesEnd = z.infer<typeof endSchema>["end"];
const sessionIdSchema = z.custom<SessionId>(isSessionId);
const commitSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int().positive(),
  at: z.string(),
  schema: z.int().positive(),
  previousHash: z.string(),
  hash: z.string(),
  summary: z.object({
    sessionId: sessionIdSchema,
    kind: z.string(),
    workflowType: z.string(),
    target: z.string(),
    status: z.enum(SESSION_STATUSES),
    current: z.union([z.number(), z.string()]),
    createdAt: z.string(),
    updatedAt: z.string(),
    activeSince: z.int(),
  }),
  body: z.string(),
  payloads: z.array(z.object({ hash: z.string(), body: z.string() })).optional(),
});

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Throws `FORMAT_TOO_NEW`, or a failure if the file has another format. */
export function checkHeader(text: string): void {
  const header = headerSchema.safeParse(jsonIn(text)).data;
  if (header === undefined) {
    throw notImported(1, "this is not a file of sessions", "Name a file that `phasegate export` has written.");
  }
  if (header.format <= LINES_FORMAT) return;
  throw new PhasegateError("FORMAT_TOO_NEW", `the file has format ${header.format}, and ${LINES_FORMAT} is supported`, {
    remedy: "Update phasegate to the version that wrote it.",
    details: { found: header.format, supported: LINES_FORMAT },
  });
}

/** Reads a line after the first. Returns undefined if it is neither a commit nor the end. Unknown keys of a summary stay. */
export function readLine(text: string): { readonly commit: Commit } | { readonly end: LinesEnd } | undefined {
  const value = jsonIn(text);
  // Only checked: a schema's output has no unknown keys.
  if (isCommit(value)) return { commit: bare(value) };
  return endSchema.safeParse(value).data;
}

export function notImported(line: number, message: string, hint: string): CommandFailure {
  return new CommandFailure(`line ${line}: ${message}; nothing was imported`, EXIT.problems, hint);
}

/** Returns a commit with only its own keys, always in the same order. */
function bare({ sessionId, version, at, schema, previousHash, hash, body, payloads, ...rest }: Commit): Commit {
  const summary = inOrder(rest.summary);
  return { sessionId, version, at, schema, previousHash, hash, summary, body, ...(payloads && { payloads }) };
}

/** Sorts the keys of a summary: storages may return them in any order, and equal sessions must give equal lines. */
function inOrder(summary: SessionSummary): SessionSummary {
  const known = SUMMARY_ORDER.filter((key) => Object.hasOwn(summary, key)).map((key) => [key, summary[key]]);
  return { ...Object.fromEntries(known), ...summary };
}

function isCommit(value: unknown): value is Commit {
  return commitSchema.safeParse(value).success;
}

export interface Line {
  readonly number: number;
  readonly offset: number;
  readonly data: Buffer;
  /** False if no line end follows: the file may be truncated within the line. */
  readonly ended: boolean;
}

/** The longest line, in bytes: a longer one could not be held as one string. */
const LINE_MAX = 400 * 1024 * 1024;
const NEWLINE = 10;

export async function* splitLines(
  input: AsyncIterable<Buffer>,
  { offset, number }: Pick<Line, "offset" | "number"> = { offset: 0, number: 1 },
): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  const line = (ended: boolean): Line => ({ number, offset, data: Buffer.concat(parts), ended });
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, at));
      size += at - from;
      yield line(true);
      offset += size + 1;
      number += 1;
      [parts, size, from] = [[], 0, at + 1];
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > LINE_MAX)
      throw notImported(number, "the line is too long", "Name a file that `phasegate export` wrote.");
  }
  if (size > 0) yield line(false);
}

/** The kinds of sessions that can be copied, in addition to phased ones. */
export const KINDS: readonly SessionKind[] = [ROUTED_SESSIONS, RECORDED_SESSIONS];
