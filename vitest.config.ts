import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}.ts`, import.meta.url));

const atLeast = (part: number) => ({ lines: part, branches: part, functions: part, statements: part });

/**
 * What decides whether a gate opens, and what keeps files and sessions whole, is tested to the last line; what reads workflows and
 * rules, to 90 %.
 */
const PLACES = {
  "src/sandbox/**": atLeast(100),
  "src/log/**": atLeast(100),
  "src/runtime/notifier.ts": atLeast(100),
  "src/workflow/cache.ts": atLeast(100),
  "src/phased/state/**": atLeast(100),
  "src/gate/**": atLeast(100),
  "src/{workflow,rules}/**": atLeast(90),
};
for (const place of Object.keys(PLACES)) {
  if (globSync(place).length === 0) throw new Error(`vitest.config.ts: nothing is covered by ${place}`);
}

/** Files that replace modules or timers, load modules anew, or signal their process: each has a process of its own. */
const ALONE = [
  "test/cli/serve{,-routed}-in-process.test.ts",
  "test/gate/compile-rules.test.ts",
  "test/mcp/serve-over-stdio.test.ts",
  // Their servers are of another SDK than those of other files.
  "test/mcp/sdk-1.test.ts",
  "test/mcp/sdk-1-oldest.slow.test.ts",
  "test/sandbox/{change,claim,replace,resolve}-faults.test.ts",
  "test/storage/sqlite/without-zstd.test.ts",
  "test/rules/rule-language.test.ts",
  // A timer that another file has left would be a step of the simulated world.
  "test/sim/sim.slow.test.ts",
];

/** Has packages loaded as a host loads them: micromark's build for development takes several times as long. */
export const asHostsLoad: Plugin = {
  name: "as-hosts-load",
  configResolved(config) {
    const { conditions } = config.ssr.resolve ?? {};
    if (conditions !== undefined) conditions.splice(0, conditions.length, "node");
  },
};

/** The files that take longest: three quarters of the time, a sixth of the tests. `npm run test:full` has them, `npm test` the others. */
const SLOW = ["test/**/*.slow.test.ts"];

/** What opens pages in a browser: `npm run test:browser`, which builds the site first. */
const IN_BROWSER = ["test/browser/**/*.test.ts"];

export const resolve = {
  // Tests import the package by its public names and run on the sources: no build, and coverage of src.
  alias: [
    { find: /^phasegate$/, replacement: source("index") },
    { find: /^phasegate\/([\w-]+)$/, replacement: source("$1") },
  ],
};

export default defineConfig(({ mode }) => {
  if (mode === "browser") {
    const outputFile = { json: "coverage/browser-results.json" };
    return {
      resolve,
      plugins: [asHostsLoad],
      test: {
        include: IN_BROWSER,
        testTimeout: 300_000,
        hookTimeout: 60_000,
        // A page shows what it has read: a test looks again until it is there.
        expect: { poll: { timeout: 20_000 } },
        // A test waits for browsers and servers most of its time.
        maxWorkers: availableParallelism(),
        reporters: ["default", "json"],
        outputFile,
      },
    };
  }
  const long = mode === "long" || mode === "fuzz";
  const isWhole = long || mode === "coverage";
  const isFull = mode === "full";
  const isSlow = (file: string) => file.endsWith(".slow.test.ts");
  const notNow = isWhole || isFull ? [] : SLOW;
  const options = {
    // `npm run test:long` (vitest --mode long): as a mode, since setting a variable differs from shell to shell.
    env: {
      ...(long && { PHASEGATE_LONG: "1" }),
      ...(mode === "fuzz" && { PHASEGATE_FUZZ_MINUTES: process.env.PHASEGATE_FUZZ_MINUTES ?? "60" }),
    },
    testTimeout: long ? 7_200_000 : 60_000,
    hookTimeout: long ? 7_200_000 : 60_000,
    // Two workers a core: test files wait for child processes and disks, and this takes a sixth off the time. Vitest's default
    // leaves a core to itself, which is half of a machine with two.
    maxWorkers: availableParallelism() * 2,
    // Node's default for new objects is small for this much garbage; this takes a twentieth off the time.
    execArgv: ["--max-semi-space-size=32"],
    setupFiles: ["test/support/children-setup.ts"],
    unstubEnvs: true,
    // A test that only passes the second time has found something.
    retry: 0,
  };
  return {
    test: {
      ...options,
      globalSetup: ["test/support/memory-setup.ts", "test/support/postgres-setup.ts"],
      projects: [
        {
          resolve,
          plugins: [asHostsLoad],
          test: { ...options, name: "alone", include: ALONE.filter((file) => isWhole || isSlow(file) === isFull) },
        },
        // A process for each file would spend a third of the run on starting, and on loading the same sources.
        {
          resolve,
          plugins: [asHostsLoad],
          test: {
            ...options,
            name: "together",
            include: isFull ? SLOW : ["test/**/*.test.ts"],
            // Some tests have packages of their own.
            exclude: ["**/node_modules/**", ...ALONE, ...IN_BROWSER, ...notNow],
            isolate: false,
          },
        },
      ],
      // The counts that .ci/run prints come from the JSON file of the same run.
      reporters: ["default", "json"],
      outputFile: { json: `coverage/${isFull ? "full" : "test"}-results.json` },
      coverage: {
        // Only with --coverage, as in `npm run test:coverage` and `npm run test:long`: a run takes half as long again with it.
        // It counts in the files that are included. V8's own counts slow all code down, also that of packages.
        provider: "istanbul",
        include: ["src/**/*.ts"],
        // What runs in a browser is opened by test/browser.
        exclude: ["src/inspector/page/**"],
        reporter: ["text", "html", "lcov"],
        thresholds: {
          // In all.
          ...atLeast(80),
          ...PLACES,
        },
      },
    },
  };
});
