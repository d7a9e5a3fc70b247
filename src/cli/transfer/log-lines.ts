/**
 * Sessions as lines of JSON. The first line names the format; then comes one commit a line, with its payloads, each
 * session's together and in order; the last one counts them, and has a digest of all that comes before it, so that a file
 * that was cut or changed on the way is noticed. A body is a text in it, as the hash was made over it; JSON escapes what
 * UTF-8 has no place for.
 */
import * as z from "zod";
import { isSessionId, type SessionId } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import { type Commit, SESSION_STATUSES, type SessionSummary } from "../../ports/storage-adapter.js";
import { CommandFailure, EXIT } from "../exit-codes.js";

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
