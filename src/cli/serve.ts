/**
 * `phasegate serve`: which of its options must be given together. Options win over environment variables;
 * those of the variables that do not begin with PHASEGATE_ are read because hosts of routed workflows already set them.
 */
import { basename, delimiter } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { type CreateCommand, command, isLogLevel, type LogLevel } from "./command.js";
import { CommandFailure, EXIT, usage } from "./exit-codes.js";
import type { LogFiles } from "./log.js";
import type { OpenedPacks } from "./open-packs.js";
import { findOwnProject, type OwnProject, startersFolder } from "./options.js";
import { openPacks } from "./packs.js";
import type { Environment, ServeOptions, WorkspaceFolders } from "./products.js";
import { type GivenOptions, requireComplete, serveOptions } from "./serve-options.js";

const HELP = `
On stdio, stdout carries the protocol only; the log goes to stderr, one JSON object per line. The server finishes the
calls under way and exits with code 0 on SIGTERM, on SIGINT and when its client closes stdin. Options take precedence
over variables; PHASEGATE_WORKFLOWS, PHASEGATE_STANDARDS and PHASEGATE_READ_ROOTS hold several, separated by
'${delimiter}'.

For routed workflows these variables are read as well: WORKFLOW_DB_PATH (an SQLite file, if --state is not given),
LOG_LEVEL, USE_STUB_AI_CLIENT=true (the same as --decider linear), GEMINI_API_KEY, GEMINI_MODEL_NAME,
GEMINI_REQUEST_TIMEOUT_SECONDS, and the names of the log files: ORCHESTRATOR_LOG_FILE and AI_INTERACTIONS_LOG_FILE.
If one of these two or --log-dir is given, the log is also written to files. The second file contains the requests to
models and their answers.

In a project that \`phasegate init\` has set up, or in a folder of it, --workflows, --state and --project need not be
given. The first line of the log says which project it is. Commands of gates must be given: --allow-command "npm test".

--notify sends signed JSON. Slack, Discord and Microsoft Teams are known by their servers, and get a message of theirs;
#slack, #discord, #teams or #mattermost at the end of an address says so. PHASEGATE_NOTIFY holds addresses, separated by
blanks, and PHASEGATE_NOTIFY_SECRET the secret of the signatures: whsec_ and random bytes in base64.

The starters need --project, and the commands that they run: --allow-command "npm test". docs/starters has a page for
each.

Example, as an MCP client's configuration:
  { "mcpServers": { "workflows": {
      "command": "npx",
      "args": ["phasegate", "serve"],
      "env": { "PHASEGATE_WORKFLOWS": "workflows", "PHASEGATE_STATE": ".phasegate" } } } }`;

export const serveCommand: CreateCommand = (terminal, setExitCode) => {
  const made: Command = command({
    name: "serve",
    description:
      "Serves workflows, a workspace and a search over MCP (Model Context Protocol), on stdin and stdout or over HTTP.",
    options: serveOptions(),
    help: HELP,
    async run(given) {
      const options = await complete(given, (name) => made.getOptionValueSource(name), process.env);
      try {
        return await (await loadServe())(options, terminal);
      } finally {
        await options.packs.close();
      }
    },
  })(terminal, setExitCode);
  return made;
};

/** Loads the server. It needs the MCP SDK, an optional peer that the other commands do without. */
async function loadServe(): Promise<typeof import("./server.js").serve> {
  try {
    return (await import("./server.js")).serve;
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!missing || !cause.message.includes("@modelcontextprotocol/server")) throw cause;
    const hint = "Install it next to phasegate: npm install @modelcontextprotocol/server";
    throw new CommandFailure("serve needs the package @modelcontextprotocol/server", EXIT.environment, hint, { cause });
  }
}

/** Returns the log files that `--log-dir` and the variables name; undefined if none of them is set. */
function logFilesOf(logDir: string | undefined, env: Environment): LogFiles | undefined {
  const main = fileName(env, "ORCHESTRATOR_LOG_FILE");
  const ai = fileName(env, "AI_INTERACTIONS_LOG_FILE");
  if (logDir === undefined && main === undefined && ai === undefined) return undefined;
  return { folder: logDir ?? "logs", main: main ?? "orchestrator.log", ai: ai ?? "ai_interactions.log" };
}

function fileName(env: Environment, variable: string): string | undefined {
  const name = env[variable]?.trim();
  if (name === undefined || name === "") return undefined;
  if (basename(name) === name && name !== "." && name !== "..") return name;
  throw new CommandFailure(
    `${variable} must be a file name without a folder`,
    EXIT.usage,
    "Set the folder with --log-dir.",
  );
}

/** Level names of other loggers that `LOG_LEVEL` may have. */
const LEVELS: Readonly<Record<string, LogLevel>> = { warning: "warn", critical: "error", fatal: "error" };

/** Returns the level in `LOG_LEVEL`, which counts if `--log-level` is not given. */
function logLevelOf(env: Environment): LogLevel | undefined {
  const given = env.LOG_LEVEL?.trim().toLowerCase();
  if (given === undefined || given === "") return undefined;
  const level = Object.hasOwn(LEVELS, given) ? LEVELS[given] : given;
  if (level !== undefined && isLogLevel(level)) return level;
  throw new CommandFailure("LOG_LEVEL is not a log level", EXIT.usage, "Use debug, info, warn or error.");
}

