/**
 * A workflow preloaded in one call, against its files read one by one as they are named: calls, time, and the tokens of the
 * whole conversation, in which each turn sends all that was said before. Then the call itself, against bare parallel reads.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createWorkspace, workflowInstructions } from "phasegate/workspace";
import { median, pairedMedians, ratio, row, time } from "./measure.mjs";

const ROUNDS = 25;
/** Characters that count as one token. */
const PER_TOKEN = 4;
const MADE = { path: "", content: "# Brief\n\nWhat was asked for, in three sentences, and what was found.\n" };

/** Prose of about so many characters. */
const prose = (length) =>
  "Ask for what is missing, and write down what was said. ".repeat(Math.ceil(length / 55)).slice(0, length);
const step = (number) => `<step n="${number}" goal="Part ${number}">\n<action>${prose(700)}</action>\n</step>\n`;

/** A workflow with all that one may have, in the order in which a model comes to its files. */
const FILES = {
  "bundle/workflows/brief/workflow.yaml": `name: brief
description: ${prose(120)}
config_source: "{bundle-root}/config.yaml"
output_folder: "{config_source}:output_folder"
user_name: "{config_source}:user_name"
date: system-generated
installed_path: "{bundle-root}/workflows/brief"
instructions: "{installed_path}/instructions.md"
template: "{installed_path}/template.md"
validation: "{installed_path}/checklist.md"
questions: "{installed_path}/questions.csv"
terms: "{installed_path}/terms.json"
default_output_file: "{output_folder}/{{name}}-{date}.md"
${Array.from({ length: 20 }, (_, index) => `label_${index}: "${prose(60)}"`).join("\n")}
`,
  "bundle/config.yaml": `user_name: Ada\noutput_folder: "{output-root}"\n${Array.from({ length: 15 }, (_, index) => `setting_${index}: "${prose(40)}"`).join("\n")}\n`,
  "bundle/workflows/brief/instructions.md": `# Brief\n\n<workflow>\n${[1, 2, 3, 4, 5, 6, 7].map(step).join("")}<elicit-required/>\n<invoke-workflow path="{bundle-root}/workflows/facts"/>\n</workflow>\n`,
  "bundle/workflows/brief/template.md": `# {{name}}\n\n${prose(2500)}\n`,
  "bundle/workflows/brief/checklist.md": `# Checklist\n\n${Array.from({ length: 25 }, () => `- [ ] ${prose(80)}`).join("\n")}\n`,
  "bundle/workflows/brief/questions.csv": `question,why\n${Array.from({ length: 25 }, () => `${prose(50)},${prose(30)}`).join("\n")}\n`,
  "bundle/workflows/brief/terms.json": `${JSON.stringify(
    Array.from({ length: 15 }, () => prose(90)),
    undefined,
    1,
  )}\n`,
  "core/tasks/workflow.md": `# How a workflow is followed\n\n${prose(9000)}\n`,
  "core/tasks/adv-elicit.md": `# Elicitation\n\nadv-elicit-methods.csv\n\n${prose(3000)}\n`,
  "core/tasks/adv-elicit-methods.csv": `method,how\n${Array.from({ length: 40 }, () => `${prose(15)},${prose(70)}`).join("\n")}\n`,
  "bundle/workflows/facts/workflow.yaml": "name: facts\ninstructions: ./instructions.md\ntemplate: ./facts.md\n",
  "bundle/workflows/facts/instructions.md": `# Facts\n\n<workflow>\n${[1, 2, 3].map(step).join("")}</workflow>\n`,
  "bundle/workflows/facts/facts.md": `# Facts\n\n${prose(900)}\n`,
};

/** A conversation: what the model has sent and got so far, and how many tokens that was in all its turns. */
function conversation(system) {
  let said = system.length;
  let sent = 0;
  let calls = 0;
  return {
    async call(workspace, name, input) {
      sent += said;
      const result = await workspace.call(name, input);
      if (!result.success) throw new Error(`${name}: ${result.error}`);
      said += JSON.stringify({ name, input }).length + JSON.stringify(result).length;
      calls += 1;
      return result;
    },
    /** A turn of words alone. */
    tell: (text) => {
      sent += said;
      said += text.length;
    },
    figures: () => ({ calls, tokens: Math.round(sent / PER_TOKEN) }),
  };
}

/** The same run with either way of loading. */
async function runOnce(root, load) {
  const workspace = await openWorkspace(root);
  const { length } = JSON.stringify(workspace.tools.map(({ name, description }) => ({ name, description })));
  const talk = conversation(
    `${workflowInstructions({ variables: workspace.variables })}${" ".repeat(length)}Run the workflow brief.`,
  );
  const begun = performance.now();
  await load(talk, workspace);
  const loaded = (performance.now() - begun) * 1000;
  const loading = talk.figures();
  const { session_id: session } = await talk.call(workspace, "create_session", { workflow: "brief" });
  await talk.call(workspace, "save_output", { ...MADE, path: `${session}/brief.md` });
  await talk.call(workspace, "complete_session", {});
  talk.tell("The brief is saved.");
  return { loaded, calls: loading.calls, tokens: talk.figures().tokens };
}

const preloaded = (talk, workspace) => talk.call(workspace, "preload_workflow", { workflow: "brief" });

async function oneByOne(talk, workspace) {
  for (const path of Object.keys(FILES)) {
    await talk.call(workspace, "read_file", { path: path.replace(/^(bundle|core)\//, "{$1-root}/") });
  }
}

function openWorkspace(root) {
  const [bundleRoot, coreRoot, outputRoot] = ["bundle", "core", "out"].map((name) => join(root, name));
  return createWorkspace({ bundleRoot, coreRoot, outputRoot });
}

/** Makes the workflow, and measures. */
export async function run() {
  const root = await mkdtemp(join(tmpdir(), "phasegate-preload-"));
  try {
    await mkdir(join(root, "out"));
    for (const [path, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return [...(await conversations(root)), await againstBareReads(root)];
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function conversations(root) {
  const found = { whole: [], single: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    found.whole.push(await runOnce(root, preloaded));
    found.single.push(await runOnce(root, oneByOne));
  }
  const middle = (runs, key) => median(runs.map((one) => one[key]));
  const { whole, single } = found;
  const compared = (what, key, shown, bar) => {
    const [ours, theirs] = [middle(whole, key), middle(single, key)];
    return row(`preload_workflow: ${what}`, shown(ours), `${shown(theirs)} one by one`, ratio(ours, theirs), bar);
  };
  const number = (count) => count.toLocaleString("en");
  return [
    compared("calls that load a workflow of 13 files", "calls", number, 0.5),
    compared("tokens of the whole conversation", "tokens", number, 0.5),
    compared("time of loading in a new workspace, without the model's turns", "loaded", time),
  ];
}

async function againstBareReads(root) {
  const workspace = await openWorkspace(root);
  const paths = Object.keys(FILES).map((path) => join(root, path));
  const measured = await pairedMedians({
    bare: { fn: () => Promise.all(paths.map((path) => readFile(path, "utf8"))) },
    preload: { fn: () => workspace.preloadWorkflow({ workflow: "brief", reload: true }) },
  });
  const { bare, preload } = measured;
  return row(
    "preload_workflow: 13 files, warm",
    time(preload),
    `${time(bare)} for bare parallel reads`,
    measured.ratio,
  );
}
