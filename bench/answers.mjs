/**
 * The characters of all answers in a walk through two real workflows: every phase and every task is read, as `next`
 * says, and each gate is passed. The workflows are no part of the repository: their folder is the first argument, else
 * `../shared/corpus` next to it. `node answers.mjs [folder]` runs it alone.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createEngine, createWorkflowTool, MemoryStorage } from "phasegate";
import { FileContent, FilePlans } from "phasegate/fs";

const CORPUS = fileURLToPath(new URL("../../shared/corpus/", import.meta.url));
/** What the same walk came to before answers gave each thing once. */
const BEFORE = {
  spec_creation_v1: 150_420,
  "spec_execution_v1, dynamic-session": 101_987,
  "spec_execution_v1, evidence-validation": 204_613,
  "spec_execution_v1, gamification": 146_687,
  "spec_execution_v1, mcp-modular": 143_716,
  "spec_execution_v1, persona": 184_492,
  "spec_execution_v1, playwright": 320_706,
  "spec_execution_v1, rag-content": 216_443,
  "spec_execution_v1, thread-safety": 128_836,
};

/** Walks through a workflow; returns the calls and characters of each action. */
async function walk(corpus, type, plan) {
  const root = await mkdtemp(join(tmpdir(), "phasegate-answers-"));
  const folder = join(root, "spec");
  await mkdir(folder);
  // A task that is ticked in the plan is not read.
  const text = plan && (await readFile(join(corpus, "praxis-os/tasks", plan, "tasks.md"), "utf8"));
  if (text !== undefined) await writeFile(join(folder, "tasks.md"), text.replace(/\[[xX]\]/g, "[ ]"));
  const content = new FileContent({ roots: [join(corpus, "praxis-os/workflows")] });
  const engine = createEngine({ storage: new MemoryStorage(), content, plans: new FilePlans({ root }) });
  const tool = createWorkflowTool(engine);
  const found = { calls: 0, characters: 0, tasks: 0, taskCharacters: 0, textCharacters: 0 };
  const ask = async (call) => {
    const answer = await tool.dispatch(call);
    if (answer.status !== "success") throw new Error(`${type}: ${JSON.stringify(answer)}`);
    const { length } = JSON.stringify(answer);
    found.calls += 1;
    found.characters += length;
    const task = answer.task ?? answer.task_content;
    for (const content of [answer.phase_content?.content, task?.content]) {
      if (content !== undefined) found.textCharacters += JSON.stringify(content).length;
    }
    if (task !== undefined) {
      found.tasks += call.cursor === undefined ? 1 : 0;
      found.taskCharacters += JSON.stringify(task).length;
    }
    return answer;
  };
  await ask({ action: "list_workflows" });
  // With these options no phase is skipped.
  const options = plan === undefined ? { supporting_docs: "docs" } : { spec_path: "spec" };
  let answer = await ask({ action: "start", workflow_type: type, target_file: "spec", options });
  while (answer.workflow_complete !== true) {
    const next = answer.next;
    if (next.action === "complete_phase") {
      // What an honest agent sends is not counted, so it is taken from the engine.
      const { phase } = await engine.session(next.session_id).phase();
      answer = await ask({ ...next, evidence: evidenceFor(phase.gate) });
    } else if (next.action === "complete_task") {
      // Its placeholder is for a note, which may be left out.
      const { note: _, ...call } = next;
      answer = await ask(call);
    } else answer = await ask(next);
  }
  await engine.close();
  await rm(root, { recursive: true, force: true });
  return found;
}

function evidenceFor(gate) {
  if (gate.kind === "plan") {
    const items = Object.fromEntries(gate.items.map((_, index) => [index + 1, true]));
    return { tasks_completed: gate.tasks.map(({ id }) => id), validation_gate: items };
  }
  return Object.fromEntries(gate.fields.map(({ name }) => [name, true]));
}

async function walks(corpus) {
  const found = { spec_creation_v1: await walk(corpus, "spec_creation_v1") };
  const plans = (await readdir(join(corpus, "praxis-os/tasks"))).filter((name) => !name.includes("."));
  for (const plan of plans.sort()) {
    found[`spec_execution_v1, ${plan}`] = await walk(corpus, "spec_execution_v1", plan);
  }
  return found;
}

const count = (number) => number.toLocaleString("en");

/** The section of the results. */
export async function section(corpus = CORPUS) {
  const head = "## Answers\n\n";
  if (!existsSync(join(corpus, "praxis-os/workflows"))) {
    return `${head}Not measured: ${corpus} has no praxis-os/workflows. Pass the corpus's folder as an argument.\n`;
  }
  const found = Object.entries(await walks(corpus));
  const lines = found.map(([name, { calls, characters, tasks, taskCharacters, textCharacters }]) => {
    const cells = [name, calls, tasks, count(Math.round(taskCharacters / tasks))];
    return row([...cells, ...compared(BEFORE[name], characters, textCharacters)]);
  });
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const of = (key) => sum(found.map(([, walked]) => walked[key]));
  const all = compared(sum(Object.values(BEFORE)), of("characters"), of("textCharacters"));
  return `${head}The characters of all answers in a walk through two real workflows, the second on each of eight real plans, with every
phase and task read, and each task noted as done. *Before* is the walk when answers still repeated what another answer has, and
each text took a call of its own; tasks could not be noted then. *Texts* are those of the workflow itself, without what an
earlier answer has.

| walk | calls | tasks | characters a task | before | characters | of them texts | ratio |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}
${row(["all", of("calls"), of("tasks"), count(Math.round(of("taskCharacters") / of("tasks"))), ...all])}
`;
}

const row = (cells) => `| ${cells.join(" | ")} |`;

function compared(before, characters, texts) {
  const found = [characters, texts].map(count);
  return before === undefined ? ["", ...found, ""] : [count(before), ...found, (characters / before).toFixed(2)];
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await section(process.argv[2]));
