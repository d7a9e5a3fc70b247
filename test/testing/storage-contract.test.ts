import { describe, expect, it, vi } from "vitest";
import { PhasegateError } from "../../src/errors.js";
import type { Commit, SessionQuery, StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { BROKEN_STORAGES, brokenStorage } from "../../src/testing/broken.js";
import { ContractError, present, refuses, runCases } from "../../src/testing/contract.js";
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

/** Runs the contract except `watch`, in which adapters of these tests have no part, and returns what is broken. */
async function brokenBy(open: () => StorageAdapter, only = "") {
  const cases = storageContract({ open: async () => open() }).filter(({ name }) => !name.startsWith("watch:"));
  const error = await runCases(cases, { only }).catch((reason: unknown) => reason);
  if (!(error instanceof ContractError)) throw new Error("nothing is broken");
  return { error, broken: error.report.results.filter(({ outcome }) => outcome === "broken") };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

describe("a broken contract", () => {
  it.each(BROKEN_STORAGES.filter((kind) => kind !== "unfsynced"))(
    "names all duties that %s breaks in one run, with what was expected and after which call",
    async (kind) => {
      const { error, broken } = await brokenBy(() => brokenStorage(kind, new MemoryStorage()));
      expect(broken.length).toBeGreaterThan(0);
      for (const { name, error: one } of broken) {
        const message = messageOf(one);
        expect(message, name).not.toMatch(/assert[\w.]*\(|falsy value|strictly|deep-equal/);
        expect(message, name).toMatch(/\(after \w+\(.*\)\)$|\n/s);
        expect(message.length, name).toBeLessThan(1500);
        expect(error.message).toContain(`- ${name}: ${message}`);
      }
    },
  );

  it("names the error code that a duty asks for, in the duty and in the message", async () => {
    const plain = async <T>(call: Promise<T>): Promise<T> =>
      call.catch(() => {
        throw new Error("duplicate key");
      });
    const capabilities = { durability: "memory", multiProcess: false, maxCommitBytes: 2_000_000 } as const;
    const methods: Overrides = {
      append: (commit, inner) => plain(inner.append(commit)),
      list: (query, inner) => plain(inner.list(query)),
    };
    const { broken } = await brokenBy(() => Object.assign(wrap(methods), { capabilities }));
    const asked = broken.flatMap(({ name, error }) => {
      const codes = messageOf(error).match(/(?<=must be refused with )[A-Z_]+/g) ?? [];
      return codes.map((code) => ({ name, code }));
    });
    expect(new Set(asked.map(({ code }) => code))).toEqual(
      new Set(["CONFLICT", "TOO_LARGE", "INVALID_INPUT", "CURSOR_INVALID"]),
    );
    for (const { name, code } of asked) expect(name).toContain(code);
  });

  it("names all that one duty lacks", async () => {
    const { broken } = await brokenBy(() => wrap({ list: async () => ({ items: [] }) }), "invalid limit");
    const limit = broken.find(({ name }) => name.startsWith("list: refuses an invalid limit"));
    expect(messageOf(limit?.error).split("\n")).toEqual(
      ["0", "-1", "1.5", "1001", "NaN"].map(
        (value) => `limit ${value}: It must be refused with INVALID_INPUT, and was not`,
      ),
    );
  });

  it("names a call that never ends, and goes on", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const running = brokenBy(() => wrap({ countActive: () => new Promise(() => {}) }), "countActive");
      let ended = false;
      void running.finally(() => {
        ended = true;
      });
      while (!ended) await vi.advanceTimersByTimeAsync(1000);
      const { broken } = await running;
      expect(broken.map(({ name }) => name)).toContain("countActive: counts no further than it is told to");
      expect(messageOf(broken[0]?.error)).toContain("must come to an end, and did not within 30 s");
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("refuses", () => {
  it("says what came instead of the refusal", async () => {
    await expect(refuses("CONFLICT", Promise.resolve())).rejects.toThrow("must be refused with CONFLICT, and was not");
    await expect(refuses("CONFLICT", Promise.reject(new Error("other")))).rejects.toThrow("failed with: Error: other");
    expect(() => present(undefined, "the commit")).toThrow("the commit must be there");
  });
});
