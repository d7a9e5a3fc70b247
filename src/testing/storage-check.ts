import type { StorageAdapter } from "../ports/storage-adapter.js";

/** How another process opens the same storage. */
export interface StorageProcess {
  /**
   * A path or `file:` URL of a module whose default export, or export `openWith`, takes the options and gives an adapter,
   * or a promise of one.
   */
  readonly module: string | URL;
  /** What that function is handed; goes through JSON. */
  readonly options?: unknown;
}

/** How the contract gets at the adapter that it tries. */
export interface StorageContractOptions {
  /** An adapter over a storage of its own, with nothing in it. Called once for each case. */
  open(): Promise<StorageAdapter>;
  /**
   * Another adapter over the same storage, as after a restart; the first is closed, or, where the adapter's capabilities
   * say `multiProcess`, may still be open. Leave it out if nothing stays.
   */
  reopen?(adapter: StorageAdapter): Promise<StorageAdapter>;
  /** How a process of its own opens the same storage. Leave it out if none can. Needs `reopen`. */
  spawn?(adapter: StorageAdapter): Promise<StorageProcess> | StorageProcess;
  /** How many processes are killed at random instants; 100 if not given. */
  readonly kills?: number;
}

/** The options as a module exports them, for `phasegate test-storage` and for tests that find them by their file. */
export interface StorageContractModule extends StorageContractOptions {
  /** Called once at the end: takes away what `open` has made. */
  finish?(): Promise<void>;
}

/** Something to try on an empty storage. */
export type StorageCheck = readonly [name: string, check: (storage: StorageAdapter) => Promise<void>];

/** Something to try on a storage and on what a restart makes of it. */
export type ReopenCheck = readonly [
  name: string,
  check: (storage: StorageAdapter, reopen: () => Promise<StorageAdapter>) => Promise<void>,
];