/** Returns the folders of `--read-root`, by their names. */
function readRootsOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((text): [string, string] => {
    const at = text.indexOf("=");
    const [name, folder] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (/^[A-Za-z_][\w.-]*$/.test(name) && folder !== "") return [name, folder];
    throw usage(
      `--read-root ${JSON.stringify(text)} is not NAME=DIR`,
      "Give a name of letters, digits, '_', '-' and '.', then '=' and a folder, such as custom=_bmad/custom.",
    );
  });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return Object.fromEntries(pairs);
  throw usage(`--read-root has the name ${twice} twice`, "Give each folder its own name.");
}

/** Returns the folders of the workspace to serve; undefined if there is none. Throws if one of them is missing. */
function workspaceOf(
  { bundle, core, output }: GivenOptions,
  readRoot: readonly string[],
): WorkspaceFolders | undefined {
  const readRoots = readRootsOf(readRoot);
  if (bundle !== undefined && output !== undefined) return { bundle, output, readRoots, core };
  const others = core !== undefined || output !== undefined || readRoot.length > 0;
  if (bundle === undefined && !others) return undefined;
  const missing = bundle === undefined ? "--bundle" : "--output";
  throw usage(
    `${missing} is missing`,
    "Give --bundle, a folder of workflows, and --output, a folder for their results.",
  );
}

/** Fills in what only the environment says, and checks that there is something to serve. */
async function complete(
  given: GivenOptions,
  sourceOf: (option: string) => string | undefined,
  env: Environment,
): Promise<ServeOptions & { readonly packs: OpenedPacks }> {
  const { standards = [], readRoot = [] } = given;
  const level = sourceOf("logLevel") === "default" ? logLevelOf(env) : undefined;
  const file = env.WORKFLOW_DB_PATH?.trim();
  const place = given.state ?? (file ? `sqlite:${file}` : undefined);
  const workspace = workspaceOf(given, readRoot);
  const logFiles = logFilesOf(given.logDir, env);
  const hasMore = workspace !== undefined || standards.length > 0;
  const { folders, names, starters, state, own } = await placesOf(given, place, hasMore);
  const hasPhased = folders.length > 0 || names.length > 0 || starters;
  if (!hasPhased) {
    const unused = given.cleanupAfter !== undefined ? "--cleanup-after" : given.rag !== undefined ? "--rag" : undefined;
    if (unused !== undefined)
      throw usage(`${unused} is for phased workflows`, "Give --workflows or --starters, or leave it out.");
  }
  if (given.inspector !== undefined && state === undefined) {
    throw usage(
      "--inspector shows sessions, and there are none",
      "Give --state with --workflows, --starters or --routed.",
    );
  }
  // Variables may be set for other servers.
  const isNotified = sourceOf("notify") === "cli" || sourceOf("notifyCommand") === "cli";
  if (isNotified && state === undefined) {
    throw usage(
      "--notify and --notify-command tell of sessions, but this server has none",
      "Give --state with --workflows, --starters or --routed.",
    );
  }
  requireComplete(given, sourceOf);
  if (given.http !== undefined) requireOneKind(hasPhased, given.routed !== undefined, hasMore);
  const [project, logLevel] = [given.project ?? own?.root, level ?? given.logLevel];
  // Last: nothing is left of them if something else is wrong.
  const packs = await openPacks(project ?? process.cwd(), names);
  // Of two workflows with the same name the first counts: a starter gives way to a pack's, and that to a workflow of the user's.
  const workflows = [
    ...folders,
    ...packs.workflows.map(({ folder }) => folder),
    ...(starters ? [startersFolder()] : []),
  ];
  return {
    ...given,
    workflows,
    packs,
    standards,
    logLevel,
    state,
    logFiles,
    workspace,
    project,
    ownProject: own?.root,
  };
}

interface Places extends Pick<ServeOptions, "state"> {
  /** The folders of the user's own workflows. */
  readonly folders: readonly string[];
  /** The names of packs. */
  readonly names: readonly string[];
  readonly starters: boolean;
  readonly own?: OwnProject;
}

/** Returns what is named, and takes what is missing from the project around the current folder. */
async function placesOf(
  { workflows: folders = [], pack: names = [], starters, routed }: GivenOptions,
  state: string | undefined,
  hasMore: boolean,
): Promise<Places> {
  const named: Omit<Places, "state"> = { folders, names, starters: starters === true };
  const hasEngine = folders.length > 0 || names.length > 0 || named.starters || routed !== undefined;
  if (hasEngine && state !== undefined) return { ...named, state };
  if (!hasEngine && hasMore) return { ...named, state };
  const own = await findOwnProject();
  if (hasEngine) {
    if (own !== undefined) return { ...named, state: own.state, own };
    throw usage("--state is missing", "Give a folder, sqlite:FILE, postgres://… or module:FILE for the sessions.");
  }
  if (own === undefined) {
    throw usage(
      "there is nothing to serve",
      "Give --starters, --workflows with folders of phased workflows, --routed with a folder of routed ones, --bundle and --output, or --standards. Or run it in a project that `phasegate init` has set up.",
    );
  }
  const { workflows } = own;
  return {
    folders: workflows === undefined ? [] : [workflows],
    names: await (await import("./open-packs.js")).packsOf(own.root),
    starters: workflows === undefined,
    state: state ?? own.state,
    own,
  };
}

function requireOneKind(hasPhased: boolean, hasRouted: boolean, hasMore: boolean): void {
  if (hasPhased !== hasRouted && !hasMore) return;
  throw usage(
    "--http serves phased workflows or routed ones, and nothing else",
    "Give --workflows or --starters, or --routed, and serve the rest from another process.",
  );
}
