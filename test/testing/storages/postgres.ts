/** PostgresStorage, for the contract: in this process, and, by `openWith`, in others. */
import type { StorageAdapter } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import type { StorageProcess } from "phasegate/testing";

interface Place {
  readonly url: string;
  readonly schema: string;
}

const places = new Map<StorageAdapter, Place>();

export async function openWith({ url, schema }: Place): Promise<PostgresStorage> {
  const storage = await PostgresStorage.open({ url, schema, maxCommitBytes: 2_000_000 });
  places.set(storage, { url, schema });
  return storage;
}

export async function open(): Promise<PostgresStorage> {
  // Other processes open a place that they are told of, and have no test runner to ask for a server.
  const { newSchema, postgresUrl } = await import("../../support/postgres.js");
  return openWith({ url: await postgresUrl(), schema: newSchema() });
}

export function reopen(storage: StorageAdapter): Promise<PostgresStorage> {
  return openWith(placeOf(storage));
}

export function spawn(storage: StorageAdapter): StorageProcess {
  return { module: import.meta.url, options: { ...placeOf(storage) } };
}

function placeOf(storage: StorageAdapter): Place {
  const place = places.get(storage);
  if (place === undefined) throw new Error("this module did not open that storage");
  return place;
}
