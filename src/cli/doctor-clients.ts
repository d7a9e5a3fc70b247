/** The configurations of MCP clients, as `phasegate doctor` reads them: which servers they start, and with which options. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join, resolve, sep } from "node:path";
import process from "node:process";
import { Command } from "commander";
import { parse as parseToml } from "smol-toml";
import { isMissing } from "../sandbox/refusals.js";
import { CLIENTS } from "../setup/clients.js";
import { findJson, jsonProblem } from "../setup/json-text.js";
import type { Piece } from "../setup/pieces.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { ServerCommand } from "./mcp-probe.js";
import { serveOptions } from "./serve-options.js";
import { parseState } from "./state.js";
import type { TrustOptions, VerifierOptions } from "./trust.js";

/** A file in which a client looks for MCP servers. */
interface ClientFile {
  readonly title: string;
  /** Relative to the project; below the home folder if it begins with `~/`. */
  readonly path: string;
  /** Returns the keys below which the servers are, by name, in a configuration that has the text. */
  readonly keysIn: (text: string) => readonly string[];
}

const CLIENT_FILES: readonly ClientFile[] = Object.values(CLIENTS).flatMap(({ title, configs, server }) =>
  configs.map((path) => ({ title, path, keysIn: (text: string) => keysOf(server(path, [""], text)).slice(0, -1) })),
);

/** The files that show that a folder is a project with a client. */
export const CLIENT_PATHS: readonly string[] = CLIENT_FILES.flatMap(({ path }) =>
  path.startsWith("~/") ? [] : [path],
);

function keysOf(piece: Piece): readonly string[] {
  return "keys" in piece ? piece.keys : [];
}

/** A server that a client starts. */
export interface ConfiguredServer {
  /** The client, its file and the server's name in it, for messages. */
  readonly place: string;
  /** The command; or why it can't be started from here. */
  readonly start: ServerCommand | { readonly reason: string };
  /** The options that it gives to `phasegate serve`; undefined if it does not, or if they are wrong. */
  readonly options?: ServedOptions;
}

/** The options of `phasegate serve` that `doctor` looks at. */
export interface ServedOptions extends TrustOptions, VerifierOptions {
  readonly workflows?: readonly string[];
  readonly routed?: string;
  readonly includeRoot?: readonly string[];
  readonly state?: string;
  readonly allowUnsignedApprovals?: true;
}

/** The configurations of a project. */
export interface FoundClients {
  /** The servers that are phasegate, in the order of the files. */
  readonly servers: readonly ConfiguredServer[];
  /** The files that can't be read, each with the reason. */
  readonly broken: readonly { readonly place: string; readonly reason: string }[];
}

/** Reads the configurations of all clients in a project. Servers other than phasegate are left out. */
export async function readClients(project: string): Promise<FoundClients> {
  const servers: ConfiguredServer[] = [];
  const broken: { place: string; reason: string }[] = [];
  for (const client of CLIENT_FILES) {
    const place = `${client.title}, ${client.path}`;
    try {
      const text = await textOf(client, project);
      if (text === undefined) continue;
      const entries = entriesIn(text, client);
      for (const [name, entry] of entries) {
        if (isPhasegate(name, entry)) servers.push(serverOf(`${place}, ${name}`, entry, project));
      }
    } catch (error) {
      broken.push({ place, reason: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) });
    }
  }
  return { servers, broken };
}

async function textOf({ path }: ClientFile, project: string): Promise<string | undefined> {
  const file = path.startsWith("~/") ? join(homedir(), path.slice(2)) : join(project, path);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Returns the servers by name. Throws if the text can't be read. */
function entriesIn(text: string, { path, keysIn }: ClientFile): (readonly [string, JsonObject])[] {
  const keys = keysIn(text);
  const found = path.endsWith(".toml")
    ? keys.reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), parseToml(text))
    : jsonAt(text, keys);
  if (!isJsonObject(found)) return [];
  return Object.entries(found).flatMap(([name, entry]) => (isJsonObject(entry) ? [[name, entry] as const] : []));
}

/** Returns the value at a place in JSON with comments. */
function jsonAt(text: string, keys: readonly string[]): JsonValue | undefined {
  const problem = jsonProblem(text, { keys });
  if (problem !== undefined) throw new Error(problem);
  return text.trim() === "" ? undefined : findJson(text, { keys });
}

