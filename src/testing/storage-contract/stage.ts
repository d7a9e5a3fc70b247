import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { ifThere } from "../contract.js";
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

const KILLS = 100;

/** Something to try that needs more of a storage than one adapter. */
export type StageCheck = readonly [name: string, check: (stage: StorageStage) => Promise<void>];

/** One storage under test, with all the adapters that are opened over it. */
export class StorageStage {
  /** The adapter that was opened last as a restart does it. */
  storage: StorageAdapter;
  readonly #options: StorageContractOptions;
  readonly #open = new Set<StorageAdapter>();

  private constructor(options: StorageContractOptions, storage: StorageAdapter) {
    this.#options = options;
    this.storage = this.#note(storage);
  }

  static async open(options: StorageContractOptions): Promise<StorageStage> {
    return new StorageStage(options, await options.open());
  }

  /** How many processes are to be killed. */
  get kills(): number {
    return this.#options.kills ?? KILLS;
  }

  /** Whether a restart can be tried. */
  get canReopen(): boolean {
    return this.#options.reopen !== undefined;
  }

  /** Closes all, and opens the storage again. */
  async reopen(): Promise<StorageAdapter> {
    const reopen = ifThere(this.#options.reopen, "the options have no `reopen`");
    await this.close();
    this.storage = this.#note(await reopen(this.storage));
    return this.storage;
  }

  /** Another adapter beside the first. */
  async another(): Promise<StorageAdapter> {
    const reopen = ifThere(this.#options.reopen, "the options have no `reopen`");
    const { multiProcess } = this.storage.capabilities;
    ifThere(multiProcess || undefined, "the adapter does not say that several may use a storage at once");
    return this.#note(await reopen(this.storage));
  }

  /** How a process opens it. */
  async process(): Promise<StorageProcess> {
    ifThere(this.#options.reopen, "the options have no `reopen`");
    return ifThere(this.#options.spawn, "the options have no `spawn`")(this.storage);
  }

  /** Closes every adapter that is open, each once. */
  async close(): Promise<void> {
    const open = [...this.#open];
    this.#open.clear();
    for (const storage of open) await storage.close?.();
  }

  /** Closes one now, as a case may do by itself. */
  async closeOne(storage: StorageAdapter): Promise<void> {
    this.#open.delete(storage);
    await storage.close?.();
  }

  #note(storage: StorageAdapter): StorageAdapter {
    this.#open.add(storage);
    return storage;
  }
}
