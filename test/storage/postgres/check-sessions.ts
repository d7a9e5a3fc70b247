import { PostgresStorage } from "phasegate/postgres";
import { expect } from "vitest";
import { type Acknowledged, checkSession } from "../../support/acknowledged.js";
/** Checks that each acknowledged commit is in its log once, without gaps, and that lists agree; returns the count. */
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
