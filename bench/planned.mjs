/** Sessions on plans: what one holds in memory, and what it costs to make a task's text. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { createEngine, MemoryContent, MemoryPlans, MemoryStorage } from "phasegate";
import { parsePlan } from "phasegate/plan";
import { medians, ratio, row, time } from "./measure.mjs";

const TARGET = "src/a.ts";
const TEMPLATE = `# Task [TASK_ID]: [TASK_NAME]

**Phase:** [PHASE_NUMBER] ([PHASE_NAME])
**Estimated Time:** [ESTIMATED_TIME]
**Dependencies:** [DEPENDENCIES]

[TASK_DESCRIPTION]

${"Follow the standards of the project: docstrings, types, errors, tests [list of files].\n".repeat(40)}
## Acceptance Criteria

[ACCEPTANCE_CRITERIA]

Next: get_task([PHASE_NUMBER], [NEXT_TASK_NUMBER])
`;

/** A plan of some 50 kB, in the words of real ones. */
function planText(name) {
  const phases = [1, 2, 3, 4, 5].map((phase) => {
    const tasks = [1, 2, 3, 4, 5, 6, 7, 8].map(
      (task) => `### Task ${phase}.${task}: Make part ${task} of ${name}

**Estimated Time:** 2 hours
**Dependencies:** ${task === 1 ? "None" : `Task ${phase}.${task - 1}`}

**Description:** ${"It reads what is there, checks it and says what is wrong with it. ".repeat(8)}

**Acceptance Criteria:**
${[1, 2, 3, 4, 5, 6].map((item) => `- [ ] Criterion ${item} of ${phase}.${task} holds for all of its inputs, tested`).join("\n")}
`,
    );
    return `## Phase ${phase}: Part ${phase}\n\n**Goal:** Make it\n\n${tasks.join("\n")}\n**Validation Gate:**\n- [ ] Tests pass\n- [ ] Lint passes\n`;
  });
  return `# Tasks\n\n${phases.join("\n")}`;
}

const METADATA = JSON.stringify({
  workflow_type: "work",
  name: "Work",
  description: "Works on a plan",
  version: "1.0.0",
  total_phases: "dynamic",
  dynamic_phases: true,
  phases: [{ phase_number: "1-N" }],
  dynamic_config: { templates: { phase: "phase.md", task: "task.md" } },
});

function heap() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** The heap of sessions that have read all their tasks, without their sources. */
async function sessionsHeap(count) {
  const sources = {
    work: {
      "metadata.json": METADATA,
      "phase.md": "# Phase [PHASE_NUMBER]\n\n[VALIDATION_GATE]\n",
      "task.md": TEMPLATE,
    },
  };
  const plans = new MemoryPlans();
  const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ sources }), plans });
  const open = async (name) => {
    plans.set(`${name}/tasks.md`, planText(name));
    const { sessionId } = await engine.start({ workflowType: "work", target: name });
    await engine.session(sessionId).phase();
    for (let task = 1; task <= 8; task += 1) await engine.session(sessionId).task(1, task);
  };
  await open("first");
  const before = heap();
  for (let index = 0; index < count; index += 1) await open(`part${index}`);
  return (heap() - before) / count - planText("part10").length;
}

/** What the package doesn't export, bundled by itself. */
async function internals() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  try {
    const contents = `export { renderTask } from "./src/template/template.ts";
      export { renderedText } from "./src/phased/plan/view.ts";`;
    const outfile = join(folder, "internals.mjs");
    const resolveDir = new URL("..", import.meta.url).pathname;
    await build({ stdin: { contents, resolveDir }, bundle: true, format: "esm", platform: "node", outfile });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function rendering() {
  const { renderTask, renderedText } = await internals();
  const { plan } = parsePlan(planText("it"));
  const [first] = plan.phases;
  const tasks = first.tasks.map(({ id, name, description, acceptanceCriteria }, index) => ({
    number: index + 1,
    name,
    plan: {
      id,
      description,
      estimatedTime: "2 hours",
      dependencies: [],
      acceptanceCriteria: acceptanceCriteria.map(({ text }) => text),
      state: "pending",
      optional: false,
      parallel: false,
    },
  }));
  const gate = { kind: "plan", allowOverride: false, tasks: [], items: ["Tests pass"] };
  const phase = { number: 1, name: "Part 1", skippable: false, tasks, gate, plan: { number: 1 } };
  const structure = { type: "work", phases: [phase] };
  const template = { text: TEMPLATE, revision: "one", sources: ["task.md"], tokens: 1 };
  const context = { options: { content: { text: async () => template } } };
  await renderedText(context, structure, TARGET, phase, tasks[0]);
  const values = { TASK_ID: "1.1", TASK_NAME: "Name", PHASE_NUMBER: "1", DEPENDENCIES: "None" };
  return medians({
    replace: { fn: () => TEMPLATE.replace(/\[([A-Z][A-Z0-9_]*)\]/g, (whole, name) => values[name] ?? whole) },
    render: { fn: () => renderTask(TEMPLATE, phase, tasks[0]) },
    again: { fn: async () => renderedText(context, structure, TARGET, phase, tasks[0]) },
  });
}

export async function run() {
  const bytes = await sessionsHeap(20);
  const found = await rendering();
  return [
    row(
      "heap of a session on a plan of 50 kB, beyond its source",
      `${(bytes / 1024).toFixed(0)} kB`,
      "bar 1 MB",
      ratio(bytes, 1024 * 1024),
      1,
    ),
    row(
      "a task's text from its template",
      time(found.render),
      `one String.replace ${time(found.replace)}`,
      ratio(found.render, found.replace),
    ),
    row(
      "a task's text once more, with the facts that are kept of it",
      time(found.again),
      `one String.replace ${time(found.replace)}`,
      ratio(found.again, found.replace),
    ),
  ];
}
