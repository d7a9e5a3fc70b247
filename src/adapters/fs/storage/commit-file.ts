import type { SessionId } from "../../../definition/names.js";
import { type Commit, SESSION_STATUSES } from "../../../ports/storage-adapter.js";
import { isIsoTime } from "../../session-query.js";
import { tampered } from "./fs-failure.js";

/** A commit without its body: all that a list and a compare-and-set need. */
export type CommitHeader = Omit<Commit, "body" | "payloads">;

const NEWLINE = 10;

/**
 * A commit as a file: one JSON object in two lines, the body alone on the second. JSON escapes newlines, so the first
 * one in the file ends the header, and a list reads no more than that of a large commit.
 */
export function encodeCommit(commit: Commit): string {
  const { sessionId, version, at, schema, previousHash, hash, summary } = commit;
  const header = JSON.stringify({ sessionId, version, at, schema, previousHash, hash, summary });
  return `${header.slice(0, -1)},\n"body":${JSON.stringify(commit.body)}}\n`;
}

/** Reads a commit file; throws `TAMPERED` if it isn't one of this session and this version. */
export function parseCommit(data: Buffer, id: SessionId, version: number): Commit {
  const value = parseJson(data.toString("utf8"), id, version);
  if (isHeader(value) && "body" in value && typeof value.body === "string") {
    return { ...checked(value, id, version), body: value.body };
  }
  throw tampered(id, version, "it is not a commit");
}

/** Reads the header out of the first bytes of a commit file; undefined if they don't hold all of it. */
export function parseHeader(data: Buffer, id: SessionId, version: number): CommitHeader | undefined {
  const end = data.indexOf(NEWLINE);
  if (end < 1) return undefined;
  const value = parseJson(`${data.toString("utf8", 0, end - 1)}}`, id, version);
  if (isHeader(value)) return checked(value, id, version);
  throw tampered(id, version, "it is not a commit");
}

function parseJson(text: string, id: SessionId, version: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw tampered(id, version, "it is cut short, or not JSON");
  }
}

function checked(header: CommitHeader, id: SessionId, version: number): CommitHeader {
  if (header.sessionId !== id || header.summary.sessionId !== id) {
    throw tampered(id, version, "it belongs to another session");
  }
  if (header.version !== version) {
    throw tampered(id, version, `it holds version ${header.version}`);
  }
  return header;
}

function isHeader(value: unknown): value is CommitHeader {
  if (!isRecord(value) || !isRecord(value.summary)) return false;
  const { summary } = value;
  const texts = [value.sessionId, value.at, value.previousHash, value.hash, summary.updatedAt];
  return (
    texts.every((text) => typeof text === "string") &&
    // Markers have their place by it: any other text could lead out of the store.
    isIsoTime(summary.createdAt) &&
    Number.isSafeInteger(value.version) &&
    Number.isSafeInteger(value.schema) &&
    Number.isSafeInteger(summary.activeSince) &&
    SESSION_STATUSES.some((status) => status === summary.status)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
