/**
 * `node test/mutation/mutate-source.mjs PATH`: changes one source in all ways, one after another, runs tests on each change, and
 * sends the outcomes to the process that has started this one: scripts/test-mutation.mjs. That one says with environment
 * variables which tests these are.
 *
 * Each source has a process of its own: code that has the changes of a whole module in it is several times slower.
 */
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";

const [source] = process.argv.slice(2);
// A name of its own lets several sources be run at once.
const place = source.replaceAll("/", "-");
const incremental = process.env.PHASEGATE_MUTATION_INCREMENTAL === "true";

const outcomes = await new Stryker({
  mutate: [source],
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner", "./texts.mjs"].map((plugin) =>
    fileURLToPath(import.meta.resolve(plugin)),
  ),
  ignorers: ["texts"],
  // With Stryker's own `testFiles`, what is changed in code that runs while a module is loaded would not be active then, and
  // survive.
  vitest: { configFile: "vitest.mutation.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 1,
  // How long a change that does not end may take beyond one and a half times what its tests usually take, in milliseconds.
  timeoutMS: 2500,
  tempDirName: `.stryker-tmp/${place}`,
  ignorePatterns: [".stryker-tmp", "bench", "coverage", "dist", "reports"],
  incremental,
  incrementalFile: `reports/mutation/${place}.json`,
  reporters: [],
  warnings: { slow: false },
  // It warns if there is no reporter.
  logLevel: "error",
  allowConsoleColors: false,
}).runMutationTest();
process.send(
  outcomes.map(({ fileName, location, mutatorName, replacement, status }) => {
    return { fileName, location, mutatorName, replacement, status };
  }),
  // Before that, what does not fit into the channel's buffer would be lost.
  () => process.disconnect(),
);
