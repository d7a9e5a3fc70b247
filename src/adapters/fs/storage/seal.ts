import type { SessionId } from "../../../definition/names.js";

/** A seal is shorter than this; a commit is longer. */
export const SEAL_BYTES = 32;
const SEAL = '{"sealed":';

/**
 * What a compaction puts in the place of the next commit, so that nothing is ever appended to that generation again:
 * exactly one of a writer and a compaction gets the version. It names the first one that was tried.
 */
export function encodeSeal(sessionId: SessionId, version: number): string {
  return `${SEAL}${version},"sessionId":${JSON.stringify(sessionId)}}\n`;
}

/** Whether a version's file is a seal; its first bytes tell. */
export function isSeal(data: Buffer): boolean {
  return data.toString("latin1", 0, SEAL.length) === SEAL;
}
