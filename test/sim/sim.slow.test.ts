import type { Engine } from "phasegate";
import type { RoutedEngine } from "phasegate/routed";
import { beforeAll, describe, expect, it } from "vitest";
import type { Recorder } from "../../src/workspace/session/machine.js";
import { howOften } from "../support/how-often.js";
import { SeededChoices } from "./choices.js";
import { type Exploration, explore } from "./explore.js";
import { FileStore } from "./file-store.js";
import { loadPhased, PhasedProduct } from "./phased.js";
import { loadPlanned, PlannedProduct } from "./planned.js";
import { PostgresStore } from "./postgres-store.js";
import { loadRecorded, RecordedProduct } from "./recorded.js";
import { loadRouted, RoutedProduct } from "./routed.js";
import { PHASED_SCRIPTS, ROUTED_SCRIPTS } from "./scripts.js";
import { SqliteStore } from "./sqlite-store.js";
import { NetworkStore } from "./store.js";
import { type StoreClass, simulate, type World } from "./world.js";

const STORES = { memory: NetworkStore, files: FileStore, sqlite: SqliteStore, postgres: PostgresStore } as const;
type StoreName = keyof typeof STORES;

/** The products, each in a world with a store. */
const PRODUCTS = {
  phased: (seed: number, store: StoreClass) =>
    simulate(seed, (world: World<Engine>) => new PhasedProduct(world), { store }),
  routed: (seed: number, store: StoreClass) =>
    simulate(seed, (world: World<RoutedEngine>) => new RoutedProduct(world), { store }),
  planned: (seed: number, store: StoreClass) =>
    simulate(seed, (world: World<Engine>) => new PlannedProduct(world), { store }),
  recorded: (seed: number, store: StoreClass) =>
    simulate(seed, (world: World<Recorder>) => new RecordedProduct(world), { store }),
};
type ProductName = keyof typeof PRODUCTS;
const NAMES = ["phased", "routed", "planned", "recorded"] as const satisfies readonly ProductName[];

const run = (seed: number, product: ProductName = "phased", store: StoreName = "memory") =>
  PRODUCTS[product](seed, STORES[store]);

/** What has happened in worlds that were looked at: the same seed gives the same world. */
const traces = new Map<string, readonly string[]>();

/** Returns what is wrong in worlds, each with the command that repeats it. */
async function failing(worlds: readonly (readonly [seed: number, product: ProductName, store: StoreName])[]) {
  const failed: string[] = [];
  for (const [seed, product, store] of worlds) {
    const { problems, trace } = await run(seed, product, store);
    traces.set(`${seed} ${product} ${store}`, trace);
    const command = `npm run sim -- --seed ${seed}${product === "phased" ? "" : ` --${product}`} --store ${store}`;
    failed.push(...problems.map((problem) => `${command}: ${problem}`));
  }
  return failed;
}

/** The small worlds that are explored. */
const EXPLORED = [
  ...Object.entries(PHASED_SCRIPTS).map(([name, script]) => [name, (of: Exploration) => explore(script, of)] as const),
  ...Object.entries(ROUTED_SCRIPTS).map(([name, script]) => [name, (of: Exploration) => explore(script, of)] as const),
];

/** Those that are explored whole: each watcher adds many orders. */
const UNWATCHED = EXPLORED.filter(([name]) => !name.endsWith("watched"));

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

beforeAll(async () => {
  await loadPhased();
  await loadRouted();
  await loadPlanned();
  await loadRecorded();
});

