import { expect } from "vitest";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { collect } from "../../src/testing/contract.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { payloadBeside } from "./counting-commit.js";

/** A version that was acknowledged to a process. */
export interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

/** Reads the acknowledged versions from the lines of a worker. */
export function acknowledgedIn(lines: readonly string[]): Acknowledged[] {
  return lines.map((line) => {
    const [id = "", version = "", hash = ""] = line.split(" ");
    return { id, version: Number(version), hash };
  });
}

/**
 * Checks that each version acknowledged to append-workers is in the log once, without gaps and lost updates; returns
 * the number of commits.
 */
export async function checkSession(
  storage: StorageAdapter,
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
  for (const count of log.keys()) {
    const hash = payloadBeside(count);
    if (hash === undefined) continue;
    const body = await storage.payload(parseSessionId(id), hash);
    expect(body?.split(" ")[0], "payloads").toBe(String(count + 1));
  }
  return log.length;
}
