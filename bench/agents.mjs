/**
 * One task through the MCP servers of several tools for agents: a bug is fixed in three steps, each reported with what was done.
 * A scripted client takes the place of the model, and does the work. The other tools are installed by `npm install` in `agents/`
 * (1.7 GB). `node agents.mjs [TOOL]` runs it alone, perhaps with one tool only.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inFolder, median, time } from "./measure.mjs";
import { client } from "./stdio-client.mjs";

const PER_TOKEN = 4;
const STARTS = 5;
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const installed = (name) => path(`agents/node_modules/${name}`);

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../src/add.mjs";

test("adds two numbers", () => assert.equal(add(2, 2), 4));
`;
const BUG = "add(2, 2) is 0 where it should be 4";
const CAUSE = "export const add = (a, b) => a - b;";
const WHY = "add subtracts its second argument where it should add it";
const FIX = "add adds its second argument, so that the sum is right";
/** The three steps: what is to be done, how that is checked, what is reported, and the work itself. */
const STEPS = [
  {
    name: "Show the bug by a test",
    check: "node --test fails, and shows the new test as failed",
    report: `${BUG}: test/add.test.mjs shows it, in "adds two numbers"`,
    work: (project) => writeFile(join(project, "test/add.test.mjs"), TEST),
  },
  {
    name: "Find the cause of the bug",
    check: "The line of the code that is wrong is named",
    report: `src/add.mjs, line 1: ${WHY}`,
    work: () => {},
  },
  {
    name: "Fix the bug in the code",
    check: "node --test passes, and the test is as it was",
    report: `src/add.mjs: ${FIX}; node --test passes`,
    work: (project) => writeFile(join(project, "src/add.mjs"), CAUSE.replace("-", "+")),
  },
];

const git = (project, ...args) => execFileSync("git", ["-C", project, ...args], { encoding: "utf8" });

/** A project in git with the bug. */
async function newProject(folder) {
  const project = join(folder, "project");
  for (const name of ["src", "test"]) await mkdir(join(project, name), { recursive: true });
  await writeFile(join(project, "src/add.mjs"), `${CAUSE}\n`);
  await writeFile(join(project, "package.json"), '{ "name": "sums", "version": "1.0.0", "type": "module" }\n');
  git(project, "init", "--quiet");
  git(project, "config", "user.name", "bench");
  git(project, "config", "user.email", "bench@example.com");
  commit(project);
  return project;
}

function commit(project) {
  git(project, "add", "--all");
  git(project, "commit", "--quiet", "--message", "Work");
}

/** Runs a program of Node in a project, and says nothing of what it prints. */
const runIn = (project, args) => execFileSync(process.execPath, args, { cwd: project, stdio: "ignore" });

/**
 * The tools. `server` is the command line in Node. `prepare` sets a project up as the documentation says. `run` carries the task
 * out in the order that the documentation says, and returns true if the tool has taken the last step as done.
 */
const TOOLS = {
  phasegate: {
    server: ({ project, folder }) => [
      path("../dist/cli/main.js"),
      ...["serve", "--starters", "--project", project, "--state", join(folder, "state")],
      ...["--allow-command", "node --test"],
    ],
    run: throughPhasegate,
  },
  "task-master": {
    package: "task-master-ai",
    server: () => [installed("task-master-ai/dist/mcp-server.js")],
    prepare: prepareTaskMaster,
    run: throughTaskMaster,
  },
  "backlog.md": {
    package: "backlog.md",
    server: () => [installed("backlog.md/cli.js"), "mcp", "start"],
    prepare: ({ project }) =>
      runIn(project, [installed("backlog.md/cli.js"), "init", "sums", "--defaults", "--integration-mode", "mcp"]),
    run: throughBacklog,
  },
  "Shrimp Task Manager": {
    package: "mcp-shrimp-task-manager",
    server: () => [installed("mcp-shrimp-task-manager/dist/index.js")],
    env: ({ folder }) => ({ DATA_DIR: join(folder, "data") }),
    run: throughShrimp,
  },
};

