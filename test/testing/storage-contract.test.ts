import { describe, expect, it } from "vitest";
import { PhasegateError } from "../../src/errors.js";
import type { Commit, SessionQuery, StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { present, refuses } from "../../src/testing/contract.js";
import { storageContract } from "../../src/testing/storage-contract/contract.js";

/** The names of the cases that an adapter fails, of all or of those whose names begin so. */
async function failures(open: () => StorageAdapter, reopen?: (adapter: StorageAdapter) => StorageAdapter, only = "") {
  const cases = storageContract({
    open: async () => open(),
    ...(reopen && { reopen: async (adapter: StorageAdapter) => reopen(adapter) }),
  });
  const names: string[] = [];
  for (const { name, run } of cases) if (name.startsWith(only)) await run().catch(() => names.push(name));
  return names;
}

function conflict({ sessionId }: Commit): PhasegateError {
  return new PhasegateError("CONFLICT", "no", { remedy: "none", details: { sessionId } });
}

/** Adapters with one fault each, and the start of a case's name that must find it. */
const FAULTS: Readonly<Record<string, readonly [found: string, adapter: () => StorageAdapter]>> = {
  "looks before it writes, and not while": [
    "append: of concurrent first commits of a session, stores exactly one",
    () => {
      const commits: Commit[] = [];
      return Object.assign(new MemoryStorage(), {
        read: async () => commits.at(-1),
        append: async (commit: Commit) => {
          if (commit.version !== commits.length + 1) throw conflict(commit);
          await new Promise((resolve) => setTimeout(resolve, 1));
          commits.push(commit);
        },
      });
    },
  ],
  "never refuses": ["append: refuses a second first commit", () => wrap({ append: async () => {} })],
  "refuses with another error": [
    "append: refuses a version that is taken",
    () =>
      wrap({
        append: (commit, inner) =>
          inner.append(commit).catch(() => {
            throw new Error("duplicate key");
          }),
      }),
  ],
  "keeps bodies as text of well-formed characters": [
    "read: returns a body exactly as it was stored",
    () => wrap({ append: (commit, inner) => inner.append({ ...commit, body: Buffer.from(commit.body).toString() }) }),
  ],
  "gives out what it stores": [
    "aliases: objects that were appended or read can be changed without changing what is stored",
    () => {
      const commits = new Map<string, Commit>();
      return wrap({
        append: async (commit, inner) => {
          await inner.append(commit);
          commits.set(commit.sessionId, commit);
        },
        read: async (id) => commits.get(id),
      });
    },
  ],
  "counts all": ["countActive: counts no further", () => wrap({ countActive: async () => 1 })],
  "forgets who was removed": [
    "remove: the id is never used again",
    () => {
      let inner = new MemoryStorage();
      return wrap({
        append: (commit) => inner.append(commit),
        read: (id) => inner.read(id),
        remove: async () => {
          inner = new MemoryStorage();
        },
      });
    },
  ],
  "has cursors that are offsets": [
    "list: accepts a cursor although sessions were added or removed",
    () =>
      wrap({
        list: async ({ cursor, limit = 50, ...query }, inner) => {
          const { items } = await inner.list({ ...query, limit: 1000 });
          const end = Number(cursor ?? 0) + limit;
          return { items: items.slice(end - limit, end), ...(end < items.length && { cursor: String(end) }) };
        },
      }),
  ],
  "takes commits of any size": [
    "append: refuses a commit over the largest size",
    () =>
      Object.assign(new MemoryStorage(), {
        capabilities: { durability: "memory", multiProcess: false, maxCommitBytes: 1000 },
      }),
  ],
};

interface Overrides {
  append?(commit: Commit, inner: StorageAdapter): Promise<void>;
  read?(id: Commit["sessionId"]): ReturnType<StorageAdapter["read"]>;
  remove?(id: Commit["sessionId"]): Promise<void>;
  list?(query: SessionQuery, inner: StorageAdapter): ReturnType<StorageAdapter["list"]>;
  countActive?(): Promise<number>;
}

/** A sound adapter with some methods replaced. */
function wrap({ append, list, ...others }: Overrides): StorageAdapter {
  const inner = new MemoryStorage();
  return Object.assign(new MemoryStorage(), {
    append: (commit: Commit) => append?.(commit, inner) ?? inner.append(commit),
    read: (id: Commit["sessionId"]) => inner.read(id),
    log: inner.log.bind(inner),
    payload: inner.payload.bind(inner),
    list: (query: SessionQuery) => list?.(query, inner) ?? inner.list(query),
    countActive: (upTo: number) => inner.countActive(upTo),
    remove: (id: Commit["sessionId"]) => inner.remove(id),
    ...others,
  });
}

describe("storageContract", () => {
  for (const [name, [found, adapter]] of Object.entries(FAULTS)) {
    it(`finds an adapter that ${name}`, async () => {
      expect(await failures(adapter, undefined, found)).toEqual([expect.stringContaining(found)]);
    });
  }

  it("finds an adapter that loses all in a restart, and closes what it opens", async () => {
    let open = 0;
    const make = () => {
      open += 1;
      return Object.assign(new MemoryStorage(), {
        close: async () => {
          open -= 1;
        },
      });
    };
    const names = await failures(make, make);
    expect(names.map((name) => name.split(":")[0])).toEqual(["reopen", "reopen", "reopen", "errors", "keys"]);
    expect(open).toBe(0);
  });

  it("passes a sound adapter, also through a restart, and names each case once", async () => {
    expect(
      await failures(
        () => new MemoryStorage(),
        (adapter) => adapter,
      ),
    ).toEqual([]);
    const names = storageContract({ open: async () => new MemoryStorage() }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("refuses", () => {
  it("says what came instead of the refusal", async () => {
    await expect(refuses("CONFLICT", Promise.resolve())).rejects.toThrow("must be refused with CONFLICT, and was not");
    await expect(refuses("CONFLICT", Promise.reject(new Error("other")))).rejects.toThrow("failed with: Error: other");
    expect(() => present(undefined, "the commit")).toThrow("the commit must be there");
  });
});
