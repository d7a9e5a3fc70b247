import { createReadStream } from "node:fs";
import { type Appended, appendLog } from "../../engine/logs/append-log.js";
import { asRefusal, LogRefusal } from "../../engine/logs/log-refusal.js";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { type Block, checkLine } from "./check-lines.js";
import { readLine } from "./log-lines.js";
import { splitLines } from "./split-lines.js";

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
