/** The simulator's command: see docs/design/simulator.md. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Engine } from "phasegate";
import type { RoutedEngine } from "phasegate/routed";
import type { Recorder } from "../../src/workspace/session/machine.js";
import { asText, fromText } from "./choices.js";
import { DEFECTS } from "./defects.js";
import { explore } from "./explore.js";
import { FileStore } from "./file-store.js";
import { loadPhased, PhasedProduct } from "./phased.js";
import { loadPlanned, PlannedProduct } from "./planned.js";
import { PostgresStore } from "./postgres-store.js";
import { loadRecorded, RecordedProduct } from "./recorded.js";
import { loadRouted, RoutedProduct } from "./routed.js";
import { PHASED_SCRIPTS, ROUTED_SCRIPTS, type Script } from "./scripts.js";
import { shrink } from "./shrink.js";
import { SqliteStore } from "./sqlite-store.js";
import { type Report, type Size, simulate, USUAL, type World } from "./world.js";

const OPTIONS = {
  seed: { type: "string", default: "1" },
  seeds: { type: "string", default: "1" },
  rounds: { type: "string", default: String(USUAL.rounds) },
  writers: { type: "string", default: String(USUAL.writers) },
  hosts: { type: "string", default: String(USUAL.hosts) },
  sessions: { type: "string", default: String(USUAL.sessions) },
  faults: { type: "string", default: String(USUAL.faults) },
  keep: { type: "string" },
  trace: { type: "boolean", default: false },
  explore: { type: "string" },
  world: { type: "string", default: "" },
  only: { type: "string" },
  forever: { type: "boolean", default: false },
  routed: { type: "boolean", default: false },
  planned: { type: "boolean", default: false },
  recorded: { type: "boolean", default: false },
  store: { type: "string", default: "memory" },
  defects: { type: "boolean", default: false },
  defect: { type: "string" },
  unshrunk: { type: "boolean", default: false },
} as const;

const { values } = parseArgs({ options: OPTIONS });
const size: Size = {
  rounds: Number(values.rounds),
  writers: Number(values.writers),
  hosts: Number(values.hosts),
  sessions: Number(values.sessions),
  faults: Number(values.faults),
  operations: USUAL.operations,
};
const kept = values.keep === undefined ? undefined : fromText(values.keep);
const first = Number(values.seed);
const last = values.forever ? Number.POSITIVE_INFINITY : first + Number(values.seeds) - 1;
const STORES = { memory: undefined, files: FileStore, sqlite: SqliteStore, postgres: PostgresStore } as const;
if (!isStore(values.store)) throw new Error(`--store is ${values.store}: it must be ${Object.keys(STORES).join(", ")}`);
const store = STORES[values.store];
const run = (seed: number, only?: Iterable<string>) => {
  const options = { size, kept: only, store };
  if (values.routed) return simulate(seed, (world: World<RoutedEngine>) => new RoutedProduct(world), options);
  if (values.recorded) return simulate(seed, (world: World<Recorder>) => new RecordedProduct(world), options);
  const Product = values.planned ? PlannedProduct : PhasedProduct;
  return simulate(seed, (world: World<Engine>) => new Product(world), options);
};

/** How many seeds are tried for a planted defect. */
const SEEDS_MAX = 20_000;

await loadPhased();
await loadRouted();
await loadPlanned();
await loadRecorded();
const begun = performance.now();
if (values.defects || values.defect !== undefined) findDefects();
else if (values.explore === undefined) await runSeeds();
else await exploreAll(values.explore === "all" ? undefined : Number(values.explore));

/** Runs one seed after the other, up to the first one that fails. */
async function runSeeds(): Promise<void> {
  let steps = 0;
  for (let seed = first; seed <= last; seed += 1) {
    const report = await run(seed, kept);
    steps += report.steps;
    if (values.trace) console.log(report.trace.join("\n"));
    if (first === last) console.log(`seed ${seed}: ${report.steps} steps, trace ${report.hash}`);
    if (report.problems.length > 0) return explain(report);
    if ((seed - first + 1) % 1000 === 0) console.log(`seed ${seed}: ${steps} steps in ${seconds()} s`);
  }
  console.log(`no problem in ${steps} steps and ${seconds()} s`);
}

