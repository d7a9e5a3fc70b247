/** FileStorage with a fault, as other processes open it. */
import type { StorageAdapter } from "phasegate";
import { type BrokenStorage, brokenStorage } from "phasegate/testing";
import { openWith as openFiles } from "./storages/files.ts";

export async function openWith({ kind, options }: { kind: BrokenStorage; options: { root: string } }) {
  const inner: StorageAdapter = await openFiles(options);
  return brokenStorage(kind, inner);
}
