import type { StorageAdapter } from "../ports/storage-adapter.js";

/** How the contract gets at the adapter that it tries. */
export interface StorageContractOptions {
  /** An adapter over a storage of its own, with nothing in it. Called once for each case. */
  open(): Promise<StorageAdapter>;
  /** Another adapter over the same storage, as after a restart; the first is closed. Leave it out if nothing stays. */
  reopen?(adapter: StorageAdapter): Promise<StorageAdapter>;
}

/** Something to try on an empty storage. */
export type StorageCheck = readonly [name: string, check: (storage: StorageAdapter) => Promise<void>];

/** Something to try on a storage and on what a restart makes of it. */
export type ReopenCheck = readonly [
  name: string,
  check: (storage: StorageAdapter, reopen: () => Promise<StorageAdapter>) => Promise<void>,
];