/** Returns true for a server of this name, and for one that runs `phasegate serve`: a folder may be called so, too. */
function isPhasegate(name: string, { command, args }: JsonObject): boolean {
  const words = [...listOf(command), ...listOf(args)];
  const runs = words.some((word) => /(?:^|[\\/])phasegate(?:@[^\\/]*)?$|node_modules[\\/]phasegate[\\/]/i.test(word));
  return /phasegate/i.test(name) || (runs && words.includes("serve"));
}

function serverOf(place: string, entry: JsonObject, project: string): ConfiguredServer {
  // Gemini CLI has httpUrl, Windsurf serverUrl.
  const url = [entry.url, entry.httpUrl, entry.serverUrl].find((one) => typeof one === "string");
  if (url !== undefined) return { place, start: { reason: `it is reached at ${url}, and not started by the client` } };
  if (entry.enabled === false || entry.disabled === true) return { place, start: { reason: "it is switched off" } };
  if (entry.command === undefined) return { place, start: { reason: "it has no command" } };
  const words = [...listOf(entry.command), ...listOf(entry.args)];
  const fill = (text: string) => filled(text, project);
  const env = isJsonObject(entry.env) ? entry.env : isJsonObject(entry.environment) ? entry.environment : {};
  const texts = Object.entries(env).map(([name, value]) => [name, fill(String(value))] as const);
  const [command = "", ...args] = words.map(fill);
  const unknown = [command, ...args, ...texts.map(([, value]) => value)].find((text) => PLACEHOLDER.test(text));
  if (unknown !== undefined) return { place, start: { reason: `only the client can fill in ${unknown}` } };
  const cwd = typeof entry.cwd === "string" ? resolve(project, fill(entry.cwd)) : project;
  const start = { command, args, env: Object.fromEntries(texts), cwd };
  const options = servedOptions(start);
  return { place, start, ...(options === undefined ? {} : { options }) };
}

function listOf(value: JsonValue | undefined): string[] {
  const items = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return items.map(String);
}

const PLACEHOLDER = /\$\{[^{}]*\}/;

/** Replaces the placeholders that clients have in common. Others stay. */
function filled(text: string, project: string): string {
  return text.replace(/\$\{([^{}]*)\}/g, (whole, inside: string) => {
    if (inside === "workspaceFolder") return project;
    if (inside === "userHome") return homedir();
    if (inside === "pathSeparator" || inside === "/") return sep;
    const [, name = "", preset] = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/.exec(inside) ?? [];
    return process.env[name] ?? preset ?? whole;
  });
}

/** Reads the options of `serve`. The server's own variables win over those of this process. */
function servedOptions({ args, env, cwd }: ServerCommand): ServedOptions | undefined {
  const at = args.indexOf("serve");
  if (at === -1) return undefined;
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  for (const option of serveOptions()) command.addOption(option);
  try {
    command.parse(args.slice(at + 1), { from: "user" });
  } catch {
    // The server says it when it is started.
    return undefined;
  }
  const given: ServedOptions = command.opts();
  const variable = (name: string) => env[`PHASEGATE_${name}`] ?? process.env[`PHASEGATE_${name}`];
  const isGiven = (option: keyof ServedOptions) => command.getOptionValueSource(option) === "cli";
  const workflows = isGiven("workflows") ? given.workflows : variable("WORKFLOWS")?.split(delimiter);
  const routed = isGiven("routed") ? given.routed : (env.WORKFLOW_DEFINITIONS_DIR ?? given.routed);
  const state = isGiven("state") ? given.state : variable("STATE");
  const project = isGiven("project") ? given.project : variable("PROJECT");
  const approvers = isGiven("approvers") ? given.approvers : variable("APPROVERS");
  const hashKeyFile = isGiven("hashKeyFile") ? given.hashKeyFile : variable("HASH_KEY_FILE");
  const there = (path: string) => resolve(cwd, path);
  return {
    ...given,
    ...(workflows === undefined ? {} : { workflows: workflows.filter((path) => path !== "").map(there) }),
    ...(routed === undefined ? {} : { routed: there(routed) }),
    ...(state === undefined ? {} : { state: stateIn(cwd, state) }),
    ...(project === undefined ? {} : { project: there(project) }),
    ...(approvers === undefined ? {} : { approvers: there(approvers) }),
    ...(hashKeyFile === undefined ? {} : { hashKeyFile: there(hashKeyFile) }),
  };
}

/** Returns `--state` with an absolute path, as a server sees it that is started in a folder. */
export function stateIn(cwd: string, state: string): string {
  const { kind, path } = parseState(state);
  if (path === undefined) return state;
  return kind === undefined ? resolve(cwd, path) : `${kind}:${resolve(cwd, path)}`;
}
