/**
 * Reads what `phasegate init` must know of a project: its root, its files and how phasegate is installed in it; and writes
 * what a plan changes. One run writes at a time. Everything is checked before anything is written, each file is replaced as a
 * whole, and if one can't be written, those before it get back what they had.
 */
import { accessSync, constants, existsSync } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { devNull, homedir } from "node:os";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { errnoOf, isPhasegateError, PhasegateError } from "../errors.js";
import { bytesBelow, linkIn, makeFolderBelow, removeFolderBelow, writeBelow } from "../sandbox/change.js";
import { whileClaimed } from "../sandbox/replace.js";
import { openSandbox, type Sandbox } from "../sandbox/sandbox.js";
import { isJsonObject } from "../workflow/json.js";
import { CLIENT_IDS, CLIENTS, type ClientId } from "./clients.js";
import { findJson, jsonProblem } from "./json-text.js";
import { keepOwnRecord } from "./own-record.js";
import type { Roots } from "./places.js";
import type { FileChange, FileFact, SetupPlan } from "./plan.js";
import { parseRecord, RECORD_PATH, type SetupRecord } from "./record.js";
import { CHECK_FILES, type CheckFacts, type Launcher, LOCK_FILES, parseObject, type Starter } from "./wanted.js";

/** A configuration has some kB. */
const FILE_MAX = 4 * 1024 * 1024;

const MANIFEST = "package.json";

/** Tells whether a folder is a project. */
type Sign = (folder: string) => Promise<boolean>;

const isSetUp: Sign = (folder) => exists(join(folder, RECORD_PATH));

/** The signs of a project. The first one counts most. A package of a monorepo that depends on phasegate is a project of its own. */
const SIGNS: readonly Sign[] = [
  isSetUp,
  async (root) => dependsOnPhasegate((await readFiles({ root, home: root }, [MANIFEST])).get(MANIFEST)?.text),
  (folder) => exists(join(folder, ".git")),
  (folder) => exists(join(folder, MANIFEST)),
];

/**
 * Finds the project that a folder is in: the nearest folder upwards with a record of init, else with a package.json that names
 * phasegate, else with `.git`, else with package.json. The user's own folder counts only if it is where the search begins.
 * Undefined if there is none.
 */
export function findProject(folder: string): Promise<Roots | undefined> {
  return findFolder(folder, SIGNS);
}

/** Finds the nearest folder upwards in which init has set up phasegate. */
export function findOwnProject(folder: string): Promise<Roots | undefined> {
  return findFolder(folder, [isSetUp]);
}

async function findFolder(folder: string, signs: readonly Sign[]): Promise<Roots | undefined> {
  const start = await realpath(folder);
  const realHome = await realHomeOf();
  const folders: string[] = [];
  for (let at = start; ; at = dirname(at)) {
    if (at === start || at !== realHome) folders.push(at);
    if (dirname(at) === at) break;
  }
  for (const sign of signs) {
    for (const root of folders) if (await sign(root)) return { root, home: realHome };
  }
  return undefined;
}

/**
 * Returns the real path of the user's own folder. In a container there may be none: then it is a path below which nothing
 * can be, so that what needs the folder fails, and nothing else.
 */
async function realHomeOf(home = homeOrNone()): Promise<string> {
  return isAbsolute(home) ? realpath(home).catch(() => home) : devNull;
}

function homeOrNone(): string {
  try {
    return homedir();
  } catch {
    // There is no `HOME`, and no user of this number.
    return "";
  }
}

/** Returns a folder as a project, whatever is in it. */
export async function openProject(folder: string, home?: string): Promise<Roots> {
  return { root: await realpath(folder), home: await realHomeOf(home) };
}

/** Returns where a path of a piece is: in the project, or in the user's own folder if it begins with `~/`. */
function locationOf({ root, home }: Roots, path: string): { readonly base: string; readonly path: string } {
  return path.startsWith("~/") ? { base: home, path: path.slice(2) } : { base: root, path };
}

export async function readFiles(roots: Roots, paths: Iterable<string>): Promise<Map<string, FileFact>> {
  const sandboxes = new Map<string, Sandbox>();
  const facts = new Map<string, FileFact>();
  for (const name of paths) {
    const { base, path } = locationOf(roots, name);
    const sandbox = sandboxes.get(base) ?? (await openSandbox(base));
    sandboxes.set(base, sandbox);
    facts.set(name, await readFact(sandbox, base, path));
  }
  return facts;
}

