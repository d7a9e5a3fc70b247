/** The options of the storage contract, and the storage of one case with the adapters that are open over it. */
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { comes, explained, ifThere, NotTried } from "../contract.js";

/** The module with which another process opens the same storage. */
export interface StorageProcess {
  /**
   * A path or `file:` URL of a module. Its default export, or its export `openWith`, is a function that takes the options and
   * returns an adapter or a promise of one.
   */
  readonly module: string | URL;
  /** The options for that function, which are passed as JSON. */
  readonly options?: unknown;
}

/** Options of the storage contract: how to open the adapter under test. */
export interface StorageContractOptions {
  /** Opens an adapter over a new, empty storage. Called once for each case. */
  open(): Promise<StorageAdapter>;
  /**
   * Opens another adapter over the same storage, as after a restart. The first one is closed, or may still be open if the
   * adapter has the capability `multiProcess`. Leave it out if the storage ends with its adapter.
   */
  reopen?(adapter: StorageAdapter): Promise<StorageAdapter>;
  /** Returns how another process opens the same storage. Leave it out if none can. Needs `reopen`. */
  spawn?(adapter: StorageAdapter): Promise<StorageProcess> | StorageProcess;
  /** Number of processes that are killed at random times. Default 100. */
  readonly kills?: number;
}

/** The options as exports of a module, for `phasegate test-storage`. */
export interface StorageContractModule extends StorageContractOptions {
  /** Called once at the end, to remove what `open` has created. */
  finish?(): Promise<void>;
}

const KILLS = 100;
const NO_REOPEN = "the options have no `reopen`";

/** A check on an empty storage. One that does not apply to the adapter ends with {@link NotTried}. */
export type StageCheck = (stage: StorageStage) => Promise<void>;
export type StageChecks = Readonly<Record<string, StageCheck>>;

type Method = Exclude<keyof StorageAdapter, "capabilities">;

/** Returns a method that an adapter may omit. Ends the case if it does. */
export function methodOf<Name extends Method>(storage: StorageAdapter, name: Name): NonNullable<StorageAdapter[Name]> {
  const method = storage[name];
  if (method) return method;
  throw new NotTried(`the adapter has no \`${name}\``);
}

/** One storage under test, with all adapters that are open over it. */
export class StorageStage {
  /** The adapter that the last restart has opened. */
  storage: StorageAdapter;
  readonly #options: StorageContractOptions;
  readonly #open = new Set<StorageAdapter>();
  /** The adapters of the options, by those that the cases use. */
  readonly #given = new Map<StorageAdapter, StorageAdapter>();
  #lastCall: string | undefined;

  private constructor(options: StorageContractOptions, storage: StorageAdapter) {
    this.#options = options;
    this.storage = this.#note(storage);
  }

  static async open(options: StorageContractOptions): Promise<StorageStage> {
    return new StorageStage(options, await comes(options.open(), "`open` must come to an end"));
  }

  get kills(): number {
    return this.#options.kills ?? KILLS;
  }

  get canReopen(): boolean {
    return this.#options.reopen !== undefined;
  }

  async reopen(): Promise<StorageAdapter> {
    await this.close();
    this.storage = await this.#opened();
    return this.storage;
  }

  async another(): Promise<StorageAdapter> {
    ifThere(this.#options.reopen, NO_REOPEN);
    const { multiProcess } = this.storage.capabilities;
    ifThere(multiProcess || undefined, "the adapter does not have the capability `multiProcess`");
    return this.#opened();
  }

  async #opened(): Promise<StorageAdapter> {
    const reopen = ifThere(this.#options.reopen, NO_REOPEN);
    return this.#note(await comes(reopen(this.#givenOf(this.storage)), "`reopen` must come to an end"));
  }

  async process(): Promise<StorageProcess> {
    ifThere(this.#options.reopen, NO_REOPEN);
    return ifThere(this.#options.spawn, "the options have no `spawn`")(this.#givenOf(this.storage));
  }

  /** Returns the error of a case with the call after which it occurred. */
  explained(error: unknown): Error {
    return explained(error, this.#lastCall);
  }

  async close(): Promise<void> {
    const open = [...this.#open];
    this.#open.clear();
    for (const storage of open) await storage.close?.();
  }

  async closeOne(storage: StorageAdapter): Promise<void> {
    this.#open.delete(storage);
    await storage.close?.();
  }

  #givenOf(storage: StorageAdapter): StorageAdapter {
    return this.#given.get(storage) ?? storage;
  }

  /** Returns an adapter whose calls are noted and must come to an end. */
  #note(given: StorageAdapter): StorageAdapter {
    const storage = new Proxy(given, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function" || typeof name !== "string") return value;
        return (...args: readonly unknown[]) => {
          this.#lastCall = callText(name, args);
          const answer: unknown = Reflect.apply(value, target, args);
          return answer instanceof Promise ? comes(answer, `${this.#lastCall} must come to an end`) : answer;
        };
      },
    });
    this.#given.set(storage, given);
    this.#open.add(storage);
    return storage;
  }
}

const CALL_MAX = 120;

/** Returns a call as it could be written in code, shortened: an append without the text that it follows. */
function callText(name: string, args: readonly unknown[]): string {
  const told = name === "append" ? args.slice(0, 1) : args;
  const shown = told.map((arg) => (isCommit(arg) ? `version ${arg.version} of ${arg.sessionId}` : JSON.stringify(arg)));
  const text = `${name}(${shown.join(", ")})`;
  return text.length <= CALL_MAX ? text : `${text.slice(0, CALL_MAX)}…`;
}

function isCommit(value: unknown): value is Pick<Commit, "version" | "sessionId"> {
  return typeof value === "object" && value !== null && "version" in value && "previousHash" in value;
}
