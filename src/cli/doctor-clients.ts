/** The configurations of MCP clients, as `phasegate doctor` reads them: which servers they start, and with which options. */
import { homedir } from "node:os";
import { delimiter, resolve, sep } from "node:path";
import process from "node:process";
import { Command } from "commander";
import { parse as parseToml } from "smol-toml";
import { CLIENT_IDS, CLIENTS, type ClientId } from "../setup/clients.js";
import { findJson, jsonProblem } from "../setup/json-text.js";
import { digestAt, type Piece, type Place } from "../setup/pieces.js";
import type { Roots } from "../setup/places.js";
import { readFiles } from "../setup/project.js";
import type { SetupRecord } from "../setup/record.js";
import { defined, isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { messageOf } from "./exit-codes.js";
import type { ServerCommand } from "./mcp-probe.js";
import { type GivenOptions, serveOptions } from "./serve-options.js";
import { parseState } from "./state.js";
import type { TrustOptions, VerifierOptions } from "./trust.js";

/** A file in which a client looks for MCP servers. */
interface ClientFile {
  readonly id: ClientId;
  readonly title: string;
  /** Relative to the project; below the home folder if it begins with `~/`. */
  readonly path: string;
  /** Returns the place of the server that init writes, in a configuration that has the text. */
  readonly placeIn: (text: string) => PlaceOfServer;
}

type PlaceOfServer = Extract<Place, { readonly keys: unknown }>;

const CLIENT_FILES: readonly ClientFile[] = CLIENT_IDS.flatMap((id) => {
  const { title, configs, server } = CLIENTS[id];
  return configs.map((path) => ({ id, title, path, placeIn: (text: string) => placeOf(server(path, [""], text)) }));
});

/** The files that show that a folder is a project with a client. */
export const CLIENT_PATHS: readonly string[] = CLIENT_FILES.flatMap(({ path }) =>
  path.startsWith("~/") ? [] : [path],
);

function placeOf(piece: Piece): PlaceOfServer {
  if (!("keys" in piece)) throw new Error(`the server in ${piece.path} has no keys`);
  return piece;
}

export interface ConfiguredServer {
  readonly client: ClientId;
  readonly place: string;
  /** The command; or why it can't be started from here; or the command as it is written, if nobody has confirmed it. */
  readonly start: ServerCommand | { readonly reason: string } | { readonly unconfirmed: string };
  /** The options that it gives to `phasegate serve`; undefined if it does not, if they are wrong, or if nobody has confirmed them. */
  readonly options?: ServedOptions;
}

type ServerEntry = Omit<ConfiguredServer, "client">;

export type ServedOptions = TrustOptions &
  VerifierOptions &
  Partial<Pick<GivenOptions, "workflows" | "pack" | "routed" | "includeRoot" | "state" | "allowUnsignedApprovals">>;

export interface FoundClients {
  readonly servers: readonly ConfiguredServer[];
  readonly broken: readonly { readonly place: string; readonly reason: string }[];
}

/** Whose word counts for a configuration in a project. */
export interface Confirming {
  readonly own: SetupRecord | undefined;
  readonly trust: boolean;
}

/**
 * Reads the configurations of all clients in a project. Servers other than phasegate are left out. A configuration in the project
 * may come from somebody else: it is only text, unless this user's init has written it.
 */
export async function readClients(roots: Roots, confirming: Confirming): Promise<FoundClients> {
  const servers: ConfiguredServer[] = [];
  const broken: { place: string; reason: string }[] = [];
  const facts = await readFiles(
    roots,
    CLIENT_FILES.map(({ path }) => path),
  );
  for (const client of CLIENT_FILES) {
    const place = `${client.title}, ${client.path}`;
    const { text, problem } = facts.get(client.path) ?? {};
    if (text === undefined) {
      if (problem !== undefined) broken.push({ place, reason: problem });
      continue;
    }
    try {
      for (const [name, entry] of entriesIn(text, client)) {
        if (!isPhasegate(name, entry)) continue;
        const server = serverOf(`${place}, ${name}`, entry, roots.root);
        const isOwn = isConfirmed(client, name, text, confirming);
        servers.push({ client: client.id, ...(isOwn ? server : unconfirmed(server, entry)) });
      }
    } catch (error) {
      broken.push({ place, reason: messageOf(error).split("\n")[0] ?? "" });
    }
  }
  return { servers, broken };
}

/** Returns true if this user's init has written a server as it is there, and for configurations of the user's own. */
function isConfirmed({ path, placeIn }: ClientFile, name: string, text: string, { own, trust }: Confirming): boolean {
  if (trust || path.startsWith("~/")) return true;
  const place = placeIn(text);
  const written = own?.pieces.find((piece) => piece.path === path && piece.keys?.join(".") === place.keys.join("."));
  return written !== undefined && name === place.keys.at(-1) && digestAt(text, place) === written.digest;
}

function unconfirmed({ place, start }: ServerEntry, entry: JsonObject): ServerEntry {
  if ("reason" in start) return { place, start };
  return { place, start: { unconfirmed: wordsOf(entry).join(" ") } };
}

/** Throws if the text can't be read. */
function entriesIn(text: string, { path, placeIn }: ClientFile): (readonly [string, JsonObject])[] {
  const keys = placeIn(text).keys.slice(0, -1);
  const found = path.endsWith(".toml")
    ? keys.reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), parseToml(text))
    : jsonAt(text, keys);
  if (!isJsonObject(found)) return [];
  return Object.entries(found).flatMap(([name, entry]) => (isJsonObject(entry) ? [[name, entry] as const] : []));
}

