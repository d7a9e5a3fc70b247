import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Engine } from "phasegate";
import type { RoutedEngine } from "phasegate/routed";
import { beforeAll, describe, expect, it } from "vitest";
import { SeededChoices } from "./choices.js";
import { DEFECTS, plant } from "./defects.js";
import { explore } from "./explore.js";
import { loadPhased, PhasedProduct } from "./phased.js";
import { loadRouted, RoutedProduct } from "./routed.js";
import { simulate, type World } from "./world.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = (seed: number) => simulate(seed, (world: World<Engine>) => new PhasedProduct(world));
const runRouted = (seed: number) => simulate(seed, (world: World<RoutedEngine>) => new RoutedProduct(world));

beforeAll(async () => {
  await loadPhased();
  await loadRouted();
});

describe("simulated worlds", () => {
  it("keep every promise", async () => {
    const failed: string[] = [];
    for (let seed = 1; seed <= 300; seed += 1) {
      const isRouted = seed % 4 === 0;
      const { problems } = await (isRouted ? runRouted(seed) : run(seed));
      const command = `npm run sim -- --seed ${seed}${isRouted ? " --routed" : ""}`;
      failed.push(...problems.map((problem) => `${command}: ${problem}`));
    }
    expect(failed).toEqual([]);
  });

  it("keep them in every order of the first steps of a small one, with one crash, cut or fault", async () => {
    const { problems, runs, states } = await explore({ depth: 4, faults: 1 });
    expect(problems).toEqual([]);
    expect(runs).toBeGreaterThan(100);
    expect(states).toBeGreaterThan(50);
  });

  it("are the same to the letter for the same seed, and others for another", async () => {
    for (const simulated of [run, runRouted]) {
      const [first, again, other] = [await simulated(7), await simulated(7), await simulated(8)];
      expect(again.trace).toEqual(first.trace);
      expect(again.hash).toBe(first.hash);
      expect(other.hash).not.toBe(first.hash);
    }
  });

  it("have everything in them that goes wrong", async () => {
    const seen = new Set<string>();
    const words = ["request-lost", "answer-lost", "doubled", "late", "refused", "crashes", "is cut off", "ahead"];
    words.push("gives up", "the answer is lost", "CONFLICT", "approve", "waive", "rollback", "retry");
    for (let seed = 1; seed <= 40; seed += 1) {
      const { trace } = await run(seed);
      for (const word of words) if (trace.some((line) => line.includes(word))) seen.add(word);
    }
    expect(words.filter((word) => !seen.has(word))).toEqual([]);
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

describe("a planted defect", () => {
  it("has its place in the sources, so that the simulator can be tried on it", () => {
    for (const defect of DEFECTS) {
      const source = readFileSync(new URL(`../../src/${defect.file}`, import.meta.url), "utf8");
      expect(plant(source, defect)).not.toBe(source);
    }
  });

  it("is found, and the command that is printed finds it again in a short trace", async () => {
    const sim = async (...args: string[]) => {
      const node = ["--import", "./scripts/run-sources.mjs", "test/sim/main.ts", ...args];
      const env = { ...process.env, PHASEGATE_DEFECT: "conflict-is-done" };
      const failing = promisify(execFile)(process.execPath, node, { cwd: ROOT, env });
      return failing.then(
        () => expect.unreachable("the defect was not found"),
        ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout }),
      );
    };
    const { code, stdout } = await sim("--seeds", "100");
    expect(code).toBe(1);
    const [, seed = "", kept = ""] =
      /This one: {7}npm run sim -- --seed (\d+) --keep "(.+)" --trace/.exec(stdout) ?? [];
    const problem = "an acknowledged commit is not in the log";
    expect(stdout).toContain(problem);
    const again = await sim("--seed", seed, "--keep", kept);
    expect(again.stdout).toContain(problem);
    const steps = (text: string) => Number(/fails after (\d+) steps/.exec(text)?.[1]);
    expect(steps(again.stdout)).toBeLessThan(steps(stdout));
  });
});
