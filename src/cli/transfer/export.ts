import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { asRefusal, checkCommit, LogRefusal, newestVersion, withPayloads } from "../../phased/log-check.js";
import { chosenSessions, type SessionChoice, unlistedSessions } from "../../phased/log-copy.js";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { CommandFailure, EXIT } from "../exit-codes.js";
import { commitLine, endLine, headerLine, KINDS } from "./lines.js";

/** What is exported, and who is told of what is not. */
interface ExportOptions extends SessionChoice {
  readonly hashKey?: Uint8Array;
  readonly onRefused: (sessionId: SessionId, refusal: LogRefusal) => void;
  /** Once the last line is made. */
  readonly onEnd: (counts: { readonly sessions: number; readonly commits: number }) => void;
}

/**
 * Sessions as lines, as their storage has them when it is their turn. Each log is read twice: what does not hold is
 * refused before any of it is written.
 */
export async function* exportLines(storage: StorageAdapter, options: ExportOptions): AsyncGenerator<string> {
  const digest = createHash("sha256");
  let [sessions, commits] = [0, 0];
  const hashed = (text: string) => {
    digest.update(text);
    return text;
  };
  yield hashed(headerLine());
  for await (const sessionId of chosenSessions(storage, options)) {
    const newest = await lastOf(storage, sessionId, options).catch(asRefusal);
    if (newest instanceof LogRefusal) {
      options.onRefused(sessionId, newest);
      continue;
    }
    let version = 0;
    for await (const commit of checked(storage, sessionId, options, newest.version)) {
      ({ version } = commit);
      commits += 1;
      yield hashed(commitLine(commit));
    }
    // Its first line makes a session of it for whoever reads the file.
    if (version > 0) sessions += 1;
    if (version < newest.version) options.onRefused(sessionId, removedMeanwhile(version));
  }
  for await (const [id, refusal] of unlistedSessions(storage, options)) options.onRefused(id, refusal);
  yield endLine({ sessions, commits, digest: digest.digest("hex") });
  options.onEnd({ sessions, commits });
}

/** A session's commits with their payloads, each checked. */
async function* checked(
  storage: StorageAdapter,
  sessionId: SessionId,
  { hashKey }: Pick<ExportOptions, "hashKey">,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Commit> {
  let previous: Commit | undefined;
  for await (const commit of storage.log(sessionId, { limit })) {
    const hashes = checkCommit(sessionId, commit, previous, hashKey, KINDS);
    yield withPayloads(commit, hashes, (id, hash) => storage.payload(id, hash));
    previous = commit;
  }
}

function removedMeanwhile(version: number): LogRefusal {
  const there = version === 0 ? "" : `; the lines have its first ${version} commits`;
  return new LogRefusal("not_found", `it was removed while it was exported${there}`);
}

/** The newest commit of a session whose log holds, with nothing cut off. */
async function lastOf(storage: StorageAdapter, sessionId: SessionId, options: ExportOptions): Promise<Commit> {
  await newestVersion(storage, sessionId);
  let last: Commit | undefined;
  for await (const commit of checked(storage, sessionId, options)) last = commit;
  if (last !== undefined) return last;
  throw new LogRefusal("not_found", "there is no such session");
}

/** Writes lines as fast as they are read. Whoever reads them may stop reading: the rest is not made then. */
export async function writeToStream(lines: AsyncIterable<string>, stream: Writable): Promise<void> {
  for await (const line of lines) {
    if (stream.destroyed) return;
    if (!stream.write(line)) await Promise.race([once(stream, "drain"), once(stream, "close")]);
  }
}

/** Writes lines into a new file that only its owner can read; a file that could not be written to its end goes. */
export async function writeToFile(lines: AsyncIterable<string>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    const hint = "Name a file that isn't there yet, in a folder that is.";
    throw new CommandFailure(`the file can't be made: ${path}`, EXIT.environment, hint, { cause });
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

/**
 * Gives a stream as a file, which is gone afterwards: a file can be checked to its end before anything is done with its
 * beginning. Nobody else can read it.
 */
export async function spooled<T>(input: Readable, work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-import-"));
  try {
    const file = join(folder, "sessions.jsonl");
    await pipeline(input, createWriteStream(file, { mode: 0o600 }));
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
