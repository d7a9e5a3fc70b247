import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
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
One commit a line, with its payloads, as JSON; the last line has a digest of the others, so that a file
that was cut is noticed. It holds all evidence: keep it as you keep the state. A session whose log does
not hold together is left out and told of, with exit code 1.`;

/** `phasegate export`. */
export function exportCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("export")
    .summary("write sessions as lines of JSON")
    .description("Writes the logs of sessions, whole and checked, as lines of JSON.")
    .addOption(stateOption().makeOptionMandatory())
    .option("--out <file>", "a new file; stdout if not given", notEmpty);
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
      ...(typeof hashKey === "string" ? { hashKey: utf8ToBytes(hashKey) } : {}),
      onRefused: (sessionId, { message, reason }) => {
        refused += 1;
        if (reason === "unreadable") unreadable += 1;
        tell(`session ${sessionId} is left out: ${message}`);
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

/** What is exported, and who is told of what is not. */
interface ExportSelection extends SessionChoice {
  readonly hashKey?: Uint8Array;
  readonly onRefused: (sessionId: SessionId, refusal: LogRefusal) => void;
  /** Once the last line is made. */
  readonly onEnd: (counts: { readonly sessions: number; readonly commits: number }) => void;
}

/**
 * Sessions as lines, as their storage has them when it is their turn. Each log is read twice: what does not hold is
 * refused before any of it is written.
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
  const there = version === 0 ? "" : `; the lines have its first ${version} commits`;
  return new LogRefusal("not_found", `it was removed while it was exported${there}`);
}

/** The newest commit of a session whose log holds, with nothing cut off. */
async function lastOf(storage: StorageAdapter, sessionId: SessionId, options: ExportSelection): Promise<Commit> {
  await newestVersion(storage, sessionId);
  let last: Commit | undefined;
  for await (const commit of checked(storage, sessionId, options)) last = commit;
  if (last !== undefined) return last;
  throw new LogRefusal("not_found", "there is no such session");
}

/** Writes lines as fast as they are read. Whoever reads them may stop reading: the rest is not made then. */
async function writeToStream(lines: AsyncIterable<string>, stream: Writable): Promise<void> {
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
