/** How long plans take to read, against mdast with GFM on the same text; and whether time grows with the text. */
import { existsSync, readFileSync } from "node:fs";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { parsePlan } from "phasegate/plan";
import { median, row, time } from "./measure.mjs";

const CORPUS = new URL("../../shared/corpus/praxis-os/tasks/", import.meta.url);
const NAMES = [
  "dynamic-session",
  "evidence-validation",
  "gamification",
  "mcp-modular",
  "persona",
  "playwright",
  "rag-content",
  "thread-safety",
];
const GFM = {
  extensions: [gfmTable(), gfmTaskListItem()],
  mdastExtensions: [gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown()],
};

const SMALL = 50 * 1000;
const LARGE = 5 * 1000 * 1000;
/** So often is the small one read for each time that the large one is. */
const REPEATED = 20;

/** A phase as plans have it: prose, tasks with criteria, a sample, a gate. */
function phase(number) {
  const task = (
    step,
  ) => `- [${step === 1 ? "x" : " "}] **Task ${number}.${step}**: Build part ${step} of module ${number} (2-3 hours)
  - Create \`src/module-${number}/part-${step}.ts\` and export it
  - **Dependencies**: ${step === 1 ? "None" : `Task ${number}.${step - 1}`}
  - **Acceptance Criteria**:
    - [ ] Part ${step} is there and has tests for what it does and what it refuses
    - [ ] It takes less than ${step + 5} ms for a usual input
    - [ ] Its documentation has an example that runs

`;
  return `## Phase ${number}: Module ${number}

**Goal:** Module ${number} does what its specification says, and says so where it can't.

**Estimated Duration:** 1-2 days

${[1, 2, 3, 4].map(task).join("")}\`\`\`ts
import { part } from "./module-${number}/part-1.js";
\`\`\`

**Validation Gate:**
- [ ] All tasks of phase ${number} are done
- [ ] The tests pass

---

`;
}

/** A plan of about so many characters. */
function planOf(length) {
  const parts = ["# Implementation Tasks\n\n"];
  for (let number = 1, size = 0; size < length; number += 1) {
    const text = phase(number);
    parts.push(text);
    size += text.length;
  }
  return parts.join("");
}

/** Real plans where they are at hand, else one like them for each. */
function plans() {
  const real = NAMES.map((name) => new URL(`${name}/tasks.md`, CORPUS));
  if (real.every((url) => existsSync(url)))
    return { what: "the eight real plans", texts: real.map((url) => readFileSync(url, "utf8")) };
  return { what: "eight plans made up for this", texts: NAMES.map((_, index) => planOf(10_000 + 5_000 * index)) };
}

/** Microseconds that some work takes. */
function timed(work) {
  const start = performance.now();
  work();
  return (performance.now() - start) * 1000;
}

/** Both in turn, so that what slows one slows the other: the median of each, and of the ratios round by round. */
function paired(baseline, measured, rounds) {
  const found = Array.from({ length: rounds }, () => [timed(baseline), timed(measured)]);
  return {
    baseline: median(found.map(([one]) => one)),
    measured: median(found.map(([, other]) => other)),
    ratio: median(found.map(([one, other]) => other / one)),
  };
}

function all(texts, read) {
  for (const text of texts) read(text);
}

export async function run() {
  const { what, texts } = plans();
  const mdast = () => all(texts, (text) => fromMarkdown(text, GFM));
  const ours = () => all(texts, (text) => parsePlan(text));
  // Some four seconds, after which the code of both is compiled: with less, the same code has 0.56 to 0.71.
  paired(mdast, ours, 12);
  const real = paired(mdast, ours, 11);
  const [small, large] = [planOf(SMALL), planOf(LARGE - 5000)];
  const size = paired(
    () => all(Array(REPEATED).fill(small), (text) => parsePlan(text)),
    () => parsePlan(large),
    2,
  );
  const growth = (size.ratio * REPEATED * small.length) / large.length;
  return [
    row(
      `parsePlan, ${what}`,
      time(real.measured),
      `mdast with GFM ${time(real.baseline)}`,
      Number(real.ratio.toFixed(2)),
      1.2,
    ),
    row(
      "parsePlan, time per byte of a plan of 5 MB",
      `${time(size.measured)} in all`,
      `of 50 kB ${time(size.baseline / REPEATED)} in all`,
      Number(growth.toFixed(2)),
      1.5,
    ),
  ];
}
