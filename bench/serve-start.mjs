/**
 * `phasegate serve` on stdio, against a bare MCP server: how soon it lists its tools, with the starters and with 100 workflows; its
 * memory once it is idle; and its first `start`, against the next. Then commands, against a Node that does nothing.
 */
import { spawnSync } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { FileStorage } from "phasegate/fs";
import { inFolder, median, ratio, row, size, time } from "./measure.mjs";
import { client } from "./stdio-client.mjs";
import { benchTool, startSession } from "./workflow.mjs";

const ROUNDS = 9;
const WORKFLOWS = 100;
const SESSIONS = 1000;
/** No model answers sooner, once it has the tools. */
const MODEL_MS = 2000;
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const cli = path("../dist/cli/main.js");
const starters = path("../starters");

async function timed(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Starts a server, and gives the milliseconds until its tools are listed, and what `then` finds. */
async function startOnce(args, cwd, then) {
  const begun = performance.now();
  const server = client(args, cwd);
  try {
    const tools = await server.listTools();
    return { took: performance.now() - begun, ...(await then?.(server, tools)) };
  } finally {
    await server.stop();
  }
}

/** The bytes in memory three seconds later, when its workflows are read. */
async function memoryOf({ child }) {
  await delay(3000);
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return { memory: Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024 };
}

/** The first `start` of a session, and the median of those after it. */
async function startsOf({ ask }, [{ name }], wait) {
  const start = async (target) => {
    const call = {
      action: "start",
      workflow_type: "code_review",
      target_file: `${target}.md`,
      options: { base: "main" },
    };
    const { isError, content } = await ask("tools/call", { name, arguments: call });
    if (isError) throw new Error(content[0].text);
  };
  await delay(wait);
  const first = await timed(() => start("first"));
  const others = [];
  for (let index = 0; index < 4; index += 1) others.push(await timed(() => start(`other-${index}`)));
  return { first, warm: median(others) };
}

/** The milliseconds of one command in a process of its own. */
function commandOnce(args, cwd) {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  return performance.now() - begun;
}

/** Copies of the starters, so many of them, each with a name of its own. */
async function writeWorkflows(folder) {
  const metadata = JSON.parse(await readFile(join(starters, "bug_fix/metadata.json"), "utf8"));
  for (let index = 0; index < WORKFLOWS; index += 1) {
    const type = `bug_fix_${index}`;
    await cp(join(starters, "bug_fix"), join(folder, type), { recursive: true });
    await writeFile(join(folder, type, "metadata.json"), JSON.stringify({ ...metadata, workflow_type: type }));
  }
}

export async function run() {
  return inFolder(async (folder) => {
    const at = (name) => join(folder, name);
    await writeWorkflows(at("hundred"));
    const serve = (...more) => [cli, "serve", ...more, "--state", at("state")];
    const kinds = {
      bare: [[path("./bare-server.mjs")], memoryOf],
      starters: [serve("--starters"), memoryOf],
      hundred: [serve("--workflows", at("hundred"))],
      starts: [serve("--starters", "--project", folder), (...given) => startsOf(...given, 0)],
      later: [serve("--starters", "--project", folder), (...given) => startsOf(...given, MODEL_MS)],
    };
    const storage = await FileStorage.open(at("sessions"));
    const host = benchTool(3, storage);
    for (let index = 0; index < SESSIONS; index += 1) await startSession(host);
    const commands = {
      node: ["-e", "0"],
      help: [cli, "--help"],
      sessions: [cli, "sessions", "--state", at("sessions")],
    };
    const found = Object.fromEntries([...Object.keys(kinds), ...Object.keys(commands)].map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, [args, then]] of Object.entries(kinds)) found[name].push(await startOnce(args, folder, then));
      for (const [name, args] of Object.entries(commands)) found[name].push({ took: commandOnce(args, folder) });
    }
    const of = (name, key = "took") => median(found[name].map((one) => one[key]));
    const ms = (value) => time(value * 1000);
    const listed = (what, name, bar) =>
      row(what, ms(of(name)), `a bare MCP server ${ms(of("bare"))}`, ratio(of(name), of("bare")), bar);
    const ran = (what, name, bar) =>
      row(what, ms(of(name)), `node -e 0 ${ms(of("node"))}`, ratio(of(name), of("node")), bar);
    const first = (what, name) => {
      const allowed = 2 * of(name, "warm") + 100;
      const limit = `twice a warm start and 100 ms, ${ms(allowed)}`;
      return row(what, ms(of(name, "first")), limit, ratio(of(name, "first"), allowed), 1);
    };
    return [
      listed("serve on stdio until its tools are listed", "starters", 1.5),
      listed(`the same with ${WORKFLOWS} workflows in a folder`, "hundred", 1.7),
      row(
        "memory of an idle serve",
        size(of("starters", "memory")),
        `a bare MCP server ${size(of("bare", "memory"))}`,
        ratio(of("starters", "memory"), of("bare", "memory")),
        1.3,
      ),
      first("the first start, at once", "starts"),
      first(`the first start, ${MODEL_MS / 1000} s later`, "later"),
      ran(`phasegate sessions, ${SESSIONS} in files`, "sessions", 5),
      ran("phasegate --help", "help", 2.5),
    ];
  });
}
