/** PostgresStorage, for the contract: in this process, and, by `openWith`, in others. */
import { Client } from "pg";
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

let client: Client | undefined;
/** The schema of the last case, which the next one empties. */
let schema: string | undefined;

export async function open(): Promise<PostgresStorage> {
  // Other processes open a place that they are told of, and have no test runner to ask for a server.
  const { emptySchema, newSchema, postgresUrl } = await import("../../support/postgres.js");
  const url = await postgresUrl();
  if (client === undefined) {
    client = new Client({ connectionString: url });
    await client.connect();
  }
  if (schema !== undefined) await emptySchema(client, schema);
  schema ??= newSchema();
  return openWith({ url, schema });
}

export async function finish(): Promise<void> {
  await client?.end();
}

export function reopen(storage: StorageAdapter): Promise<PostgresStorage> {
  return openWith(placeOf(storage));
}

export function spawn(storage: StorageAdapter): StorageProcess {
  // What a killed process has sent is done after its end: nobody else may have that schema.
  schema = undefined;
  return { module: import.meta.url, options: { ...placeOf(storage) } };
}

function placeOf(storage: StorageAdapter): Place {
  const place = places.get(storage);
  if (place === undefined) throw new Error("this module did not open that storage");
  return place;
}