async function readFact(sandbox: Sandbox, base: string, path: string): Promise<FileFact> {
  const link = linkIn(base, path);
  try {
    const { text } = await sandbox.read(path, { maxBytes: FILE_MAX });
    const real = await realpath(join(base, path));
    const { mode, nlink } = await stat(real);
    const to = relative(base, real).split(sep).join("/");
    const several = nlink > 1 ? "it has several names (hard links)" : linkProblem(path, link);
    return { text, leadsTo: to === path ? undefined : to, problem: mode & 0o222 ? several : "it is read-only" };
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return { problem: error.code === "FILE_NOT_FOUND" ? linkProblem(path, link) : error.message };
  }
}

/** Nothing is written through a link: where it leads may be a file of git, or of somebody else. */
function linkProblem(path: string, link: string | undefined): string | undefined {
  return link && `${link === path ? "it" : link} is a link, and nothing is written through one`;
}

/** Returns those folders above some paths that exist. */
export async function readFolders(roots: Roots, paths: Iterable<string>): Promise<Set<string>> {
  const found = new Map<string, boolean>();
  for (const path of paths) {
    for (let folder = posix.dirname(path); folder !== "." && folder !== "~"; folder = posix.dirname(folder)) {
      if (!found.has(folder)) found.set(folder, await isFolder(absolute(roots, folder)));
    }
  }
  return new Set([...found].flatMap(([folder, isThere]) => (isThere ? folder : [])));
}

/** The record as it was read: its file, and what is in it or why it can't be used. Neither, if there is no such file. */
export interface ReadRecord {
  readonly fact: FileFact;
  readonly record?: SetupRecord;
  readonly problem?: string;
}

export async function readRecord(roots: Roots): Promise<ReadRecord> {
  const fact = (await readFiles(roots, [RECORD_PATH])).get(RECORD_PATH) ?? {};
  return { fact, ...(fact.text === undefined ? { problem: fact.problem } : parseRecord(fact.text)) };
}

export async function detectClients({ root }: Roots): Promise<ClientId[]> {
  const found = await Promise.all(
    CLIENT_IDS.map((id) => Promise.all(CLIENTS[id].signs.map((sign) => exists(join(root, sign))))),
  );
  return CLIENT_IDS.filter((_, index) => found[index]?.includes(true));
}

/** Reads the files of build tools; of a lockfile only that it exists. One that can't be read says nothing. */
export async function readCheckFacts(roots: Roots): Promise<CheckFacts> {
  const facts: Record<string, string | undefined> = {};
  for (const [name, { text }] of await readFiles(roots, CHECK_FILES)) facts[name] = text;
  for (const name of await lockFilesAt(roots.root)) facts[name] = "";
  return facts;
}

/** Returns the lockfiles of a folder; of a package of a monorepo, those of the nearest folder upwards in its repository. */
async function lockFilesAt(folder: string): Promise<readonly string[]> {
  const there = await Promise.all(LOCK_FILES.map((name) => exists(join(folder, name))));
  const found = LOCK_FILES.filter((_, index) => there[index]);
  const isTop = dirname(folder) === folder || (await exists(join(folder, ".git")));
  return found.length > 0 || isTop ? found : lockFilesAt(dirname(folder));
}

export interface Installed extends Pick<Launcher, "from" | "modules"> {
  /** True if it is installed, and the package is not there that `serve` needs. */
  readonly lacksSdk: boolean;
}

export async function readInstalled({ root }: Roots, facts: CheckFacts): Promise<Installed> {
  const own = "node_modules";
  const isThere = await exists(join(root, own, "phasegate"));
  const isListed = dependsOnPhasegate(facts[MANIFEST]);
  if (!isThere && !isListed) return { from: "npx", modules: own, lacksSdk: false };
  if (!isThere && (await exists(join(root, ".pnp.cjs")))) return { from: "pnp", modules: own, lacksSdk: false };
  const modules = isThere ? own : await modulesAbove(root);
  const found = [own, modules].map((folder) => exists(join(root, folder, "@modelcontextprotocol", "server")));
  return { from: "module", modules, lacksSdk: !(await Promise.all(found)).includes(true) };
}

function dependsOnPhasegate(manifest = ""): boolean {
  const { dependencies, devDependencies } = parseObject(manifest) ?? {};
  return [dependencies, devDependencies].some(
    (packages) => isJsonObject(packages) && Object.hasOwn(packages, "phasegate"),
  );
}

/** Returns the folder of a monorepo in which phasegate is, relative to one of its packages; `node_modules` if there is none. */
async function modulesAbove(root: string): Promise<string> {
  let up = "";
  for (let at = root; dirname(at) !== at; at = dirname(at), up += "../") {
    if (await exists(join(at, "node_modules", "phasegate"))) return `${up}node_modules`;
  }
  return "node_modules";
}

