/**
 * The file format of `export` and `import`: lines of JSON. The first line names the format. Each of the next has one commit
 * with its payloads; the commits of a session are together and in order. The last line has the counts and a digest of the
 * others, so that a truncated or changed file is noticed. A commit's body is a string, since its hash is made over the text.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import type { SessionKind } from "../phased/log-check.js";
import { type Commit, SESSION_STATUSES, type SessionSummary } from "../ports/storage-adapter.js";
import { ROUTED_SESSIONS } from "../routed/state/machine.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { RECORDED_SESSIONS } from "../workspace/session/machine.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** The version of the format. A change that older versions cannot read needs a new number, and a reader for this one. */
const LINES_FORMAT = 1;

/** The last line. */
export interface LinesEnd {
  readonly sessions: number;
  readonly commits: number;
  /** SHA-256 of all lines before it, line ends included. */
  readonly digest: string;
}

/** The keys of a summary in the order in which engines write them. */
const SUMMARY_ORDER = [
  ...(["sessionId", "kind", "workflowType", "target", "status", "current", "total"] as const),
  ...(["createdAt", "completedAt", "updatedAt", "activeSince"] as const),
];

const headerSchema = z.object({ phasegate: z.literal("sessions"), format: z.int().positive() });
const endSchema = z.object({ end: z.object({ sessions: z.int(), commits: z.int(), digest: z.string() }) });
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

/** Returns the first line. */
export function headerLine(): string {
  return `${JSON.stringify({ phasegate: "sessions", format: LINES_FORMAT })}\n`;
}

/** Returns the line of a commit. */
export function commitLine(commit: Commit): string {
  return `${JSON.stringify(bare(commit))}\n`;
}

/** Returns the last line. */
export function endLine(end: LinesEnd): string {
  return `${JSON.stringify({ end })}\n`;
}

/** Checks the first line. Throws `FORMAT_TOO_NEW`, or a failure if the file has another format. */
export function checkHeader(text: string): void {
  const header = headerSchema.safeParse(parse(text)).data;
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
  const value = parse(text);
  if (isCommit(value)) return { commit: bare(value) };
  return endSchema.safeParse(value).data;
}

/** Returns the failure for a file of which nothing is imported. */
export function notImported(line: number, message: string, hint: string): CommandFailure {
  return new CommandFailure(`line ${line}: ${message}; nothing was imported`, EXIT.problems, hint);
}

/** Returns a commit with only its own keys, always in the same order. */
function bare({ sessionId, version, at, schema, previousHash, hash, body, payloads, ...rest }: Commit): Commit {
  const summary = inOrder(rest.summary);
  const commit = { sessionId, version, at, schema, previousHash, hash, summary, body };
  return payloads === undefined ? commit : { ...commit, payloads };
}

/** Sorts the keys of a summary: storages may return them in any order, and equal sessions must give equal lines. */
function inOrder(summary: SessionSummary): SessionSummary {
  const known = SUMMARY_ORDER.filter((key) => Object.hasOwn(summary, key)).map((key) => [key, summary[key]]);
  return { ...Object.fromEntries(known), ...summary };
}

function isCommit(value: unknown): value is Commit {
  return commitSchema.safeParse(value).success;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A line of a file, without its line end. */
export interface Line {
  /** Its number, from 1. */
  readonly number: number;
  /** The offset of its first byte. */
  readonly offset: number;
  readonly data: Buffer;
  /** False if no line end follows: the file may be truncated within the line. */
  readonly ended: boolean;
}

/** The longest line, in bytes: a longer one could not be held as one string. */
const LINE_MAX = 400 * 1024 * 1024;
const NEWLINE = 10;

/** Splits a file into lines, starting at a position if one is given. */
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
