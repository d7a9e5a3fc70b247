/**
 * Runs the benchmarks that take seconds each, and prints a table. `--all` runs those that take minutes, too, and keeps the
 * table in RESULTS.md. Names as arguments run only those suites, and `concurrent:PostgresStorage` one suite with one adapter.
 * `--only TEXT` runs the suites and sections whose rows in RESULTS.md have that text, of those that are named if any are, and
 * prints these rows. `--runs N` runs each suite that takes seconds N times: a row is the run with the middle ratio, and its bar
 * is held if each run is within it.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";

const QUICK = [
  "transitions",
  "wire",
  "rules",
  "long-sessions",
  "durable",
  "postgres",
  "listing",
  "sqlite",
  "concurrent",
  "together",
  "statistics",
  "routed",
  "preload",
  "workspace",
  "langgraph",
  "openworkflow",
  "memory",
  "plans",
  "planned",
  "import-time",
  "serve-start",
];
/** The last two take minutes. */
const SUITES = [...QUICK, "inspector", "retrieval"];
/** What has a table of its own, and takes minutes, too. */
const SECTIONS = ["contention", "answers", "floors", "libraries", "agents"];
const RESULTS = new URL("RESULTS.md", import.meta.url);
const { values, positionals } = parseArgs({
  options: { only: { type: "string" }, all: { type: "boolean" }, runs: { type: "string", default: "1" } },
  allowPositionals: true,
});
const { only = "", all = false } = values;
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs is a whole number from 1 on, not ${values.runs}`);
const named = new Map(positionals.map((name) => name.split(":")));
const parts = only === "" ? named : await withRows(only, named);
const chosen = [...parts.keys()];
const unknown = chosen.find((name) => ![...SUITES, ...SECTIONS].includes(name));
if (unknown !== undefined) throw new Error(`there is no suite ${unknown}`);
const isWhole = all && chosen.length === 0;
const isChosen = (name) => isWhole || (chosen.length === 0 ? QUICK.includes(name) : parts.has(name));
const load = () => loadavg()[0].toFixed(1);

/** True for a row of a table whose first two cells have a text, `suite | what`: the others have figures. */
function isNamed(line, text) {
  return line.startsWith("|") && line.split("|").slice(1, 3).join("|").includes(text);
}

/** Those of the named suites and sections, or of all, that have rows with a text. */
async function withRows(text, named) {
  const found = new Set();
  let section = "";
  for (const line of (await readFile(RESULTS, "utf8")).split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3).toLowerCase();
    if (!isNamed(line, text)) continue;
    const [, suite = ""] = line.split("|").map((cell) => cell.trim());
    found.add(section === "" ? suite : section);
  }
  const names = [...found].filter((name) => [...SUITES, ...SECTIONS].includes(name));
  const wanted = names.filter((name) => named.size === 0 || named.has(name));
  if (wanted.length === 0)
    throw new Error(`RESULTS.md has no row of ${[...named.keys()].join(", ") || "any suite"} with: ${text}`);
  return new Map(wanted.map((name) => [name, named.get(name)]));
}

/** A suite in a process of its own: what one leaves in memory, and teaches the compiler, must not be another one's time. */
async function runAlone(name) {
  const child = fork(new URL("run-suite.mjs", import.meta.url), [name, parts.get(name) ?? ""], {
    execArgv: process.execArgv,
  });
  let found;
  child.on("message", (message) => {
    found = message;
  });
  const [code] = await once(child, "exit");
  if (code !== 0 || found === undefined) throw new Error(`${name} has failed (${code})`);
  return found;
}

/** The text of a section; of its rows only those with a text. */
function rowsWith(section, text) {
  const isOther = (line) => line.startsWith("|") && !line.startsWith("|---") && !isNamed(line, text);
  const lines = section.split("\n");
  return lines.filter((line, index) => !isOther(line) || lines[index + 1]?.startsWith("|---")).join("\n");
}

/** Says what begins, and after which time. */
function begins(name) {
  console.log(`${name} (${(performance.now() / 1000).toFixed(0)} s)`);
}

/** A row of several runs: the run with the middle ratio, and the ratios of all of them. */
function rowOf(suite, ofRuns) {
  const sorted = ofRuns.toSorted((one, other) => one.ratio - other.ratio);
  const middle = sorted[Math.floor(sorted.length / 2)];
  const bar = middle.bar === undefined ? "–" : Number(middle.bar.toFixed(3));
  const held = bar === "–" ? "–" : sorted.at(-1).ratio <= middle.bar ? "yes" : "no";
  return { suite, ...middle, bar, ratios: ofRuns.map(({ ratio }) => ratio), held };
}

const loadBefore = load();
/** The rows of each suite, one list for each of its runs. */
const found = new Map();
for (let run = 1; run <= runs; run += 1) {
  for (const suite of SUITES.filter(isChosen)) {
    if (run > 1 && !QUICK.includes(suite)) continue;
    begins(suite);
    const ofRun = (await runAlone(suite)).filter(({ what }) => isNamed(`| ${suite} | ${what} |`, only));
    found.set(suite, [...(found.get(suite) ?? []), ofRun]);
    for (const { what, figure, baseline, ratio, bar = Number.POSITIVE_INFINITY } of ofRun) {
      console.log(`${ratio <= bar ? "ok  " : "OVER"} ${ratio} (bar ${bar})  ${what}: ${figure}; ${baseline}`);
    }
  }
}
// A suite has the same rows in each run, in the same order.
const rows = [...found].flatMap(([suite, ofRuns]) =>
  ofRuns[0].map((_, index) =>
    rowOf(
      suite,
      ofRuns.map((ofRun) => ofRun[index]),
    ),
  ),
);
const sections = [];
for (const name of SECTIONS.filter(isChosen)) {
  begins(name);
  sections.push(rowsWith(await runAlone(name), only));
}
begins("the end");

const lines = rows.map(
  ({ suite, what, figure, baseline, ratio, ratios, bar, held }) =>
    `| ${suite} | ${what} | ${figure} | ${baseline} | ${ratio} | ${ratios.join(", ")} | ${bar} | ${held} |`,
);
const repeated =
  runs === 1
    ? ""
    : ` Suites that take seconds
were run ${runs} times: a row is the run with the middle ratio, and a bar is held if all runs are within it.`;
const table = `# Results

Medians of \`${isWhole ? "npm run all" : "npm start"}\` in this folder, each suite in a process of its own, on ${cpus()[0]?.model ?? "an unnamed processor"} (${cpus().length} cores), Node ${process.version},
with a load of ${loadBefore} before it and ${load()} after it.
Each ratio is taken inside one run, against the baseline that its row names; absolute times are this machine's.${repeated}

| suite | what | measured | baseline | ratio | of all runs | bar | held |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}
${sections.map((text) => `\n${text}`).join("")}`;
if (isWhole) await writeFile(RESULTS, table);
else console.log(`\n${table}`);
