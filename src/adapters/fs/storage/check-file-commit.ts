import type { Commit } from "../../../ports/storage-adapter.js";
import { checkCommit, invalidCommit } from "../../check-commit.js";
import { isPayloadHash } from "./payload-files.js";

/** Refuses a commit that can't be a file: what becomes part of a name is checked here, and the size. */
export function checkFileCommit(commit: Commit, maxBytes: number): void {
  for (const { hash } of commit.payloads ?? []) if (!isPayloadHash(hash)) throw invalidCommit("payloads", hash);
  checkCommit(commit, maxBytes);
}

/** Refuses commits that are not the first ones of a session, each following the one before. */
export function checkChain(commits: readonly [Commit, ...Commit[]]): void {
  const [{ sessionId }] = commits;
  for (const [index, commit] of commits.entries()) {
    if (commit.sessionId !== sessionId) throw invalidCommit("sessionId", commit.sessionId);
    if (commit.version !== index + 1) throw invalidCommit("version", commit.version);
    const before = commits[index - 1]?.hash ?? "";
    if (commit.previousHash !== before) throw invalidCommit("previousHash", commit.previousHash);
  }
}
