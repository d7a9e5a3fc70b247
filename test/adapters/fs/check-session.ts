import { expect } from "vitest";
import type { FileStorage } from "../../../src/adapters/fs/storage/file-storage.js";
import { parseSessionId } from "../../../src/definition/names.js";
import { collect } from "../../../src/testing/contract-case.js";
import type { Acknowledged } from "./append-workers.js";

/**
 * What append-workers were told is there is there, once, in a log without gaps and without a lost update; gives how
 * many commits there are.
 */
export async function checkSession(
  storage: FileStorage,
  id: string,
  acknowledged: readonly Acknowledged[],
): Promise<number> {
  const log = await collect(storage.log(parseSessionId(id)));
  const own = acknowledged.filter((one) => one.id === id);
  expect(new Set(own.map(({ version }) => version)).size, "no version was acknowledged twice").toBe(own.length);
  for (const { version, hash } of own) expect(log[version - 1]?.hash).toBe(hash);
  for (const [index, commit] of log.entries()) {
    expect(commit.version).toBe(index + 1);
    expect(commit.previousHash).toBe(log[index - 1]?.hash ?? "");
    expect(commit.body.split(" ")[0], "no update was lost").toBe(String(index + 1));
  }
  expect(await storage.read(parseSessionId(id))).toEqual(log.at(-1));
  for (let count = 0; count < log.length; count += 7) {
    // What the workers hand in beside every seventh commit.
    const body = await storage.payload(parseSessionId(id), String(count).padStart(64, "0"));
    expect(body?.split(" ")[0], "payloads").toBe(String(count + 1));
  }
  return log.length;
}
