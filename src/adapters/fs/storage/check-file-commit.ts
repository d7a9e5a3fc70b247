import type { Commit } from "../../../ports/storage-adapter.js";
import { checkCommit, invalidCommit } from "../../check-commit.js";
import { isPayloadHash } from "./payload-files.js";

/** Refuses a commit that can't be a file: what becomes part of a name is checked here, and the size. */
export function checkFileCommit(commit: Commit, maxBytes: number): void {
  for (const { hash } of commit.payloads ?? []) if (!isPayloadHash(hash)) throw invalidCommit("payloads", hash);
  checkCommit(commit, maxBytes);
}