/** Reads the starters: folders of workflows. Names that begin with a dot are left out. */
export async function readStarters(folder: string): Promise<Starter[]> {
  const starters: Starter[] = [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() || !(await exists(join(path, "metadata.json")))) continue;
    const files: Record<string, string> = {};
    // Names alone: in the archives of Yarn Plug'n'Play, entries with types do not say their folder.
    for (const name of (await readdir(path, { recursive: true })).toSorted()) {
      const file = join(path, name);
      if (await isFolder(file)) continue;
      files[name.split(sep).join("/")] = await readFile(file, "utf8");
    }
    starters.push({ name: entry.name, description: descriptionIn(files["metadata.json"] ?? ""), files });
  }
  return starters;
}

function descriptionIn(metadata: string): string {
  const place = { keys: ["description"] };
  const value = jsonProblem(metadata, place) === undefined ? findJson(metadata, place) : undefined;
  return typeof value === "string" ? value : "";
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/**
 * Writes what a plan changes, while no other run writes in the project, and keeps the record for the user. Returns why it can't be
 * kept.
 * @throws {PhasegateError} `STORAGE_FAILED` if a file has changed since it was read, or can't be written. Then nothing is
 * changed.
 */
export async function applyPlan(roots: Roots, plan: SetupPlan): Promise<string | undefined> {
  try {
    return await whileClaimed(absolute(roots, RECORD_PATH), () => apply(roots, plan));
  } catch (error) {
    if (error instanceof PhasegateError) throw error;
    throw failed(`a file or folder in ${roots.root} can't be changed`, error);
  }
}

/** Synchronous, as a claim is held only for a synchronous step. The record is deleted last: it says what is left to do. */
function apply(roots: Roots, { changes, pending, make, unmake, record: left }: SetupPlan): string | undefined {
  for (const change of changes) check(roots, change);
  // Before anything is written: if this run is killed, the next one knows its record.
  const kept = keepOwnRecord(roots, left);
  const undo: (() => unknown)[] = kept.undo ? [kept.undo] : [];
  const record = changes.find(({ path }) => path === RECORD_PATH);
  const write = (name: string, text: string | undefined) => {
    const { base, path } = locationOf(roots, name);
    return orFailed(`${name} can't be written`, () => writeBelow(base, path, text));
  };
  try {
    if (pending !== undefined && record !== undefined) {
      write(RECORD_PATH, pending);
      undo.push(() => write(RECORD_PATH, record.before));
    }
    for (const folder of make) {
      const { base, path } = locationOf(roots, folder);
      makeFolderBelow(base, path);
      undo.push(() => removeFolderBelow(base, path));
    }
    for (const { path: name, before, after } of changes.filter((change) => change !== record)) {
      const { base, path } = locationOf(roots, name);
      const mode = write(name, after);
      undo.push(() => writeBelow(base, path, before, mode));
    }
    for (const folder of unmake) {
      const { base, path } = locationOf(roots, folder);
      const mode = orFailed(`the folder ${folder} can't be removed`, () => removeFolderBelow(base, path));
      if (mode !== undefined) undo.push(() => makeFolderBelow(base, path, mode));
    }
    if (record !== undefined) write(RECORD_PATH, record.after);
    return kept.problem;
  } catch (error) {
    for (const step of undo.reverse()) step();
    throw error;
  }
}

function check(roots: Roots, { path: name, before }: FileChange): void {
  const { base, path } = locationOf(roots, name);
  const now = orFailed(`${name} can't be read`, () => bytesBelow(base, path));
  const isSame = before === undefined ? now === undefined : now?.equals(Buffer.from(before)) === true;
  if (!isSame) throw failed(`${name} has changed since it was read`, undefined, "changed");
  try {
    accessSync(nearest(dirname(join(base, path))), constants.W_OK);
  } catch (error) {
    throw failed(`the folder of ${name} can't be written to`, error);
  }
}

function orFailed<T>(message: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw failed(message, error);
  }
}

function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder));
}

function absolute(roots: Roots, name: string): string {
  const { base, path } = locationOf(roots, name);
  return join(base, path);
}

function failed(message: string, error: unknown, cause = causeOf(error)): PhasegateError {
  return new PhasegateError("STORAGE_FAILED", `${message} (${cause}): nothing was changed`, {
    remedy: "Correct that, and run phasegate init again.",
    details: { operation: "init", cause },
    cause: error,
  });
}

function causeOf(error: unknown): string {
  return errnoOf(error) ?? (isPhasegateError(error) ? error.message : "unknown");
}
