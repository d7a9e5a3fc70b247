/** FileStorage, for the contract: in this process, and, by `openWith`, in others. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { StorageProcess } from "phasegate/testing";

/** Where a sync costs nothing, if there is such a place: what a killed process has written is in the system's hands. */
const PARENT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const MAX_COMMIT_BYTES = 2_000_000;

const roots = new Map<StorageAdapter, string>();

export async function openWith({ root }: { readonly root: string }): Promise<FileStorage> {
  const storage = await FileStorage.open(root, { maxCommitBytes: MAX_COMMIT_BYTES });
  roots.set(storage, root);
  return storage;
}

export async function open(): Promise<FileStorage> {
  return openWith({ root: await mkdtemp(join(PARENT, "phasegate-contract-")) });
}

export function reopen(storage: StorageAdapter): Promise<FileStorage> {
  return openWith({ root: rootOf(storage) });
}

export function spawn(storage: StorageAdapter): StorageProcess {
  return { module: import.meta.url, options: { root: rootOf(storage) } };
}

export async function finish(): Promise<void> {
  for (const root of new Set(roots.values())) await rm(root, { recursive: true, force: true });
}

function rootOf(storage: StorageAdapter): string {
  const root = roots.get(storage);
  if (root === undefined) throw new Error("this module did not open that storage");
  return root;
}