/** The starter bug_fix, whose fourth phase asks for a commit, too. */
async function throughPhasegate({ call, work, project }) {
  const options = { test_command: "node --test" };
  const begun = await call("pos_workflow", { action: "start", workflow_type: "bug_fix", options });
  const { session_id } = JSON.parse(begun.text);
  const passes = async (phase, evidence) => {
    const { isError } = await call("pos_workflow", { action: "complete_phase", session_id, phase, evidence });
    return !isError;
  };
  const [test_name, line] = ["adds two numbers", 5];
  const quote = TEST.split("\n")[line - 1];
  await work(0);
  if (!(await passes(1, { bug: BUG, test_name, test: { file: "test/add.test.mjs", line, quote } }))) return false;
  await work(1);
  if (!(await passes(2, { cause: { file: "src/add.mjs", line: 1, quote: CAUSE }, why: WHY }))) return false;
  await work(2);
  if (!(await passes(3, { fix: FIX, changed: ["src/add.mjs"], test_name, cause_file: "src/add.mjs" }))) return false;
  commit(project);
  return passes(4, { commit: git(project, "rev-parse", "HEAD").trim(), test_file: "test/add.test.mjs" });
}

/** A model would make the tasks of a document, which takes a key and a network: they are written as it would write them. */
async function prepareTaskMaster({ project }) {
  const bin = installed("task-master-ai/dist/task-master.js");
  runIn(project, [bin, "init", "--yes", "--no-git", "--no-aliases", "--rules", "claude"]);
  const common = { status: "pending", priority: "high" };
  const subtasks = STEPS.map(({ name, check }, index) => ({
    ...{ id: index + 1, title: name, description: BUG, details: name, testStrategy: check, ...common },
    dependencies: index === 0 ? [] : [index],
  }));
  const task = { id: 1, title: `Fix: ${BUG}`, description: BUG, details: "", testStrategy: "node --test", ...common };
  const metadata = { created: "2026-01-01T00:00:00.000Z", updated: "2026-01-01T00:00:00.000Z", description: "sums" };
  const tasks = { master: { tasks: [{ ...task, dependencies: [], subtasks }], metadata } };
  await mkdir(join(project, ".taskmaster/tasks"), { recursive: true });
  await writeFile(join(project, ".taskmaster/tasks/tasks.json"), JSON.stringify(tasks, null, 2));
}

/** The loop of its guide. Without a model of its own, `update_subtask` can't note what was done. */
async function throughTaskMaster({ call, work, project }) {
  const on = { projectRoot: project };
  let isTaken = false;
  for (const index of STEPS.keys()) {
    const id = `1.${index + 1}`;
    await call("next_task", on);
    await call("get_task", { ...on, id });
    await call("set_task_status", { ...on, id, status: "in-progress" });
    await work(index);
    const { text } = await call("set_task_status", { ...on, id, status: "done" });
    isTaken = JSON.parse(text).data.tasks[0].success;
  }
  return isTaken;
}

/** Its guides must be read before each part of the work; a step is a criterion, and a note when it is done. */
async function throughBacklog({ call, work }) {
  const guide = (instruction) => call("get_backlog_instructions", { instruction });
  await guide("overview");
  await call("task_search", { query: "add" });
  await guide("task-creation");
  const acceptanceCriteria = STEPS.map(({ name, check }) => `${name}: ${check}`);
  const made = await call("task_create", { title: `Fix: ${BUG}`, description: BUG, acceptanceCriteria });
  const id = /TASK-\d+/.exec(made.text)[0];
  await guide("task-execution");
  await call("task_view", { id });
  await call("task_edit", { id, status: "In Progress", assignee: ["agent"] });
  await call("task_edit", { id, planSet: STEPS.map(({ name }, index) => `${index + 1}. ${name}`).join("\n") });
  for (const [index, { report }] of STEPS.entries()) {
    await work(index);
    await call("task_edit", { id, notesAppend: [report] });
  }
  await guide("task-finalization");
  await call("task_view", { id });
  const finalSummary = STEPS.map(({ report }) => report).join("\n");
  const done = { id, acceptanceCriteriaCheck: [1, 2, 3], finalSummary, status: "Done" };
  const { text, isError } = await call("task_edit", done);
  return !isError && /Status: \S+ Done/.test(text);
}

/** The chain that its tools ask for, with the score that an agent gives its own work. */
async function throughShrimp({ call, work }) {
  const analysis = `${WHY}. ${FIX}. Nothing else depends on it, so that a test of the sum is enough to show that it is right.`;
  await call("plan_task", { description: `Fix: ${BUG}` });
  await call("analyze_task", { summary: BUG, initialConcept: analysis });
  await call("reflect_task", { summary: BUG, analysis });
  const tasks = STEPS.map(({ name, check }, index) => ({
    ...{ name, description: `${name}: ${BUG}`, implementationGuide: name, verificationCriteria: check },
    dependencies: index === 0 ? [] : [STEPS[index - 1].name],
  }));
  await call("split_tasks", {
    updateMode: "clearAllTasks",
    tasksRaw: JSON.stringify(tasks),
    globalAnalysisResult: BUG,
  });
  let answer;
  for (const [index, { name, report }] of STEPS.entries()) {
    const listed = await call("query_task", { query: name });
    const [taskId] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(listed.text);
    await call("execute_task", { taskId });
    await work(index);
    answer = await call("verify_task", { taskId, summary: report, score: 100 });
  }
  return !answer.isError && answer.text.includes("marked as completed");
}

