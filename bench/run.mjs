/**
 * Runs all benchmarks, prints a table and keeps it in RESULTS.md. Names as arguments run only those; `concurrent:PostgresStorage`
 * runs one suite with one adapter.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";

const SUITES = [
  "transitions",
  "rules",
  "long-sessions",
  "durable",
  "postgres",
  "listing",
  "sqlite",
  "concurrent",
  "together",
  "statistics",
  "inspector",
  "routed",
  "preload",
  "workspace",
  "langgraph",
  "openworkflow",
  "memory",
  "plans",
  "planned",
  "retrieval",
  "import-time",
];
/** What has a table of its own. */
const SECTIONS = ["contention", "answers"];
const parts = new Map(process.argv.slice(2).map((name) => name.split(":")));
const chosen = [...parts.keys()];
const isChosen = (name) => chosen.length === 0 || chosen.includes(name);
const load = () => loadavg()[0].toFixed(1);

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

const loadBefore = load();
const rows = [];
for (const suite of SUITES.filter(isChosen)) {
  for (const found of await runAlone(suite)) {
    rows.push(found);
    console.log(
      `${found.ratio <= found.bar ? "ok  " : "OVER"} ${found.ratio} (bar ${found.bar})  ${found.what}: ${found.figure}; ${found.baseline}`,
    );
  }
}
const sections = [];
for (const name of SECTIONS.filter(isChosen)) sections.push(await runAlone(name));

const lines = rows.map(
  ({ what, figure, baseline, ratio, bar }) =>
    `| ${what} | ${figure} | ${baseline} | ${ratio} | ${bar} | ${ratio <= bar ? "yes" : "no"} |`,
);
const table = `# Results

Medians of one run of \`npm start\` in this folder, each suite in a process of its own, on ${cpus()[0]?.model ?? "an unnamed processor"} (${cpus().length} cores), Node ${process.version},
with a load of ${loadBefore} before it and ${load()} after it.
Each ratio is taken inside that run, against the baseline that its row names; absolute times are this machine's.

| what | measured | baseline | ratio | bar | held |
|---|---|---|---|---|---|
${lines.join("\n")}
${sections.map((text) => `\n${text}`).join("")}`;
if (chosen.length === 0) await writeFile(new URL("RESULTS.md", import.meta.url), table);
else console.log(`\n${table}`);