describe("simulated worlds", () => {
  it.each([
    ["phased", howOften(50, 130)],
    ["routed", howOften(20, 50)],
    ["planned", howOften(10, 20)],
    ["recorded", howOften(10, 20)],
  ] as const)("keep every promise: %s", async (product, count) => {
    expect(await failing(seeds(count).map((seed) => [seed, product, "memory"]))).toEqual([]);
  });

  it.each(["files", "sqlite", "postgres"] as const)("keep every promise with the adapter for %s", async (store) => {
    expect(await failing(seeds(6).map((seed) => [seed, NAMES[seed % 4] ?? "phased", store]))).toEqual([]);
  });

  it.each(EXPLORED)("keep them in every order of the first steps, with one crash, cut or fault: %s", async (_, run) => {
    const { problems, runs, states } = await run({ depth: howOften(1, 6), faults: 1 });
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(40);
    expect(states).toBeGreaterThan(20);
  });

  it.each(UNWATCHED.slice(0, howOften(2, 5)))("keep them in every order of all steps: %s", async (_, run) => {
    const { problems, ends, states } = await run({ faults: 0 });
    expect(problems).toEqual([]);
    expect(ends.size).toBeGreaterThan(10);
    expect(states).toBeGreaterThan(50);
  });

  it.each(UNWATCHED.slice(0, howOften(0, 3)))("end alike in all orders that need not be tried: %s", async (_, run) => {
    const [few, all] = [await run({ faults: 0 }), await run({ faults: 0, triesAll: true })];
    expect(few.ends).toEqual(all.ends);
    expect(few.runs).toBeLessThan(all.runs / 10);
  });

  it("are the same to the letter for the same seed, and others for another", async () => {
    const worlds: readonly (readonly [ProductName, StoreName])[] = [
      ...NAMES.map((product) => [product, "memory"] as const),
      ...(["files", "sqlite", "postgres"] as const).map((store) => ["phased", store] as const),
    ];
    for (const [product, store] of worlds) {
      const [first, again, other] = [
        await run(7, product, store),
        await run(7, product, store),
        await run(8, product, store),
      ];
      expect(again.trace, `${product} ${store}`).toEqual(first.trace);
      expect(again.hash).toBe(first.hash);
      expect(other.hash).not.toBe(first.hash);
    }
  });

  // Worlds with a database take longest: what is rare in them is looked for in the long form.
  it.each<[ProductName, StoreName, number, string]>([
    ["phased", "memory", 40, "request-lost,answer-lost,doubled,late,refused,crashes,is cut off,ahead,gives up"],
    ["phased", "memory", 80, "cancels,CANCELLED"],
    ["routed", "memory", 80, "CONFLICT,CANCELLED,DECIDER_FAILED,STEP_NOT_CURRENT,approve,deny,release,retry"],
    ["phased", "memory", 40, "the answer is lost,CONFLICT,approve,waive,rollback,retry"],
    ["planned", "memory", 30, '"task","sync","forge",takes a snapshot,is written,by hand'],
    ["phased", "files", 10, "disk: ,the power fails"],
    ["phased", "sqlite", 40, `COMMIT of,COMMIT which is done,a write of,a read of${howOften("", ",BEGIN of")}`],
    [
      "phased",
      "postgres",
      40,
      `lost before,lost after,40001,57P01,not replicated,refuses${howOften("", ",lost meanwhile,25006")}`,
    ],
  ])("have everything in them that goes wrong: %s, %s", async (product, store, worlds, list) => {
    const words = new Set(list.split(","));
    for (const seed of seeds(worlds)) {
      if (words.size === 0) break;
      const trace = traces.get(`${seed} ${product} ${store}`) ?? (await run(seed, product, store)).trace;
      for (const word of words) if (trace.some((line) => line.includes(word))) words.delete(word);
    }
    expect([...words]).toEqual([]);
  });
});

describe("choices", () => {
  it("stay what they were when others become the usual ones", () => {
    const all = new SeededChoices(5);
    const values = Array.from({ length: 20 }, () => [all.pick("a", 9), all.pick("b", 9)]);
    const kept = all.unusual.filter((name) => name.startsWith("a:"));
    const some = new SeededChoices(5, kept);
    expect(Array.from({ length: 20 }, () => [some.pick("a", 9), some.pick("b", 9)])).toEqual(
      values.map(([a]) => [a, 0]),
    );
    expect(some.unusual).toEqual(kept);
  });
});
