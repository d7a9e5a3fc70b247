/**
 * Returns the pieces that a project should have: workflows, entries of the server, instructions, hooks, ignored files; and
 * finds the commands that check it in the files of its build tools. Pure: their texts go in.
 */
import { applyEdits } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { isJsonObject, type JsonObject } from "../workflow/json.js";
import { beginning } from "./beginning.js";
import { CLIENTS, type Client, type ClientId, type Command } from "./clients.js";
import { addJson, findJson, jsonProblem, replaceJson } from "./json-text.js";
import type { PinnedPack } from "./packs.js";
import type { Piece } from "./pieces.js";
import { filesOfClients, INSTRUCTIONS, STATE, WORKFLOWS } from "./places.js";
import type { FileFact } from "./plan.js";

/** A workflow that comes with the package. */
export interface Starter {
  readonly name: string;
  /** From its metadata.json: what it is for. */
  readonly description: string;
  /** The texts of its files, by their paths in its folder. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Launcher {
  /** `module`: it is installed in node_modules. `pnp`: yarn has it, without such a folder. `npx`: it is downloaded. */
  readonly from: "module" | "pnp" | "npx";
  /** The folder of installed packages, relative to the project: above it in a monorepo. */
  readonly modules: string;
  /** The version of phasegate that is running. */
  readonly version: string;
  readonly windows: boolean;
  /** The absolute path of the project. Only a configuration outside of the project has it. */
  readonly root: string;
}

export interface Wanted {
  readonly clients: readonly ClientId[];
  readonly starters: readonly Starter[];
  readonly hooks: boolean;
  readonly testCommand?: string;
  /** None if missing. */
  readonly packs?: readonly Pick<PinnedPack, "name" | "commands" | "hosts">[];
  readonly launcher: Launcher;
  readonly files: ReadonlyMap<string, FileFact>;
  /** The folders that exist. */
  readonly folders: ReadonlySet<string>;
}

/** Returns the paths of the files that {@link wantedPieces} must know. */
export function pathsOf({ clients, starters }: Pick<Wanted, "clients" | "starters">): string[] {
  const ofStarters = starters.flatMap(({ name, files }) =>
    Object.keys(files).map((path) => `${WORKFLOWS}/${name}/${path}`),
  );
  return [...new Set([...ofStarters, ...filesOfClients(clients), ...INSTRUCTIONS, ".gitignore"])];
}

/** Returns the pieces, in the order in which to write them: what refers to something comes after it. */
export function wantedPieces(wanted: Wanted): Piece[] {
  const { clients, starters, hooks } = wanted;
  // The plan refuses the others, so that the server would not find them.
  const served = { ...wanted, starters: starters.filter((starter) => !isRefused(starter, wanted)) };
  return [
    ...starters.flatMap((starter) => workflowFiles(starter, wanted)),
    ...ignoreBlock(wanted),
    ...serverEntries(served),
    ...(hooks ? clients.flatMap((id) => hookEntry(id, wanted)) : []),
    ...instructionBlocks(served),
  ];
}

/** Checks whether a file of a starter is neither there nor can be written. */
function isRefused({ name, files }: Starter, wanted: Wanted): boolean {
  return Object.keys(files).some((path) => {
    const { text, problem } = wanted.files.get(`${WORKFLOWS}/${name}/${path}`) ?? {};
    return text === undefined && problem !== undefined;
  });
}

/** Options of starters that are a command which checks the project. */
const COMMAND_OPTIONS = ["test_command", "check_command"] as const;

function workflowFiles({ name, files }: Starter, { testCommand, launcher }: Wanted): Piece[] {
  return Object.entries(files).map(([file, text]) => {
    const path = `${WORKFLOWS}/${name}/${file}`;
    const { from, modules, version } = launcher;
    const up = "../".repeat(path.split("/").length - 1);
    const named = withSchemas(text, from === "module" ? `${up}${modules}/phasegate/schemas` : schemasAddress(version));
    const isMetadata = file === "metadata.json" && testCommand !== undefined;
    return { kind: "file", path, value: isMetadata ? withDefaults(named, testCommand) : named };
  });
}

