/**
 * `phasegate import`: appends exported sessions to a state. The whole file is checked first, then each session is
 * appended, and refused on its own if it does not fit. `--from` is in import-from.ts.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { asRefusal, checkCommit, LogRefusal, withPayloads } from "../phased/log-check.js";
import { type Appended, appendLog, bytesOf, type SessionChoice } from "../phased/log-copy.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { matchesQuery } from "../storage/common/session-query.js";
import type { SessionId } from "../workflow/names.js";
import { argument, choice, command, flag, notEmpty, required, text, type Values } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, usage } from "./exit-codes.js";
import { checkHeader, KINDS, type Line, type LinesEnd, notImported, readLine, splitLines } from "./export.js";
import { fromOptions, importFrom, TOOLS } from "./import-from.js";
import { choiceOf, filterOptions, stateOption, unreadable } from "./options.js";
import { withProgress } from "./progress.js";
import { sessionAmong } from "./session-id.js";
import { openState, using } from "./state.js";
import { counted, print, printable, printLines, type Terminal } from "./terminal.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

const importOptions = () => ({
  state: required(stateOption()),
  // Nothing is opened then, and the empty name stands for a state that need not be given.
  check: flag("--check", "check the file without writing anything; needs no --state").implies({ state: "" }),
  ...filterOptions(),
  workflow: text("--workflow <type>", "only sessions on this workflow; with --from, the workflow of the new session"),
  hashKeyFile: hashKeyOption(),
  from: choice(
    "--from <tool>",
    "start a session on a plan of this tool, or on a session of praxis-os",
    TOOLS,
  ).conflicts([...["check", "session", "status", "target"]]),
  ...fromOptions(),
});
type ImportOptions = Values<ReturnType<typeof importOptions>>;

const HELP = `
The whole file is checked before anything is written: a file that was truncated or changed is refused. Each session
is imported completely. If the state already has its beginning, the rest is added. If a session is refused, its line
and the reason are printed, the others are imported, and the exit code is 1. A file can be imported twice.

With --from, the file is the plan of another tool, or the folder with it, and a session of plan_execution is started on
it. Tasks that are done there are checked as all others. Of praxis-os, it is the file of one session: phases that were
passed there are recorded as not checked here, where the workflow lets the host skip or override them.

Examples:
  phasegate import --from spec-kit specs/001-login --allow-command "npm test" --option "check_command=npm test" --dry-run
  phasegate import --from task-master .taskmaster/tasks/tasks.json --workflow build_v1
  phasegate import --from praxis-os .praxis-os/.cache/state/ID.json --workflows .praxis-os/workflows --by ann`;

export const importCommand = command({
  name: "import",
  description:
    "Adds the sessions in a file of `phasegate export` to a state, which is created if it does not exist. With --from, starts a session on the plan of another tool.",
  arguments: [
    argument("[file]", "the file; stdin if it is - or not given; with --from, a plan or its folder", notEmpty),
  ],
  options: importOptions(),
  help: HELP,
  async run(options, terminal, file) {
    if (options.from !== undefined) return importFrom(options.from, file, options, terminal);
    if (options.dryRun === true) throw usage("--dry-run is for --from", "Give --check to check a file of sessions.");
    const work = (path: string) => importFile(path, options, terminal);
    if (file === undefined || file === "-") return spooled(terminal.stdin, work);
    const path = resolve(file);
    const found = await stat(path).catch((cause: unknown) => unreadable(path, "the file", cause));
    if (found.isDirectory()) {
      throw new CommandFailure(`the file is a folder: ${path}`, EXIT.environment, "Name a file.");
    }
    // A pipe can be read once, and the file is read twice.
    return found.isFile() ? work(path) : spooled(createReadStream(path), work);
  },
});

/** Writes a stream to a temporary file that only this user can read: the whole file is checked before it is imported. */
async function spooled<T>(input: Readable, work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-import-"));
  try {
    const file = join(folder, "sessions.jsonl");
    await pipeline(input, createWriteStream(file, { mode: 0o600 }));
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function importFile(file: string, options: ImportOptions, terminal: Terminal): Promise<ExitCode> {
  const { hashKey } = await readHashKey(options);
  const key = hashKey === undefined ? undefined : utf8ToBytes(hashKey);
  const all = await withProgress(terminal, "checking the file,", () => checkLines(file, key));
  const ids = [...new Set(all.map(({ sessionId }) => sessionId))];
  const choice = await choiceOf(options, (given) => sessionAmong(ids, given) ?? given);
  const blocks = all.filter((block) => isChosen(block, choice));
  const missing = choice.sessionIds?.filter((id) => !blocks.some(({ sessionId }) => sessionId === id)) ?? [];
  for (const id of missing) print(terminal, printable(`session ${id} is not in the file`));
  const isKeyed = key !== undefined;
  if (options.check === true) return await report("checked", blocks.map(asChecked), missing.length, isKeyed, terminal);
  return using(await openState(options.state, { create: true }), (storage) =>
    report("imported", importAll(file, blocks, storage, key), missing.length, isKeyed, terminal),
  );
}

interface Outcome {
  readonly block: Block;
  readonly line: number;
  readonly outcome: Pick<Appended, "commits"> | LogRefusal;
}

/** Sessions that are imported at the same time: a disk can flush the writes of several in one go. */
const AT_ONCE = 8;

/** Yields the outcomes in the order of the blocks. */
export async function* importAll(
  file: string,
  blocks: readonly Block[],
  storage: StorageAdapter,
  hashKey: Uint8Array | undefined,
): AsyncGenerator<Outcome> {
  const outcomeOf = async (block: Block): Promise<Outcome> => {
    if (block.refused !== undefined) return asChecked(block);
    return { block, line: block.number, outcome: await importBlock(file, block, storage, hashKey) };
  };
  for (let from = 0; from < blocks.length; from += AT_ONCE) {
    // After a failure, the others must end before the storage is closed.
    const settled = await Promise.allSettled(blocks.slice(from, from + AT_ONCE).map(outcomeOf));
    for (const one of settled) {
      if (one.status === "rejected") throw one.reason;
      yield one.value;
    }
  }
}

function asChecked(block: Block): Outcome {
  const { refused, number, commits } = block;
  return { block, line: refused?.line ?? number, outcome: refused?.refusal ?? { commits } };
}

async function report(
  done: string,
  outcomes: Iterable<Outcome> | AsyncIterable<Outcome>,
  missing: number,
  isKeyed: boolean,
  terminal: Terminal,
): Promise<ExitCode> {
  // A file that was joined from others can contain a session twice.
  const sessions = new Set<string>();
  const refusals: string[] = [];
  let [commits, unreadable] = [0, 0];
  await withProgress(terminal, done, async (tell) => {
    for await (const { block, line, outcome } of outcomes) {
      if (outcome instanceof LogRefusal) {
        if (outcome.reason === "unreadable") unreadable += 1;
        refusals.push(printable(`line ${line}: session ${block.sessionId} is refused: ${outcome.message}`));
      } else {
        sessions.add(block.sessionId);
        commits += outcome.commits;
        tell(`${counted(sessions.size, "session")},`);
      }
    }
  });
  printLines(terminal, refusals);
  if (unreadable > 0 && !isKeyed) print(terminal, KEY_HINT);
  print(terminal, `${done} ${counted(sessions.size, "session")}, ${counted(commits, "commit")}`);
  return missing + refusals.length === 0 ? EXIT.ok : EXIT.problems;
}

function isChosen({ sessionId, summary }: Block, { sessionIds, query = {} }: SessionChoice): boolean {
  return sessionIds?.includes(sessionId) ?? matchesQuery(summary, query);
}

interface Block extends Pick<Line, "offset" | "number"> {
  readonly sessionId: SessionId;
  commits: number;
  largest: number;
  summary: SessionSummary;
  /** Why the session is not imported, and the line that is at fault. */
  refused?: { readonly line: number; readonly refusal: LogRefusal };
}

/** Throws if the file was truncated or changed: nothing in it can be trusted then. */
export async function checkLines(file: string, hashKey: Uint8Array | undefined): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  const digest = createHash("sha256");
  let previous: Commit | undefined;
  let end: LinesEnd | undefined;
  let number = 0;
  for await (const line of splitLines(createReadStream(file))) {
    number = line.number;
    if (end !== undefined || !line.ended) throw changed(number);
    const text = line.data.toString("utf8");
    if (number === 1) checkHeader(text);
    else {
      const read = readLine(text);
      if (read === undefined) throw changed(number);
      if ("end" in read) end = read.end;
      else previous = await addCommit(blocks, line, read.commit, previous, hashKey);
    }
    if (end === undefined) digest.update(line.data).update("\n");
  }
  if (number === 0) checkHeader("");
  if (end?.digest !== digest.digest("hex")) throw changed(number);
  const commits = blocks.reduce((sum, block) => sum + block.commits, 0);
  if (end.commits !== commits || end.sessions !== blocks.length) throw changed(number);
  return blocks;
}

async function addCommit(
  blocks: Block[],
  { offset, number }: Line,
  commit: Commit,
  previous: Commit | undefined,
  hashKey: Uint8Array | undefined,
): Promise<Commit> {
  const { sessionId, version, summary } = commit;
  const last = blocks.at(-1);
  const follows = last?.sessionId === sessionId && version > 1;
  const block = follows ? last : { sessionId, offset, number, commits: 0, largest: 0, summary };
  if (!follows) blocks.push(block);
  block.commits += 1;
  block.largest = Math.max(block.largest, bytesOf(commit));
  block.summary = summary;
  if (block.refused !== undefined) return commit;
  const checked = await checkLine(commit, follows ? previous : undefined, hashKey).catch(asRefusal);
  if (checked instanceof LogRefusal) block.refused = { line: number, refusal: checked };
  return commit;
}

/** Throws if the commit does not follow the previous one, or if a payload is not in its line. */
async function checkLine(
  commit: Commit,
  previous: Commit | undefined,
  hashKey: Uint8Array | undefined,
): Promise<Commit> {
  return withPayloads(commit, checkCommit(commit.sessionId, commit, previous, hashKey, KINDS), async () => undefined);
}

function changed(line: number): Error {
  const hint = "Copy or export it again; copy it in binary mode, since line ends must not change.";
  return notImported(line, "the file was cut off or changed on the way", hint);
}

/** A refusal concerns this session only. */
export async function importBlock(
  file: string,
  block: Block,
  to: StorageAdapter,
  hashKey: Uint8Array | undefined,
): Promise<Appended | LogRefusal> {
  const { maxCommitBytes } = to.capabilities;
  if (block.largest > maxCommitBytes) {
    // Refused before anything is written: the commits before it would remain.
    const message = `it has a commit of ${block.largest} bytes, and the state allows ${maxCommitBytes}`;
    return new LogRefusal("not_taken", message);
  }
  // Checked again, since the file may have changed since the first check.
  const prepare = (commit: Commit, previous: Commit | undefined) => checkLine(commit, previous, hashKey);
  return appendLog(block.sessionId, (from) => commitsOf(file, block, from), prepare, to).catch(asRefusal);
}

async function* commitsOf(file: string, block: Block, from: number): AsyncGenerator<Commit> {
  let left = block.commits;
  for await (const { data } of splitLines(createReadStream(file, { start: block.offset }), block)) {
    const read = readLine(data.toString("utf8"));
    if (read === undefined || !("commit" in read)) throw new LogRefusal("unreadable", "the file is being changed");
    if (read.commit.version >= from) yield read.commit;
    left -= 1;
    if (left === 0) return;
  }
}