/** A tool in a project of its own: what it gives when a server is started in it. */
async function inProject(tool, work) {
  return inFolder(async (folder) => {
    const project = await newProject(folder);
    const place = { folder, project };
    await tool.prepare?.(place);
    const options = { env: { ...process.env, ...tool.env?.(place) }, roots: [pathToFileURL(project).href] };
    return work(() => client(tool.server(place), project, options), project);
  });
}

/** The task on one server, and how much was said; the last step is only claimed if the work is not honest. */
async function runTask(tool, start, project, isHonest) {
  const server = start();
  const found = { calls: 0, sent: 0, answered: 0, waited: 0 };
  try {
    const listing = JSON.stringify(await server.listTools()).length;
    const call = async (name, args) => {
      const begun = performance.now();
      const { content, isError = false } = await server.ask("tools/call", { name, arguments: args });
      found.waited += (performance.now() - begun) * 1000;
      const text = content.map((one) => one.text).join("\n");
      found.calls += 1;
      found.sent += JSON.stringify(args).length;
      found.answered += text.length;
      if (isError && isHonest) throw new Error(`${name}: ${text}`);
      return { text, isError };
    };
    const work = (index) => (isHonest || index < STEPS.length - 1 ? STEPS[index].work(project) : undefined);
    const isTaken = await tool.run({ call, work, project });
    if (isHonest && !isTaken) throw new Error("the task was not taken as done");
    return { ...found, listing, isTaken };
  } finally {
    await server.stop();
  }
}

async function measured(tool) {
  const starts = [];
  const honest = await inProject(tool, async (start, project) => {
    for (let index = 0; index < STARTS; index += 1) {
      const begun = performance.now();
      const server = start();
      await server.listTools();
      starts.push((performance.now() - begun) * 1000);
      await server.stop();
    }
    return runTask(tool, start, project, true);
  });
  const claimed = await inProject(tool, (start, project) => runTask(tool, start, project, false));
  return { ...honest, start: median(starts), isNoticed: !claimed.isTaken };
}

const row = (cells) => `| ${cells.join(" | ")} |`;
const tokens = (characters) => Math.round(characters / PER_TOKEN).toLocaleString("en");

async function rowOf(name, { package: from, ...tool }) {
  const { listing, answered, sent, calls, waited, start, isNoticed } = await measured(tool);
  const version =
    from === undefined ? "" : ` ${JSON.parse(await readFile(installed(`${from}/package.json`), "utf8")).version}`;
  const cells = [
    tokens(listing),
    tokens(answered),
    tokens(sent),
    calls,
    time(waited),
    time(start),
    isNoticed ? "refused" : "accepted",
  ];
  return row([`${name}${version}`, ...cells]);
}

/** The section of the results. */
export async function section(only) {
  const head = "## Agents\n\n";
  if (!existsSync(path("agents/node_modules")))
    return `${head}Not measured: run \`npm install\` in bench/agents first.\n`;
  const chosen = Object.entries(TOOLS).filter(([name]) => only === undefined || only === name);
  const lines = [];
  for (const [name, tool] of chosen) lines.push(await rowOf(name, tool));
  return `${head}One task through the MCP servers of tools for agents, with a scripted client: a bug is fixed in three steps, each reported with
what was done. Each tool is used in the order that its own guide asks for. Tokens are characters / ${PER_TOKEN}: of the list of tools, of
all answers, and of what the agent sends. A start is the time until the tools are listed. In a second project the last step is
reported as done although nothing was done.

| tool | tokens of the list of tools | tokens of all answers | tokens sent | calls | time of all calls | start | false claim |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}

- phasegate: the starter bug_fix, which has a fourth step, the commit. Its gates run the tests, and the calls wait for them.
- task-master: with its default tools. It needs the fewest tokens of answers and of what is sent. It calls a model, by a key, to
  write tasks and to note what was done; here the tasks were in its file before, and nothing was noted.
- backlog.md: most of the answers are the four guides that it asks agents to read. Its documentation prefers its command line to MCP.
- Shrimp Task Manager: the agent gives its own work a score.
- spec-workflow: not measured, its package \`@pimzino/spec-workflow-mcp\` is not on npm.
`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await section(process.argv[2]));
