/**
 * `phasegate doctor`: looks at everything that has to work together, and says what to do about what does not.
 * doctor-clients.ts reads the configurations of clients, doctor-checks.ts has the checks, listing-client.ts asks a client itself.
 */
import { stat } from "node:fs/promises";
import { dirname, join, parse } from "node:path";
import process from "node:process";
import { readOwnRecord } from "../setup/own-record.js";
import { findProject, openProject } from "../setup/project.js";
import { RECORD_PATH } from "../setup/record.js";
import {
  command,
  flag,
  knownWords,
  nameList,
  negated,
  parsed,
  preset,
  repeated,
  text,
  type Values,
  wholeNumber,
} from "./command.js";
import {
  checkApprovers,
  checkChromium,
  checkClients,
  checkListings,
  checkNode,
  checkRecord,
  checkSdk,
  checkState,
  checkWorkflows,
  type Finding,
} from "./doctor-checks.js";
import { absolute, CLIENT_PATHS, type FoundClients, readClients, type ServedOptions } from "./doctor-clients.js";
import { EXIT } from "./exit-codes.js";
import { LISTING_CLIENTS } from "./listing-client.js";
import { includeRootOption, jsonOption, requireFolder, stateOption } from "./options.js";
import { packOption } from "./packs.js";
import { counted, print, printable, printJson, styled, type Terminal } from "./terminal.js";
import { projectOption, trustOptions, verifierOptions } from "./trust.js";

const doctorOptions = () => ({
  project: projectOption(),
  workflows: parsed("--workflows <dir...>", "folders of phased workflows", repeated),
  pack: packOption(),
  routed: text("--routed <dir>", "folder of routed workflows"),
  includeRoot: includeRootOption(),
  state: stateOption(),
  ...trustOptions(),
  ...verifierOptions(),
  client: parsed("--client <list>", `clients to ask, joined by ',': ${LISTING_CLIENTS.join(", ")}`, (value) =>
    knownWords(nameList(value), LISTING_CLIENTS),
  ),
  start: negated("--no-start", "do not start the commands of clients"),
  trust: flag("--trust", "the project is yours: start what it configures, and open its state"),
  timeout: preset(parsed("--timeout <seconds>", "how long a started command may take to answer", wholeNumber(1)), 60),
  json: jsonOption(),
});
type DoctorOptions = Values<ReturnType<typeof doctorOptions>>;

const HELP = `
Each finding is ok, a warning or a problem, and says how to fix it. The exit code is 1 if there is a problem.

The options say what to look at. The others are taken from the configurations of the clients (Claude Code, Cursor,
VS Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, opencode, Windsurf); without these, it is the folder workflows and the state
.phasegate.
Every configured command of phasegate that your init has written is really started, and asked for its tools. As in a client,
that creates a state that does not exist yet. --no-start leaves it out. Other commands in the project are shown: they may come
from somebody else. --trust says that the project is yours: then they are started, and their state is opened.

--client also starts these clients, from outside of the project, with \`mcp list\`: only they know whether they trust the
project. They may start its other servers, too, so they are asked only if your init has written their entry of phasegate.`;

export const doctorCommand = command({
  name: "doctor",
  description: "Checks Node, the configurations of MCP clients, the state, the workflows and the approvers.",
  options: doctorOptions(),
  help: HELP,
  async run(options, terminal) {
    const findings = await examine(options);
    if (options.json) printJson(terminal, { findings, worst: worstOf(findings) });
    else printAll(findings, terminal);
    return worstOf(findings) === "problem" ? EXIT.problems : EXIT.ok;
  },
});

/** Returns the findings in the order in which to fix them. */
async function examine(given: DoctorOptions): Promise<Finding[]> {
  const project =
    given.project === undefined
      ? await projectAround(process.cwd())
      : await requireFolder(given.project, "the project");
  const roots = await openProject(project);
  const clients = await readClients(roots, { own: await readOwnRecord(roots), trust: given.trust === true });
  const served = await servedIn(given, clients, project);
  const findings = [checkNode(), await checkSdk(), ...(await checkRecord(project))];
  findings.push(...(await checkClients(clients, given.start ? given.timeout * 1000 : undefined)));
  findings.push(...(await checkListings(given.client ?? [], clients, project, given.timeout * 1000)));
  const states = new Set(served.flatMap(({ state }) => state ?? []));
  for (const state of states) findings.push(...(await checkState(state, project)));
  for (const options of served) findings.push(...(await checkWorkflows(options, project)));
  for (const options of served) findings.push(...(await checkApprovers(options, project)));
  findings.push(await checkChromium(project));
  const seen = new Set<string>();
  return findings.filter((finding) => {
    const text = JSON.stringify(finding);
    return !seen.has(text) && seen.add(text);
  });
}

/**
 * Returns the nearest folder around one that init has set up, or that has a repository or the configuration of a client;
 * else the project as init finds it, else the folder itself.
 */
async function projectAround(folder: string): Promise<string> {
  const { root } = parse(folder);
  for (let at = folder; at !== root; at = dirname(at)) {
    for (const sign of [RECORD_PATH, ".git", ...CLIENT_PATHS]) {
      if ((await stat(join(at, sign)).catch(() => undefined)) !== undefined) return at;
    }
  }
  return (await findProject(folder))?.root ?? folder;
}

/** Returns what is served: what the options say, else what clients start, else what is in the usual places. */
async function servedIn(given: DoctorOptions, { servers }: FoundClients, project: string): Promise<ServedOptions[]> {
  const { workflows, routed, state } = given;
  const own: ServedOptions = { ...given, ...absolute({ ...given, project }, process.cwd()) };
  if (workflows !== undefined || routed !== undefined || state !== undefined) return [own];
  const configured = servers.flatMap(({ options }) => options ?? []);
  if (configured.length > 0) return configured;
  return [{ ...own, workflows: [join(project, "workflows")], state: join(project, ".phasegate") }];
}

const ORDER = ["ok", "warning", "problem"] as const;

function worstOf(findings: readonly Finding[]): Finding["status"] {
  return findings.reduce<Finding["status"]>(
    (worst, { status }) => (ORDER.indexOf(status) > ORDER.indexOf(worst) ? status : worst),
    "ok",
  );
}

const STYLES = { ok: "green", warning: "yellow", problem: "red" } as const;

function printAll(findings: readonly Finding[], terminal: Terminal): void {
  for (const { check, status, message, fix } of findings) {
    const label = styled(terminal.stdout, STYLES[status], status.padEnd(7));
    print(terminal, `${label}  ${check.padEnd(9)}  ${printable(message)}`);
    if (fix !== undefined)
      print(terminal, `${" ".repeat(20)}${styled(terminal.stdout, "cyan", "fix:")} ${printable(fix)}`);
  }
  const count = (wanted: Finding["status"]) => findings.filter(({ status }) => status === wanted).length;
  print(terminal, `${counted(count("problem"), "problem")}, ${counted(count("warning"), "warning")}`);
}
