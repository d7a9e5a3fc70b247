/**
 * Sessions as lines of JSON. The first line names the format; then comes one commit a line, with its payloads, each
 * session's together and in order; the last one counts them, and has a digest of all that comes before it, so that a file
 * that was cut or changed on the way is noticed. A body is a text in it, as the hash was made over it; JSON escapes what
 * UTF-8 has no place for.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import type { SessionKind } from "../phased/log-check.js";
import { type Commit, SESSION_STATUSES, type SessionSummary } from "../ports/storage-adapter.js";
import { ROUTED_SESSIONS } from "../routed/state/machine.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { RECORDED_SESSIONS } from "../workspace/session/machine.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** The version of the format. A change that an older version can't read needs a new one, and a reader for this one. */
const LINES_FORMAT = 1;

/** What the last line says. */
export interface LinesEnd {
  readonly sessions: number;
  readonly commits: number;
  /** SHA-256 of all lines before it, line ends included. */
  readonly digest: string;
}

/** As engines make them. */
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

/** The first line. */
export function headerLine(): string {
  return `${JSON.stringify({ phasegate: "sessions", format: LINES_FORMAT })}\n`;
}

/** A commit's line. */
export function commitLine(commit: Commit): string {
  return `${JSON.stringify(bare(commit))}\n`;
}

/** The last line. */
export function endLine(end: LinesEnd): string {
  return `${JSON.stringify({ end })}\n`;
}

/** Checks the first line. Throws `FORMAT_TOO_NEW`, or a failure if it is none. */
export function checkHeader(text: string): void {
  const header = headerSchema.safeParse(parse(text)).data;
  if (header === undefined) {
    throw notImported(1, "this is no file of sessions", "Name a file that `phasegate export` has written.");
  }
  if (header.format <= LINES_FORMAT) return;
  throw new PhasegateError("FORMAT_TOO_NEW", `the file has format ${header.format}, and ${LINES_FORMAT} is supported`, {
    remedy: "Update phasegate to the version that wrote it.",
    details: { found: header.format, supported: LINES_FORMAT },
  });
}

/** Reads any line after the first; undefined if it is neither a commit nor an end. What a summary has more stays. */
export function readLine(text: string): { readonly commit: Commit } | { readonly end: LinesEnd } | undefined {
  const value = parse(text);
  if (isCommit(value)) return { commit: bare(value) };
  return endSchema.safeParse(value).data;
}

/** A file that is not imported at all: nothing of it is believed. */
export function notImported(line: number, message: string, hint: string): CommandFailure {
  return new CommandFailure(`line ${line}: ${message}; nothing was imported`, EXIT.problems, hint);
}

/** A commit with what belongs to it alone, in an order that is always the same. */
function bare({ sessionId, version, at, schema, previousHash, hash, body, payloads, ...rest }: Commit): Commit {
  const summary = inOrder(rest.summary);
  const commit = { sessionId, version, at, schema, previousHash, hash, summary, body };
  return payloads === undefined ? commit : { ...commit, payloads };
}

/** A storage may make summaries out of columns: the same sessions are the same lines, wherever they come from. */
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

/** A line of a file, without its end. */
export interface Line {
  /** 1 for the first. */
  readonly number: number;
  /** The byte at which it begins. */
  readonly offset: number;
  readonly data: Buffer;
  /** Whether a line end came after it: if not, the file may have been cut within it. */
  readonly ended: boolean;
}

/** Longer ones are no commits: a text of them could not be held. */
const LINE_MAX = 400 * 1024 * 1024;
const NEWLINE = 10;

/** A file's lines, one at a time; from a place on, if one is given. */
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
    if (size > LINE_MAX) throw notImported(number, "the line has no end", "Name a file that `phasegate export` wrote.");
  }
  if (size > 0) yield line(false);
}

/** The kinds of sessions that this bin can move, beside phased ones. */
export const KINDS: readonly SessionKind[] = [ROUTED_SESSIONS, RECORDED_SESSIONS];
