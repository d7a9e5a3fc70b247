import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { asRefusal, checkCommit, LogRefusal, withPayloads } from "../../phased/log-check.js";
import { type Appended, appendLog, bytesOf } from "../../phased/log-copy.js";
import type { Commit, SessionSummary, StorageAdapter } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { checkHeader, KINDS, type Line, type LinesEnd, notImported, readLine, splitLines } from "./lines.js";
/** A session's lines in a file: where they begin, and what they hold. */
export interface Block extends Pick<Line, "offset" | "number"> {
  readonly sessionId: SessionId;
  commits: number;
  /** Bytes of the largest commit, payloads included. */
  largest: number;
  /** The newest commit's, for the filters. */
  summary: SessionSummary;
  /** Why it is not taken over, and the line that says so. */
  refused?: { readonly line: number; readonly refusal: LogRefusal };
}

/**
 * Reads a file from its first line to its last, and checks each session's chain and payloads. Throws where the file was
 * cut or changed on the way: then nothing of it is to be believed.
 */
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

/** Checks a line's commit as the next one of its block, or the first one of another. */
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

/** A commit with nothing but what its line holds. Throws if it does not follow, or a payload is not in the line. */
async function checkLine(
  commit: Commit,
  previous: Commit | undefined,
  hashKey: Uint8Array | undefined,
): Promise<Commit> {
  return withPayloads(commit, checkCommit(commit.sessionId, commit, previous, hashKey, KINDS), async () => undefined);
}

function changed(line: number): Error {
  const hint = "Fetch it again, or export it again: copy it as binary, for line ends count.";
  return notImported(line, "the file was cut off or changed on the way", hint);
}

/** Appends the commits of a file that was checked, session by session; a refusal is the session's alone. */
export async function importBlock(
  file: string,
  block: Block,
  to: StorageAdapter,
  hashKey: Uint8Array | undefined,
): Promise<Appended | LogRefusal> {
  const { maxCommitBytes } = to.capabilities;
  if (block.largest > maxCommitBytes) {
    // Before anything is written: the commits before it would stay.
    return new LogRefusal("not_taken", `it has a commit of ${block.largest} bytes, and ${maxCommitBytes} are allowed`);
  }
  // Checked once more: what is appended is what was checked, whatever becomes of the file.
  const prepare = (commit: Commit, previous: Commit | undefined) => checkLine(commit, previous, hashKey);
  return appendLog(block.sessionId, (from) => commitsOf(file, block, from), prepare, to).catch(asRefusal);
}

/** The commits of a block from one version on. */
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
