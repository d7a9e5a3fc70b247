/**
 * Where the time goes: `node profile.mjs MemoryStorage` (or another adapter) completes phases for some seconds under V8's
 * profiler, and `node profile.mjs SUITE` runs a suite under it. Prints the functions that took most of the time by themselves,
 * in percent of all samples without the idle ones; `--cpu-prof` of Node gives the same samples for a flame graph.
 */
import { Session } from "node:inspector/promises";
import { MemoryStorage } from "phasegate";
import { ADAPTERS } from "./adapters.mjs";
import { warmUp } from "./measure.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
const SECONDS = 10;
const INTERVAL_MICROSECONDS = 200;
const SHOWN = 25;
/** Samples in which the process waits. */
const IDLE = new Set(["(idle)", "(root)"]);

/** Completes phases on an adapter, through the engine. */
async function completePhases(name) {
  const adapter = ADAPTERS[name];
  const place = await adapter?.newPlace();
  const host = benchTool(PHASES, adapter === undefined ? new MemoryStorage() : await adapter.open(place));
  const { beforeEach, fn } = completing(host, PHASES, EVIDENCE);
  await warmUp({ beforeEach, fn }, completing(benchTool(PHASES), PHASES, EVIDENCE));
  return {
    run: async () => {
      for (const end = performance.now() + SECONDS * 1000; performance.now() < end; ) {
        await beforeEach();
        await fn();
      }
    },
    close: async () => {
      await host.engine.close();
      await adapter?.dropPlace(place);
    },
  };
}

/** The share of each function in the samples, the largest first. */
function sharesOf({ nodes, samples }) {
  const byId = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const counts = new Map();
  let all = 0;
  for (const sample of samples) {
    const { functionName, url } = byId.get(sample);
    if (IDLE.has(functionName)) continue;
    all += 1;
    const from = url.startsWith("node:") ? url : url.split("/").slice(-2).join("/");
    const name = `${functionName || "(anonymous)"} | ${from}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  return { idle: 1 - all / samples.length, shares: sorted.map(([name, count]) => [name, count / all]) };
}

const [name = "MemoryStorage"] = process.argv.slice(2);
const isAdapter = name === "MemoryStorage" || Object.hasOwn(ADAPTERS, name);
const { run, close } = isAdapter ? await completePhases(name) : await import(`./${name}.mjs`);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_MICROSECONDS });
await session.post("Profiler.start");
await run();
const { profile } = await session.post("Profiler.stop");
await close?.();
const { idle, shares } = sharesOf(profile);
console.log(`${name}: ${(idle * 100).toFixed(0)} % idle, and of the rest\n\n| % | function | file |\n|---|---|---|`);
for (const [function_, share] of shares.slice(0, SHOWN)) console.log(`| ${(share * 100).toFixed(1)} | ${function_} |`);