/** Tries every order of small worlds, up to a depth: of all, or of those whose name begins as asked for. */
async function exploreAll(depth: number | undefined): Promise<void> {
  for (const [name, script] of Object.entries(PHASED_SCRIPTS)) await exploreOne(name, script, depth);
  for (const [name, script] of Object.entries(ROUTED_SCRIPTS)) await exploreOne(name, script, depth);
}

async function exploreOne<E>(name: string, script: Script<E>, depth: number | undefined): Promise<void> {
  const isNamed = values.world in PHASED_SCRIPTS || values.world in ROUTED_SCRIPTS;
  if (isNamed ? name !== values.world : !name.startsWith(values.world)) return;
  const only = values.only?.split(",").map(Number);
  const chosen = size.faults === 0 ? ([0] as const) : ([1] as const);
  for (const faults of only === undefined ? ([0, 1] as const) : chosen) {
    const exploration = { faults, only, ...(depth !== undefined && { depth }) };
    const { runs, states, problems, trace, choices } = await explore(script, exploration);
    console.log(
      `${name}: ${depth === undefined ? "whole" : `depth ${depth}`}, ${faults} faults, ${runs} runs, ${states} states, ${seconds()} s`,
    );
    if (problems.length === 0) continue;
    process.exitCode = 1;
    const command = `npm run sim -- --explore ${depth ?? "all"} --world "${name}"`;
    const path = choices.slice(0, choices.findLastIndex((value) => value !== 0) + 1);
    const again = `${command} --faults ${faults} --only "${path}"`;
    console.log([...trace, "", ...problems, "", `The same again: ${again}`].join("\n"));
  }
}

/** Prints a table: the first seed that finds each planted defect. Each is planted in a process of its own. */
function findDefects(): void {
  const hooks = new URL("../../scripts/run-sources.mjs", import.meta.url).href;
  const args = ["--import", hooks, fileURLToPath(import.meta.url), "--unshrunk", "--seed", String(first), "--seeds"];
  console.log("| defect | found by seed |\n|---|---|");
  for (const { name, what, world = [] } of DEFECTS) {
    if (values.defect !== undefined && values.defect !== name) continue;
    const env = { ...process.env, PHASEGATE_DEFECT: name };
    const { stdout, stderr } = spawnSync(process.execPath, [...args, String(SEEDS_MAX), ...world], {
      env,
      encoding: "utf8",
    });
    const found = /^seed (\d+) fails/m.exec(stdout)?.[1];
    if (found === undefined) console.error(stderr);
    if (found === undefined) process.exitCode = 1;
    console.log(`| ${what} | ${found ?? "not found"} |`);
  }
}

/** Prints a failure, shrunk, with the command that repeats it. */
async function explain(report: Report): Promise<void> {
  process.exitCode = 1;
  console.log(`\nseed ${report.seed} fails after ${report.steps} steps; shrinking ${report.unusual.length} choices`);
  if (values.unshrunk) return;
  const shrunk = await shrink(report, (only) => run(report.seed, only));
  console.log(`\n${shrunk.trace.join("\n")}\n\n${shrunk.problems.join("\n")}\n`);
  const product = (["routed", "planned", "recorded"] as const).find((name) => values[name]);
  const kind = `${product === undefined ? "" : ` --${product}`}${store === undefined ? "" : ` --store ${values.store}`}`;
  const shape = (["rounds", "writers", "hosts", "sessions", "faults"] as const)
    .filter((name) => size[name] !== USUAL[name])
    .map((name) => ` --${name} ${size[name]}`);
  const command = `npm run sim -- --seed ${report.seed}${kind}${shape.join("")}`;
  console.log(`The whole run:  ${command}\nThis one:       ${command} --keep "${asText(shrunk.unusual)}" --trace`);
}

function isStore(name: string): name is keyof typeof STORES {
  return Object.hasOwn(STORES, name);
}

function seconds(): number {
  return Math.round(performance.now() - begun) / 1000;
}
