import { join } from "node:path";
import { PostgresStorage } from "phasegate/postgres";
import { expect } from "vitest";
import { parseSessionId } from "../../../src/definition/names.js";
import { collect } from "../../../src/testing/contract-case.js";
import { type Worker, workersOf } from "../../support/worker-process.js";

/** A version that somebody was told is there. */
export interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

/** What starts processes that append to sessions. */
export function appendWorkers(): (url: string, schema: string, appends: number, ids: readonly string[]) => Worker {
  const start = workersOf(join(import.meta.dirname, "append-worker.ts"));
  return (url, schema, appends, ids) => start(url, schema, String(appends), ...ids);
}

/** What the lines of a worker say. */
export function acknowledgedIn(lines: readonly string[]): Acknowledged[] {
  return lines.map((line) => {
    const [id = "", version = "", hash = ""] = line.split(" ");
    return { id, version: Number(version), hash };
  });
}

/** Every acknowledged commit is there once, in logs without gaps, and lists and counts agree; gives how many there are. */
export async function checkSessions(
  url: string,
  schema: string,
  acknowledged: readonly Acknowledged[],
): Promise<number> {
  const storage = await PostgresStorage.open({ url, schema });
  const ids = [...new Set(acknowledged.map(({ id }) => id))];
  let versions = 0;
  for (const id of ids) versions += await checkSession(storage, id, acknowledged);
  const all = await storage.list({ limit: 1000 });
  const active = all.items.filter(({ status }) => status === "active");
  expect((await storage.list({ status: ["active"], limit: 1000 })).items).toEqual(active);
  expect(await storage.countActive(1e6)).toBe(active.length);
  await storage.close();
  return versions;
}

async function checkSession(
  storage: PostgresStorage,
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
  return log.length;
}