function jsonAt(text: string, keys: readonly string[]): JsonValue | undefined {
  const problem = jsonProblem(text, { keys });
  if (problem !== undefined) throw new Error(problem);
  return text.trim() === "" ? undefined : findJson(text, { keys });
}

/** By the name, or since it runs `phasegate serve`: a folder may be called phasegate, too. */
function isPhasegate(name: string, entry: JsonObject): boolean {
  const words = wordsOf(entry);
  const runs = words.some((word) => /(?:^|[\\/])phasegate(?:@[^\\/]*)?$|node_modules[\\/]phasegate[\\/]/i.test(word));
  return /phasegate/i.test(name) || (runs && words.includes("serve"));
}

function serverOf(place: string, entry: JsonObject, project: string): ServerEntry {
  // Gemini CLI has httpUrl, Windsurf serverUrl.
  const url = [entry.url, entry.httpUrl, entry.serverUrl].find((one) => typeof one === "string");
  if (url !== undefined) return { place, start: { reason: `it is reached at ${url}, and not started by the client` } };
  if (entry.enabled === false || entry.disabled === true) return { place, start: { reason: "it is switched off" } };
  if (entry.command === undefined) return { place, start: { reason: "it has no command" } };
  const words = wordsOf(entry);
  const fill = (text: string) => filled(text, project);
  const env = isJsonObject(entry.env) ? entry.env : isJsonObject(entry.environment) ? entry.environment : {};
  const texts = Object.entries(env).map(([name, value]) => [name, fill(String(value))] as const);
  const [command = "", ...args] = words.map(fill);
  const unknown = [command, ...args, ...texts.map(([, value]) => value)].find((text) => PLACEHOLDER.test(text));
  if (unknown !== undefined) return { place, start: { reason: `only the client can fill in ${unknown}` } };
  const cwd = typeof entry.cwd === "string" ? resolve(project, fill(entry.cwd)) : project;
  const start = { command, args, env: Object.fromEntries(texts), cwd };
  return { place, start, options: servedOptions(start) };
}

function wordsOf({ command, args }: JsonObject): string[] {
  return [...listOf(command), ...listOf(args)];
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
  for (const option of Object.values(serveOptions())) command.addOption(option);
  try {
    command.parse(args.slice(at + 1), { from: "user" });
  } catch {
    // The server says it when it is started.
    return undefined;
  }
  const given: ServedOptions = command.opts();
  // The variables of this process are in what is given.
  const optionOf = (option: "routed" | "state" | "project" | "approvers" | "hashKeyFile", variable: string) =>
    command.getOptionValueSource(option) === "cli" ? given[option] : (env[variable] ?? given[option]);
  const isNamed = command.getOptionValueSource("workflows") === "cli";
  const listed = env.PHASEGATE_WORKFLOWS ?? process.env.PHASEGATE_WORKFLOWS;
  return {
    ...given,
    ...absolute(
      {
        workflows: isNamed ? given.workflows : listed?.split(delimiter).filter((path) => path !== ""),
        routed: optionOf("routed", "WORKFLOW_DEFINITIONS_DIR"),
        state: optionOf("state", "PHASEGATE_STATE"),
        project: optionOf("project", "PHASEGATE_PROJECT"),
        approvers: optionOf("approvers", "PHASEGATE_APPROVERS"),
        hashKeyFile: optionOf("hashKeyFile", "PHASEGATE_HASH_KEY_FILE"),
      },
      cwd,
    ),
  };
}

/** Returns those of the paths that are given, as a server sees them that is started in a folder. */
export function absolute(
  { workflows, routed, state, project, approvers, hashKeyFile }: ServedOptions,
  cwd: string,
): ServedOptions {
  const there = (path: string) => resolve(cwd, path);
  return defined({
    workflows: workflows?.map(there),
    routed: routed && there(routed),
    state: state && stateIn(cwd, state),
    project: project && there(project),
    approvers: approvers && there(approvers),
    hashKeyFile: hashKeyFile && there(hashKeyFile),
  });
}

function stateIn(cwd: string, state: string): string {
  const { kind, path } = parseState(state);
  if (path === undefined) return state;
  return kind === undefined ? resolve(cwd, path) : `${kind}:${resolve(cwd, path)}`;
}