/** Lets a file of the package name its schema, for editors, in another folder of schemas than the package's. */
export function withSchemas(text: string, schemas: string): string {
  return text.replace(/^(# yaml-language-server: \$schema=| *"\$schema": ")(?:\.\.\/)+schemas\//m, `$1${schemas}/`);
}

export function schemasAddress(version: string): string {
  return `https://unpkg.com/phasegate@${version}/schemas`;
}

/** Makes a command the default of the options that want one, as a list or a text, whichever the option is. */
function withDefaults(metadata: string, command: string): string {
  return COMMAND_OPTIONS.reduce((text, name) => {
    const keys = ["options_schema", "properties", name];
    if (jsonProblem(text, { keys }) !== undefined) return text;
    const schema = findJson(text, { keys });
    if (!isJsonObject(schema)) return text;
    const value = schema.type === "array" ? (splitCommand(command) ?? []) : command;
    const place = { keys: [...keys, "default"] };
    const edit = replaceJson(text, place, value);
    return applyEdits(text, edit ? [edit] : addJson(text, place, value, {}).edits);
  }, metadata);
}

/** Sessions belong to a machine. The files of init belong to the project, and are committed. */
function ignoreBlock({ files }: Wanted): Piece[] {
  const lines = (files.get(".gitignore")?.text ?? "").split("\n").map((line) => line.trim());
  const text = `${STATE}/`;
  const ours = lines.indexOf(text) > 0 && lines[lines.indexOf(text) - 1] === "# phasegate:begin";
  const isIgnored = !ours && [STATE, `/${STATE}`, text, `/${text}`].some((line) => lines.includes(line));
  return isIgnored ? [] : [{ kind: "block", path: ".gitignore", value: text }];
}

/** Returns the entries of the server alone, one for each client. */
export function serverEntries(wanted: Wanted): Piece[] {
  return wanted.clients.map((id) => serverEntry(CLIENTS[id], wanted));
}

function serverEntry(client: Client, wanted: Wanted): Piece {
  const path = configOf(client, wanted.files);
  const { testCommand, packs = [], launcher } = wanted;
  const inProject = pathsFor(client, launcher, path);
  // Without a folder of workflows the server has those of the package, and a folder that is missing is an error.
  const hasFolder = wanted.starters.length > 0 || wanted.folders.has(WORKFLOWS);
  const workflows = hasFolder ? ["--workflows", inProject(WORKFLOWS)] : ["--starters"];
  const places = ["--state", inProject(STATE), "--project", inProject(".")];
  const commands = [...(testCommand === undefined ? [] : [testCommand]), ...packs.flatMap((pack) => pack.commands)];
  const allowed = [
    ...repeated("--allow-command", commands),
    ...repeated(
      "--allow-host",
      packs.flatMap((pack) => pack.hosts),
    ),
    ...repeated("--allow-env", commands.flatMap(variablesFor)),
  ];
  const named = packs.flatMap(({ name }) => ["--pack", name]);
  const args = [...workflows, ...named, ...places, ...allowed];
  return client.server(path, launch(launcher, inProject, ["serve", ...args]), wanted.files.get(path)?.text ?? "");
}

/** Returns an option with each of its values, once. */
function repeated(option: string, values: readonly string[]): string[] {
  return [...new Set(values)].flatMap((value) => [option, value]);
}

/** Returns the path of a client's configuration: the first that exists, else the first. */
function configOf({ configs }: Client, files: ReadonlyMap<string, FileFact>): string {
  const isThere = (path: string) => (files.get(path)?.text ?? files.get(path)?.problem) !== undefined;
  return configs.find(isThere) ?? configs[0] ?? "";
}

/** Returns how a client's configuration writes paths in the project. */
function pathsFor({ projectVariable }: Client, { root, windows }: Launcher, config: string): (path: string) => string {
  const variable = projectVariable === undefined ? undefined : `\${${projectVariable}}`;
  const base = config.startsWith("~/") ? root : variable;
  if (base === undefined) return (path) => path;
  const separator = config.startsWith("~/") && windows ? "\\" : "/";
  return (path) => (path === "." ? base : [base, ...path.split("/")].join(separator));
}

/**
 * Returns the command that runs phasegate with arguments. The file in node_modules needs no shell and no network, and is
 * the same on every system; npx is a script, which clients on Windows start through cmd.
 */
function launch(
  { from, modules, version, windows }: Launcher,
  inProject: (path: string) => string,
  args: readonly string[],
): Command {
  if (from === "module") return ["node", inProject(`${modules}/phasegate/dist/cli/main.js`), ...args];
  if (from === "pnp") return ["yarn", "phasegate", ...args];
  // The server needs the SDK, an optional peer, which npx does not install by itself.
  const sdk = args[0] === "serve" ? ["-p", "@modelcontextprotocol/server@2"] : [];
  const npx = ["-y", "-p", `phasegate@${version}`, ...sdk, "phasegate", ...args];
  return windows ? ["cmd", "/c", "npx", ...npx] : ["npx", ...npx];
}

function hookEntry(client: ClientId, { launcher }: Wanted): Piece[] {
  const { hook } = CLIENTS[client];
  if (hook === undefined) return [];
  const words = launch({ ...launcher, windows: false }, (path) => path, ["hook", "stop", "--client", client]);
  return [{ kind: "item", path: hook.path, keys: hook.keys, value: hook.value(words.join(" ")) }];
}

/** Returns the block for each file with instructions that is there or that a client reads. A file that includes another one needs none. */
function instructionBlocks({ clients, starters, files }: Wanted): Piece[] {
  const read = new Set<string>(clients.map((id) => CLIENTS[id].instructions));
  const paths = INSTRUCTIONS.filter((path) => read.has(path) || files.get(path)?.text !== undefined);
  const targets = new Set<string>();
  return paths.flatMap((path): Piece[] => {
    const { text = "", leadsTo = path } = files.get(path) ?? {};
    // Two names of one file, or a file that includes the other: one block is enough, in the file that is no link.
    const isOther = leadsTo !== path && paths.some((other) => other === leadsTo);
    const includes = text.split("\n").some((line) => /^@(?:\.\/)?AGENTS\.md$/.test(line.trim()));
    const isIncluded = includes && path !== "AGENTS.md" && paths.includes("AGENTS.md");
    const isCovered = isOther || isIncluded || targets.has(leadsTo);
    targets.add(leadsTo);
    return isCovered ? [] : [{ kind: "block", path, value: instructions(starters) }];
  });
}

/** Returns what agents read: when to use phasegate, and the call to begin with. */
function instructions(starters: readonly Starter[]): string {
  const listed = starters.map(({ name, description }) => `- \`${name}\`: ${description}`);
  return [
    "## Gated work",
    "",
    "Work of these kinds goes through a workflow of the MCP server `phasegate`, whose gates check the project itself:",
    "",
    ...(listed.length === 0 ? ["- what `list_workflows` names"] : listed),
    "",
    ...beginning("pos_workflow"),
  ].join("\n");
}

/** Files whose existence says which program runs the scripts. */
export const LOCK_FILES = [
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "bun.lockb",
  "package-lock.json",
  "uv.lock",
  "poetry.lock",
] as const;

/** The texts of files, by path; of a lockfile, any text. Missing if there is no such file. */
export type CheckFacts = Readonly<Record<string, string | undefined>>;

/** The files that name a command that checks the project, the best guess first. */
const CHECKS: readonly (readonly [from: string, command: (facts: CheckFacts, text: string) => string | undefined])[] = [
  ["package.json", fromPackage],
  ["pyproject.toml", fromPyproject],
  ["Cargo.toml", () => "cargo test"],
  ["go.mod", () => "go test ./..."],
  ["Makefile", fromMakefile],
];
export const CHECK_FILES = CHECKS.map(([file]) => file);

/** Returns the best guess. */
export function findCheck(facts: CheckFacts): string | undefined {
  for (const [from, find] of CHECKS) {
    const text = facts[from];
    const command = text === undefined ? undefined : find(facts, text);
    if (command !== undefined) return command;
  }
  return undefined;
}

export type PackageManager = "npm" | "pnpm" | "yarn" | "bun";

/** Returns the package manager of a project: the one that package.json names, else the one that made the lockfile. */
export function packageManagerOf(facts: CheckFacts): PackageManager {
  const named = packageJson(facts)?.packageManager;
  const [name = ""] = typeof named === "string" ? named.split("@") : [];
  if (name === "pnpm" || name === "yarn" || name === "bun" || name === "npm") return name;
  if (facts["pnpm-lock.yaml"] !== undefined) return "pnpm";
  if (facts["yarn.lock"] !== undefined) return "yarn";
  return facts["bun.lock"] === undefined && facts["bun.lockb"] === undefined ? "npm" : "bun";
}

function packageJson(facts: CheckFacts): JsonObject | undefined {
  // If it can't be read, its own tools will say so. Here it only means that no command is found in it.
  return parseObject(facts["package.json"] ?? "");
}

/** Reads an object of JSON, also after a byte order mark; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Variables without which a program does not find its packages or its cache. They hold no secrets. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["cargo", ["HOME", "CARGO_HOME", "RUSTUP_HOME"]],
  ["go", ["HOME", "GOPATH", "GOCACHE", "GOMODCACHE"]],
  ...["uv", "poetry", "pnpm", "yarn", "bun", "make"].map((name) => [name, ["HOME"]] as const),
]);

export function variablesFor(command: string): readonly string[] {
  return NEEDED.get(splitCommand(command)?.[0] ?? "") ?? [];
}

/** Splits a command into its words: at blanks outside of quotation marks. Undefined if there are none, or it needs a shell. */
export function splitCommand(command: string): string[] | undefined {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = command.replaceAll(/"[^"]*"|'[^']*'/g, "");
  if (words.length === 0 || /["'|&;<>$`(){}*?\\]/.test(plain)) return undefined;
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

function fromPackage(facts: CheckFacts): string | undefined {
  const scripts = packageJson(facts)?.scripts;
  const test = isJsonObject(scripts) ? scripts.test : undefined;
  // `npm init` writes a script that always fails.
  if (typeof test !== "string" || test.trim() === "" || test.includes("no test specified")) return undefined;
  const manager = packageManagerOf(facts);
  return manager === "bun" ? "bun run test" : `${manager} test`;
}

function fromPyproject(facts: CheckFacts, text: string): string | undefined {
  if (!usesPytest(text)) return undefined;
  if (facts["uv.lock"] !== undefined) return "uv run pytest";
  if (facts["poetry.lock"] !== undefined) return "poetry run pytest";
  return "python3 -m pytest";
}

function usesPytest(text: string): boolean {
  try {
    return JSON.stringify(parseToml(text)).includes("pytest");
  } catch {
    return false;
  }
}

function fromMakefile(_: CheckFacts, text: string): string | undefined {
  const targets = text.split("\n").flatMap((line) => /^([\w-]+)\s*:(?!=)/.exec(line)?.[1] ?? []);
  const target = ["test", "check"].find((name) => targets.includes(name));
  return target === undefined ? undefined : `make ${target}`;
}
