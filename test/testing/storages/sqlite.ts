/** SqliteStorage, for the contract: in this process, and, by `openWith`, in others. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { StorageAdapter } from "phasegate";
import { SqliteStorage } from "phasegate/sqlite";
import type { StorageProcess } from "phasegate/testing";

/** Where a sync costs nothing, if there is such a place: what a killed process has written is in the system's hands. */
const PARENT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const MAX_COMMIT_BYTES = 2_000_000;

const files = new Map<StorageAdapter, string>();

export async function openWith({ file }: { readonly file: string }): Promise<SqliteStorage> {
  const storage = await SqliteStorage.open(file, { maxCommitBytes: MAX_COMMIT_BYTES, watchInterval: 20 });
  files.set(storage, file);
  return storage;
}

export async function open(): Promise<SqliteStorage> {
  return openWith({ file: join(await mkdtemp(join(PARENT, "phasegate-contract-")), "sessions.db") });
}

export function reopen(storage: StorageAdapter): Promise<SqliteStorage> {
  return openWith({ file: fileOf(storage) });
}

export function spawn(storage: StorageAdapter): StorageProcess {
  return { module: import.meta.url, options: { file: fileOf(storage) } };
}

export async function finish(): Promise<void> {
  for (const file of new Set(files.values())) await rm(dirname(file), { recursive: true, force: true });
}

function fileOf(storage: StorageAdapter): string {
  const file = files.get(storage);
  if (file === undefined) throw new Error("this module did not open that storage");
  return file;
}
