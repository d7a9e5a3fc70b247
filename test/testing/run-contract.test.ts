import { describe, expect, it } from "vitest";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { wrapStorage } from "../../src/testing/broken.js";
import { ContractError, type ContractResult, comes, ifThere, outcomeOf, runCases } from "../../src/testing/contract.js";
import { runStorageContract } from "../../src/testing/storage-contract/contract.js";

const kept = { name: "kept", run: async () => undefined };
const broken = { name: "broken", run: () => Promise.reject(new Error("one is two")) };
const odd = { name: "odd", run: () => Promise.reject("a text") };
const notTried = { name: "another", run: () => outcomeOf(async () => void ifThere(undefined, "there is none")) };

describe("runCases", () => {
  it("reports what is kept and what could not be tried, as it comes and in the end", async () => {
    const told: ContractResult[] = [];
    const report = await runCases([kept, notTried], { onResult: (result) => told.push(result) });
    expect(report).toEqual({
      results: [
        { name: "kept", outcome: "kept" },
        { name: "another", outcome: "not tried", reason: "there is none" },
      ],
      kept: 1,
      broken: 0,
      notTried: 1,
    });
    expect(told).toEqual(report.results);
  });

  it("runs all, and throws what is broken with the report", async () => {
    const error = await runCases([broken, kept, odd], {}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({
      message: "2 of 3 cases are not kept:\n- broken: one is two\n- odd: a text",
      report: { kept: 1, broken: 2 },
    });
  });

  it("runs only cases of some name", async () => {
    expect((await runCases([broken, kept], { only: "ke" }).catch((error) => error.report)).results).toHaveLength(2);
    expect((await runCases([broken, kept], { only: "kept" })).results).toHaveLength(1);
  });
});

describe("runStorageContract", () => {
  it("says of a storage in memory what it has no part in", async () => {
    const { broken, kept, results } = await runStorageContract({ open: async () => new MemoryStorage() });
    expect([broken, kept > 40]).toEqual([0, true]);
    const reasons = new Set(results.flatMap(({ reason }) => reason ?? []));
    expect([...reasons].sort()).toEqual([
      "the adapter has no `begin`",
      "the adapter has no `compact`",
      "the adapter has no `damaged`",
      "the adapter has no `hint`",
      "the adapter has no `makeDurable`",
      "the adapter has no `repair`",
      "the adapter has no `size`",
      "the adapter keeps nothing",
      "the adapter's `maxCommitBytes` is too large to try",
      "the options have no `reopen`",
    ]);
  });

  it("takes an adapter that gives payloads back with their commits, as the port lets it", async () => {
    const open = async () => {
      const memory = new MemoryStorage();
      const payloads = new Map<string, Commit["payloads"]>();
      const whole = (commit: Commit): Commit => {
        const found = payloads.get(commit.hash);
        return found === undefined ? commit : { ...commit, payloads: found };
      };
      return wrapStorage(memory, {
        append: async (commit) => {
          const { hash, payloads: given = [] } = commit;
          if (given.length > 0) payloads.set(hash, structuredClone(given));
          await memory.append(commit);
        },
        read: async (id) => {
          const commit = await memory.read(id);
          return commit && structuredClone(whole(commit));
        },
        async *log(id, options) {
          for await (const commit of memory.log(id, options)) yield structuredClone(whole(commit));
        },
      });
    };
    const { broken, kept } = await runStorageContract({ open });
    expect([broken, kept > 40]).toEqual([0, true]);
  });

  it("tries no processes without `spawn`, and believes no durability without `reopen`", async () => {
    const storage = () =>
      Object.assign(new MemoryStorage(), {
        capabilities: { durability: "power", multiProcess: false, maxCommitBytes: 1e9 } as const,
      });
    const error = await runStorageContract({ open: async () => storage() }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining("the options have no `reopen` to show it") });
    const report = await runStorageContract(
      { open: async () => storage(), reopen: async (adapter) => adapter },
      { only: "kills:" },
    );
    expect(report.results.map(({ reason }) => reason)).toEqual(Array(2).fill("the options have no `spawn`"));
  });
});

describe("comes", () => {
  it("gives what comes, and hands on its failure", async () => {
    expect(await comes(Promise.resolve(1), "one must come")).toBe(1);
    await expect(comes(Promise.reject(new Error("no")), "one must come")).rejects.toThrow("no");
  });
});
