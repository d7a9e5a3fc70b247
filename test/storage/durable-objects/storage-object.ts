/** A Worker whose objects take calls of their storages, for {@link RemoteStorage}. */
import { isPhasegateError } from "phasegate";
import { type DurableObjectDatabase, DurableStorage } from "phasegate/durable-objects";
import type { Commit, SessionQuery } from "phasegate/storage";
import { collect, nextCommit } from "../../../src/testing/contract.js";
import type { SessionId } from "../../../src/workflow/names.js";
import { fetchFromObject } from "./objects.js";

interface Context {
  readonly storage: DurableObjectDatabase;
  /** Ends the object, as when it is evicted. */
  abort(reason: string): never;
}

/** What can be called. */
const CALLS = {
  read: (storage: DurableStorage, id: SessionId) => storage.read(id),
  append: (storage: DurableStorage, commit: Commit) => storage.append(commit),
  log: (storage: DurableStorage, id: SessionId) => collect(storage.log(id)),
  payload: (storage: DurableStorage, id: SessionId, hash: string) => storage.payload(id, hash),
  list: (storage: DurableStorage, query: SessionQuery) => storage.list(query),
  remove: (storage: DurableStorage, id: SessionId) => storage.remove(id),
  size: (storage: DurableStorage, id: SessionId) => storage.size(id),
  /** Appends a commit and its tombstone while it is watched, removes the session, and returns the hashes that the watch yields. */
  watchRemoval: async (storage: DurableStorage, commit: Commit) => {
    const stop = new AbortController();
    const watched = storage.watch({}, { signal: stop.signal });
    const last = nextCommit(commit, { body: commit.body, summary: { status: "deleted" } });
    for (const one of [commit, last]) await storage.append(one);
    await storage.remove(commit.sessionId);
    const hashes = new Set<string>();
    for await (const { hash, body } of watched) {
      hashes.add(`${hash} ${body.length}`);
      if (hash === last.hash) break;
    }
    return [...hashes];
  },
};

export type Calls = typeof CALLS;
export interface Answer {
  readonly value?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly remedy?: string };
}
export interface Call {
  readonly name: keyof Calls | "sql" | "abort";
  readonly args: readonly unknown[];
  readonly tablePrefix?: string;
}

export class Sessions {
  readonly #context: Context;
  #storage: DurableStorage | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  async fetch(request: Request): Promise<Response> {
    try {
      const value = await this.#answer((await request.json()) as Call);
      return Response.json({ value } satisfies Answer);
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      const { code, remedy } = isPhasegateError(error) ? error : { code: "not of the library", remedy: undefined };
      return Response.json({ error: { code, message, ...(remedy === undefined ? {} : { remedy }) } } satisfies Answer);
    }
  }

  #answer({ name, args, tablePrefix }: Call): unknown {
    const { storage } = this.#context;
    if (name === "abort") return this.#context.abort("evicted");
    if (name === "sql") return storage.sql.exec(String(args[0])).toArray();
    this.#storage ??= new DurableStorage(storage, tablePrefix === undefined ? {} : { tablePrefix });
    return Reflect.apply(CALLS[name], undefined, [this.#storage, ...args]);
  }
}

export default { fetch: fetchFromObject };
