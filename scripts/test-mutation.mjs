/**
 * `npm run test:mutation -- [--incremental] [--file name]… [module…]`: changes the sources in thousands of small ways, one
 * after another, and runs the tests of the module on each. A change that no test notices is a survivor: a test is missing, or the code is
 * not needed. Prints the survivors and the score of each module; fails below the module's least score. See
 * docs/design/mutation.md.
 */
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, relative } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";

/**
 * The changed sources, the tests that must notice, and the least share of the changes that they notice, in percent. Sources
 * that remember nothing from call to call are not loaded anew for each test file.
 */
const MODULES = {
  gate: { sources: ["src/gate/*.ts"], tests: ["test/gate/*.test.ts"], least: 95 },
  approval: {
    sources: ["src/approval/*.ts"],
    tests: [
      "test/approval/*.test.ts",
      "test/{adversarial,inspector}/passkeys.test.ts",
      "test/phased/approval/passkeys.test.ts",
    ],
    least: 95,
  },
  log: { sources: ["src/log/*.ts"], tests: ["test/log/*.test.ts"], least: 95 },
  phased: { sources: ["src/phased/state/*.ts"], tests: ["test/phased/state/!(*.property).test.ts"], least: 95 },
  routed: { sources: ["src/routed/state/*.ts"], tests: ["test/routed/state/*.test.ts"], least: 95 },
  sandbox: { sources: ["src/sandbox/*.ts"], tests: ["test/sandbox/*.test.ts"], least: 90 },
  rules: {
    sources: ["src/rules/*.ts"],
    tests: ["test/rules/*.test.ts", "test/gate/compile-rules.test.ts"],
    least: 90,
  },
  plan: {
    sources: ["src/plan/*.ts"],
    // Real plans are not part of the project: what they notice does not count.
    tests: ["test/plan/!(*.property|linear-time|corpus).test.ts"],
    least: 90,
    remembersNothing: true,
  },
  tools: {
    sources: ["src/tools/wire.ts", "src/tools/routed/requests.ts", "src/tools/phased/actions.ts"],
    tests: ["test/tools/{requests,workflow-tool,routed-budget}.test.ts"],
    least: 90,
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { incremental: { type: "boolean" }, file: { type: "string", multiple: true, default: [] } },
});
const unknown = positionals.find((name) => !Object.hasOwn(MODULES, name));
if (unknown !== undefined) {
  console.error(`There is no module ${unknown}. Name some of: ${Object.keys(MODULES).join(", ")}.`);
  process.exit(2);
}

/** Returns the sources of a module: those that `--file` names, or all. */
function sourcesOf(name) {
  const all = globSync(MODULES[name].sources);
  const chosen = all.filter((path) => values.file.length === 0 || values.file.includes(basename(path)));
  if (chosen.length > 0) return chosen;
  console.error(`${name} has no such file. Name some of: ${all.map((path) => basename(path)).join(", ")}.`);
  process.exit(2);
}

/** Runs the tests of a module on each change, and returns the outcomes. */
function changed(name) {
  const { tests, remembersNothing = false } = MODULES[name];
  // For vitest.mutation.config.ts. With Stryker's own `testFiles`, what is changed in code that runs while a module is
  // loaded would not be active then, and survive.
  process.env.PHASEGATE_MUTATION_TESTS = globSync(tests).join(" ");
  process.env.PHASEGATE_MUTATION_KEEPS_SOURCES = String(remembersNothing);
  process.env.PHASEGATE_MUTATION_INCREMENTAL = String(values.incremental === true);
  // A name of its own lets several modules or files be run at once.
  const place = [name, ...values.file].join("-");
  return new Stryker({
    mutate: sourcesOf(name),
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", "./scripts/mutation-texts.mjs"],
    ignorers: ["texts"],
    vitest: { configFile: "vitest.mutation.config.ts", related: false },
    coverageAnalysis: "perTest",
    concurrency: availableParallelism(),
    tempDirName: `.stryker-tmp/${place}`,
    ignorePatterns: [".stryker-tmp", "bench", "coverage", "dist", "reports"],
    incremental: values.incremental === true,
    incrementalFile: `reports/mutation/${place}.json`,
    reporters: ["progress"],
    warnings: { slow: false },
    logLevel: "warn",
    allowConsoleColors: false,
  }).runMutationTest();
}

/** Returns a change as one line: the place, what stood there, and what was put there. */
function lineOf({ fileName, location: { start, end }, mutatorName, replacement = "", status }) {
  const lines = readFileSync(fileName, "utf8").split("\n");
  const line = lines[start.line - 1] ?? "";
  const before = line.slice(start.column - 1, end.line === start.line ? end.column - 1 : undefined);
  const place = `${relative("", fileName)}:${start.line}:${start.column}`;
  const isCovered = status === "NoCoverage" ? " (no test gets here)" : "";
  const after = replacement.replace(/\s+/g, " ");
  return `${place} ${mutatorName}${isCovered}: ${before.slice(0, 90)} → ${after.slice(0, 60)}`;
}

const scores = [];
for (const name of positionals.length === 0 ? Object.keys(MODULES) : positionals) {
  const began = Date.now();
  const outcomes = await changed(name);
  const count = (...statuses) => outcomes.filter(({ status }) => statuses.includes(status)).length;
  const [killed, timedOut] = [count("Killed"), count("Timeout")];
  const survivors = outcomes.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const all = killed + timedOut + survivors.length;
  const [score, minutes] = [(100 * (killed + timedOut)) / all, (Date.now() - began) / 60_000];
  for (const survivor of survivors) console.log(lineOf(survivor));
  const row = { changes: all, killed, "timed out": timedOut, survived: survivors.length, score: score.toFixed(1) };
  scores.push([name, { ...row, least: MODULES[name].least, minutes: minutes.toFixed(1) }]);
  console.log(`${name}: ${score.toFixed(1)} % of ${all} in ${minutes.toFixed(1)} minutes\n`);
  if (score < MODULES[name].least) process.exitCode = 1;
}
console.table(Object.fromEntries(scores));
