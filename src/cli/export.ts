/** `phasegate export`: writes the logs of sessions as lines of JSON; transfer-lines.ts has the format. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { errnoOf } from "../errors.js";
import { asRefusal, checkCommit, LogRefusal, newestVersion, withPayloads } from "../phased/log-check.js";
import { chosenSessions, type SessionChoice, unlistedSessions } from "../phased/log-copy.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { choiceOf, type FilterOptions, filterOptions, logLevelOption, notEmpty, stateOption } from "./options.js";
import { openState } from "./state.js";
import { counted, printable, type Terminal } from "./terminal.js";
import { commitLine, endLine, headerLine, KINDS } from "./transfer-lines.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

interface ExportOptions extends FilterOptions {
  readonly state: string;
  readonly out?: string;
  readonly hashKeyFile?: string;
}

const HELP = `
Each line is JSON: one commit with its payloads. The last line has a digest of the others, so that a truncated file
is noticed. The file contains all evidence: protect it like the state. A session whose log is damaged is skipped and
listed, and the exit code is 1.`;

/** Creates `phasegate export`. */
export function exportCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("export")
    .summary("write sessions as lines of JSON")
    .description("Writes the complete logs of sessions, which are checked first, as lines of JSON.")
    .addOption(stateOption().makeOptionMandatory())
    .option("--out <file>", "file to create; stdout if not given", notEmpty);
  for (const option of filterOptions()) command.addOption(option);
  return command
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (options: ExportOptions) => {
      setExitCode(await exportSessions(options, terminal));
    });
}

async function exportSessions(options: ExportOptions, { stdout, stderr }: Terminal): Promise<ExitCode> {
  const { hashKey } = await readHashKey(options);
  const storage = await openState(options.state);
  const tell = (line: string) => void stderr.write(`${printable(line)}\n`);
  let [refused, unreadable] = [0, 0];
  try {
    const lines = exportLines(storage, {
      ...choiceOf(options),
      ...(hashKey === undefined ? {} : { hashKey: utf8ToBytes(hashKey) }),
      onRefused: (sessionId, { message, reason }) => {
        refused += 1;
        if (reason === "unreadable") unreadable += 1;
        tell(`session ${sessionId} was skipped: ${message}`);
      },
      onEnd: ({ sessions, commits }) => tell(`exported ${counted(sessions, "session")}, ${counted(commits, "commit")}`),
    });
    await (options.out === undefined ? writeToStream(lines, stdout) : writeToFile(lines, options.out));
    if (unreadable > 0 && hashKey === undefined) tell(KEY_HINT);
  } finally {
    await storage.close?.();
  }
  return refused === 0 ? EXIT.ok : EXIT.problems;
}

/** The sessions to export, and what is called with the result. */
interface ExportSelection extends SessionChoice {
  readonly hashKey?: Uint8Array;
  readonly onRefused: (sessionId: SessionId, refusal: LogRefusal) => void;
  /** Called after the last line. */
  readonly onEnd: (counts: { readonly sessions: number; readonly commits: number }) => void;
}

/**
 * Returns sessions as lines, each as its storage has it when its turn comes. Each log is read twice, so that a damaged one
 * is refused before any of it is written.
 */
export async function* exportLines(storage: StorageAdapter, options: ExportSelection): AsyncGenerator<string> {
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
    // A session counts as soon as it has a line in the file.
    if (version > 0) sessions += 1;
    if (version < newest.version) options.onRefused(sessionId, removedMeanwhile(version));
  }
  for await (const [id, refusal] of unlistedSessions(storage, options)) options.onRefused(id, refusal);
  yield endLine({ sessions, commits, digest: digest.digest("hex") });
  options.onEnd({ sessions, commits });
}

/** Returns a session's commits with their payloads, each checked. */
async function* checked(
  storage: StorageAdapter,
  sessionId: SessionId,
  { hashKey }: Pick<ExportSelection, "hashKey">,
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
  const there = version === 0 ? "" : `; the export has its first ${version} commits`;
  return new LogRefusal("not_found", `it was removed during the export${there}`);
}

/** Checks a session's whole log, and returns its newest commit. */
async function lastOf(storage: StorageAdapter, sessionId: SessionId, options: ExportSelection): Promise<Commit> {
  await newestVersion(storage, sessionId);
  let last: Commit | undefined;
  for await (const commit of checked(storage, sessionId, options)) last = commit;
  if (last !== undefined) return last;
  throw new LogRefusal("not_found", "there is no such session");
}

/** Writes lines as fast as they are read, until the reader closes the stream. */
async function writeToStream(lines: AsyncIterable<string>, stream: Writable): Promise<void> {
  for await (const line of lines) {
    if (stream.destroyed) return;
    if (!stream.write(line) && !(await acceptsMore(stream))) return;
  }
}

/** Waits until a stream accepts more. Returns false if its reader has gone, which is no failure: `phasegate export | head`. */
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

/** Writes lines into a new file that only its owner can read. If that fails, the file is removed. */
export async function writeToFile(lines: AsyncIterable<string>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    const hint = "Name a new file in an existing folder.";
    throw new CommandFailure(`the file can't be created: ${path}`, EXIT.environment, hint, { cause });
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
