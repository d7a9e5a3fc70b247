/** What the snippets of docs/storage/own.md import: an adapter, here over FileStorage, and files for it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";

export type MyStorage = StorageAdapter & { readonly file: string };

export const MyStorage = {
  open: async ({ file }: { readonly file: string }): Promise<MyStorage> =>
    Object.assign(await FileStorage.open(file), { file }),
};

const made: string[] = [];

export function newTemporaryFile(): string {
  const file = mkdtempSync(join(tmpdir(), "phasegate-documented-"));
  made.push(file);
  return file;
}

export async function removeTemporaryFiles(): Promise<void> {
  for (const file of made.splice(0)) rmSync(file, { recursive: true, force: true, maxRetries: 5 });
}
