import type { StorageAdapter } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { storageContract } from "phasegate/testing";
import { afterAll, describe, expect, it } from "vitest";
import { Shards } from "../../../examples/shards.ts";
import { makeCommit } from "../../../src/testing/contract.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";

const places = new WeakMap<StorageAdapter, readonly string[]>();
const schemas: string[] = [];

async function openIn(names: readonly string[]): Promise<Shards> {
  const url = await postgresUrl();
  const shards = new Shards(
    await Promise.all(names.map((schema) => PostgresStorage.open({ url, schema, pollMs: 50 }))),
  );
  places.set(shards, names);
  return shards;
}

function open(): Promise<Shards> {
  const names = [newSchema(), newSchema(), newSchema()];
  schemas.push(...names);
  return openIn(names);
}

afterAll(async () => {
  await runSql(await postgresUrl(), ...schemas.map((schema) => `DROP SCHEMA ${schema} CASCADE`));
});

describe("sessions that are shared out to three schemas, as to three servers", { timeout: 60_000 }, () => {
  const contract = storageContract({ open, reopen: (storage: StorageAdapter) => openIn(places.get(storage) ?? []) });
  for (const { name, run } of contract) it(name, run);

  it("are in more than one", async () => {
    const storage = await open();
    for (let number = 0; number < 30; number += 1) await storage.append(makeCommit({ sessionId: `one-${number}` }));
    const url = await postgresUrl();
    const counts = await Promise.all(
      (places.get(storage) ?? []).map(async (schema) => {
        const [row] = await runSql(url, `SELECT count(*)::int AS found FROM ${schema}.sessions`);
        return Number(row?.found);
      }),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(30);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    await storage.close();
  });
});
