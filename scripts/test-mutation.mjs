/**
 * `npm run test:mutation -- [--incremental] [--file name]… [module…]`: changes the sources in thousands of small ways, one
 * after another, and runs the tests of the module on each. A change that no test notices is a survivor: a test is missing, or the code is
 * not needed. Prints the survivors and the score of each module; fails below the module's least score. See
 * docs/design/mutation.md.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/**
 * The changed sources, the tests that must notice, and the least share of the changes that they notice, in percent. The
 * sources that remember something from call to call (`remembering`) are loaded anew for each test file; the others are not.
 */
const MODULES = {
  gate: {
    sources: ["src/gate/*.ts"],
    tests: ["test/gate/*.test.ts"],
    least: 95,
    remembering: ["src/gate/judge.ts"],
  },
  approval: {
    sources: ["src/approval/*.ts"],
    tests: [
      "test/approval/*.test.ts",
      "test/{adversarial/passkeys.slow,inspector/passkeys}.test.ts",
      "test/phased/approval/passkeys.test.ts",
    ],
    least: 95,
  },
  log: { sources: ["src/log/*.ts"], tests: ["test/log/*.test.ts"], least: 95 },
  phased: { sources: ["src/phased/state/*.ts"], tests: ["test/phased/state/!(*.property).test.ts"], least: 95 },
  routed: { sources: ["src/routed/state/*.ts"], tests: ["test/routed/state/*.test.ts"], least: 95 },
  sandbox: {
    sources: ["src/sandbox/*.ts"],
    tests: ["test/sandbox/*.test.ts"],
    least: 90,
    // Tests of failures give them another file system, which only what is loaded for them gets.
    remembering: ["src/sandbox/*.ts"],
  },
  rules: {
    sources: ["src/rules/*.ts"],
    tests: ["test/rules/*.test.ts", "test/gate/compile-rules.test.ts"],
    least: 90,
    remembering: ["src/rules/{language,options}.ts"],
  },
  plan: {
    sources: ["src/plan/*.ts"],
    // Real plans are not part of the project: what they notice does not count.
    tests: ["test/plan/!(*.property|*.slow|corpus).test.ts"],
    least: 95,
  },
  tools: {
    sources: [
      "src/tools/wire.ts",
      "src/tools/schemas.ts",
      "src/tools/routed/requests.ts",
      "src/tools/phased/actions.ts",
    ],
    tests: ["test/tools/{requests,pages,workflow-tool,routed-budget}.test.ts"],
    least: 90,
    remembering: ["src/tools/phased/actions.ts"],
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

/** Returns the sources of a module: those that `--file` names, or all. The largest come first, since they take longest. */
function sourcesOf(name) {
  const all = globSync(MODULES[name].sources);
  const chosen = all.filter((path) => values.file.length === 0 || values.file.includes(basename(path)));
  if (chosen.length > 0) return chosen.sort((one, other) => statSync(other).size - statSync(one).size);
  console.error(`${name} has no such file. Name some of: ${all.map((path) => basename(path)).join(", ")}.`);
  process.exit(2);
}

const SCRIPT = fileURLToPath(new URL("../test/mutation/mutate-source.mjs", import.meta.url));

/** Runs the tests of a module on each change of one source, in a process of its own, and returns the outcomes. */
async function changed(name, path) {
  const { sources, tests, remembering = [] } = MODULES[name];
  const env = {
    ...process.env,
    PHASEGATE_MUTATION_TESTS: globSync(tests).join(" "),
    PHASEGATE_MUTATION_SOURCES: globSync(sources).join(" "),
    PHASEGATE_MUTATION_REMEMBERING: globSync(remembering).join(" "),
    PHASEGATE_MUTATION_INCREMENTAL: String(values.incremental === true),
  };
  const child = fork(SCRIPT, [path], { env });
  let outcomes;
  child.on("message", (message) => {
    outcomes = message;
  });
  const [code] = await once(child, "exit");
  if (code !== 0 || outcomes === undefined) throw new Error(`the run of ${path} has failed (${code})`);
  return outcomes;
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

/** Prints what was survived in a module, and returns its row. */
function report(name, outcomes, milliseconds) {
  const count = (...statuses) => outcomes.filter(({ status }) => statuses.includes(status)).length;
  const [killed, timedOut] = [count("Killed"), count("Timeout")];
  const survivors = outcomes.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  // Most of these are code that can't be loaded with the change in it.
  const failed = count("RuntimeError", "CompileError", "Pending");
  const all = killed + timedOut + survivors.length;
  const score = all + failed === 0 ? 100 : (100 * (killed + timedOut)) / Math.max(1, all);
  const { least } = MODULES[name];
  const minutes = (milliseconds / 60_000).toFixed(1);
  for (const survivor of survivors) console.log(lineOf(survivor));
  console.log(`${name}: ${score.toFixed(1)} % of ${all} in ${minutes} minutes of runs\n`);
  if (score < least) process.exitCode = 1;
  const counts = { changes: all, killed, "timed out": timedOut, survived: survivors.length, failed };
  return { ...counts, score: score.toFixed(1), least, "minutes of runs": minutes };
}

const begun = performance.now();
const names = positionals.length === 0 ? Object.keys(MODULES) : [...new Set(positionals)];
const modules = names.map((name) => ({ name, left: sourcesOf(name), outcomes: [], milliseconds: 0, running: 0 }));
const rows = {};

/** Takes one source after the other, of one module after the other. */
async function work() {
  for (const module of modules) {
    for (let path = module.left.shift(); path !== undefined; path = module.left.shift()) {
      const start = performance.now();
      module.running += 1;
      module.outcomes.push(...(await changed(module.name, path)));
      module.running -= 1;
      module.milliseconds += performance.now() - start;
      console.log(`${path} in ${((performance.now() - start) / 1000).toFixed(0)} s`);
    }
    const { name, outcomes, milliseconds } = module;
    if (module.running === 0 && rows[name] === undefined) rows[name] = report(name, outcomes, milliseconds);
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, work));
console.table(rows);
console.log(`${((performance.now() - begun) / 60_000).toFixed(1)} minutes`);
