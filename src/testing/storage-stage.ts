import type { StorageAdapter } from "../ports/storage-adapter.js";
import { ifThere } from "./contract-case.js";
import type { StorageContractOptions, StorageProcess } from "./storage-check.js";

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
