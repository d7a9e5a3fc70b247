/**
 * `npm run test:clients -- [client…]`: real clients from npm do a piece of work in the workflow `bug_fix`, with a script for their
 * model. Each is alone with its own home, network and processes, in a project that `phasegate init` of the packed package has set
 * up. Prints a line for each; `--write` renews their rows in docs/setup.md, `--folder DIR` keeps what was installed and seen there.
 * Needs Linux, a build, and the registry.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CLIENTS, type Client, OTHERS } from "./clients.ts";
import { commitAll, makeProject } from "./project.ts";
import type { Walked } from "./walk.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean" }, folder: { type: "string" } },
});
const root = values.folder === undefined ? mkdtempSync(join(tmpdir(), "phasegate-clients-")) : resolve(values.folder);
const here = import.meta.dirname;

const env = {
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  LANG: "C.UTF-8",
  TERM: "dumb",
  NO_COLOR: "1",
  GIT_AUTHOR_NAME: "A person",
  GIT_AUTHOR_EMAIL: "person@example.com",
  GIT_COMMITTER_NAME: "A person",
  GIT_COMMITTER_EMAIL: "person@example.com",
};

function installClients(): string {
  const folder = join(root, "clients");
  if (!existsSync(join(folder, "node_modules"))) {
    mkdirSync(folder, { recursive: true });
    cpSync(join(here, "package.json"), join(folder, "package.json"));
    execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: "pipe" });
  }
  return join(folder, "node_modules/.bin");
}

function pack(): string {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", root];
  return join(root, JSON.parse(execFileSync("npm", args, { encoding: "utf8" }))[0].filename);
}

/** Runs a command in a network of its own that has loopback alone, and among processes of its own. */
function alone(command: readonly string[]) {
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const script = 'ip link set lo up && "$@"';
  const args = [...user, "--net", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", ...command];
  return spawnSync("unshare", args, { env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}

function walked(client: Client, template: string, bins: string): Walked {
  const folder = join(root, client.bin);
  rmSync(folder, { recursive: true, force: true });
  const project = join(folder, "project");
  cpSync(template, project, { recursive: true, verbatimSymlinks: true });
  const phasegate = join(project, "node_modules/phasegate/dist/cli/main.js");
  const args = [phasegate, "init", "--yes", "--client", client.init, "--starters", "bug_fix"];
  const home = join(folder, "home");
  mkdirSync(home);
  execFileSync(process.execPath, [...args, ...(client.hooks ? ["--hooks"] : [])], {
    cwd: project,
    env: { ...env, HOME: home },
    stdio: "pipe",
  });
  commitAll(project, env);
  const { stdout, stderr } = alone([
    process.execPath,
    join(here, "walk.ts"),
    client.bin,
    folder,
    join(bins, client.bin),
  ]);
  const line = stdout.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`${client.title} was not walked: ${stderr}`);
  return JSON.parse(line);
}

/** Returns what a walk has seen, as a row of the table. */
function rowOf({ title, init }: Client, seen: Walked): string {
  const sent = [seen.instructions && "project", seen.serverInstructions && "server"].filter((one) => one !== false);
  const hook = seen.reminders === 1 ? "reminds once" : "";
  const tool = `${seen.tool}${seen.late ? ", after the first request" : ""}`;
  return `| ${title} ${seen.version} | \`${init}\` | ${tool} | ${sent.join(", ")} | ${seen.copies} | ${hook} |`;
}

const HEAD = [
  "| client | `--client` | the tool is | instructions | copies of a refusal | hook |",
  "|---|---|---|---|---|---|",
];
const MARKS = ["<!-- clients:begin -->", "<!-- clients:end -->"] as const;

/** Writes the table between its marks. The row of a client that was not walked now stays as it is. */
function writeTable(rows: ReadonlyMap<Client, string>): void {
  const page = join(here, "../../docs/setup.md");
  const [before = "", rest = ""] = readFileSync(page, "utf8").split(MARKS[0]);
  const after = rest.split(MARKS[1])[1];
  if (after === undefined) throw new Error(`${page} has no ${MARKS.join(" and ")}`);
  const all = CLIENTS.flatMap((client) => {
    const before = rest.split("\n").find((line) => line.startsWith(`| ${client.title} `));
    return rows.get(client) ?? before ?? [];
  });
  const others = OTHERS.map(([title, reason]) => `- ${title}: ${reason}.`);
  const lines = [MARKS[0], "", ...HEAD, ...all, "", "Not walked:", "", ...others, "", MARKS[1]];
  writeFileSync(page, `${before}${lines.join("\n")}${after}`);
}

const chosen = CLIENTS.filter(({ bin }) => positionals.length === 0 || positionals.includes(bin));
const bins = installClients();
const template = join(root, "project");
rmSync(template, { recursive: true, force: true });
makeProject(template, pack());
const rows = new Map<Client, string>();
for (const client of chosen) {
  const seen = walked(client, template, bins);
  const row = rowOf(client, seen);
  console.log(`${seen.problems.length === 0 ? "ok    " : "failed"} ${row}`);
  rows.set(client, row);
  for (const problem of seen.problems) console.error(problem);
  if (seen.problems.length > 0) process.exitCode = 1;
}
if (positionals.length === 0) for (const [title, reason] of OTHERS) console.log(`none   ${title}: ${reason}`);
if (values.write && process.exitCode === undefined) writeTable(rows);
if (values.folder === undefined) rmSync(root, { recursive: true, force: true });
