/** Runs all benchmarks, prints a table and keeps it in RESULTS.md. Names as arguments run only those. */
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
const SECTIONS = ["contention"];
const chosen = process.argv.slice(2);
const rows = [];
const load = () => loadavg()[0].toFixed(1);
const loadBefore = load();
for (const suite of SUITES.filter((name) => chosen.length === 0 || chosen.includes(name))) {
  const { run } = await import(`./${suite}.mjs`);
  for (const found of await run()) {
    rows.push(found);
    console.log(
      `${found.ratio <= found.bar ? "ok  " : "OVER"} ${found.ratio} (bar ${found.bar})  ${found.what}: ${found.figure}; ${found.baseline}`,
    );
  }
}

const sections = [];
for (const name of SECTIONS.filter((one) => chosen.length === 0 || chosen.includes(one))) {
  const { section } = await import(`./${name}.mjs`);
  sections.push(await section());
}

const lines = rows.map(
  ({ what, figure, baseline, ratio, bar }) =>
    `| ${what} | ${figure} | ${baseline} | ${ratio} | ${bar} | ${ratio <= bar ? "yes" : "no"} |`,
);
const table = `# Results

Medians of one run of \`npm start\` in this folder, on ${cpus()[0]?.model ?? "an unnamed processor"} (${cpus().length} cores), Node ${process.version},
with a load of ${loadBefore} before it and ${load()} after it.
Each ratio is taken inside that run, against the baseline that its row names; absolute times are this machine's.

| what | measured | baseline | ratio | bar | held |
|---|---|---|---|---|---|
${lines.join("\n")}
${sections.map((text) => `\n${text}`).join("")}`;
if (chosen.length === 0) await writeFile(new URL("RESULTS.md", import.meta.url), table);
else console.log(`\n${table}`);
