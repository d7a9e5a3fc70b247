/**
 * The roots of a workspace: the only way from a path that an agent gives to a file. The entry file of this folder; what
 * is decided where:
 * - roots.ts: how a path becomes a location, what `{project-root}` may reach, and which names are suggested
 * - paths.ts: which paths are refused on every system, how variables are replaced, and which folders may be roots
 */
import { join, posix, relative, sep } from "node:path";
import { distance } from "fastest-levenshtein";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { SandboxEntry } from "../../sandbox/list.js";
import { isInside } from "../../sandbox/resolve.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { isSessionFolder, noSession } from "../session/folders.js";
import {
  checkedPath,
  expandPath,
  expandText,
  type Location,
  type OpenRoot,
  ROOT_NAMES,
  showLocation,
  type Variables,
  type VariableValue,
} from "./paths.js";

/** The options of {@link Roots}. */
interface RootsOptions {
  readonly roots: readonly OpenRoot[];
  /** The absolute paths of the project, if there is one. */
  readonly project?: readonly string[];
  readonly variables: Readonly<Record<string, VariableValue>>;
}

/** Tells whether a session exists for a caller. */
type Sees = (sessionId: string) => Promise<boolean>;

/** The largest file that is read whole, in bytes. */
const FILE_MAX = 1_048_576;
/** How many sessions are looked at together: each may be a file to read. */
const AT_ONCE = 32;

/** The roots and variables of a workspace. */
export class Roots {
  readonly #options: RootsOptions;
  readonly #sees: Sees | undefined;
  readonly #roots: ReadonlyMap<string, OpenRoot>;
  readonly #project: readonly string[];
  readonly #variables: Variables;

  constructor(options: RootsOptions, sees?: Sees) {
    const { roots, project = [], variables } = options;
    this.#options = options;
    this.#sees = sees;
    this.#roots = new Map(roots.map((root) => [root.name, root]));
    this.#project = project;
    const names = [...this.#roots.keys(), ...(project.length === 0 ? [] : [ROOT_NAMES.project])];
    this.#variables = new Map<string, VariableValue>([
      ...names.map((root): [string, VariableValue] => [root, { root, path: "." }]),
      ...Object.entries(variables),
    ]);
  }

  /**
   * Returns these roots for one caller: the folders of sessions that it does not see do not exist, and are in the output
   * root alone, also where that is inside another root.
   */
  limitedTo(sees: Sees): Roots {
    return new Roots(this.#options, sees);
  }

  /** The names of all variables, without braces. */
  get known(): readonly string[] {
    return [...this.#variables.keys()];
  }

  /** The names of all roots; the bundle root is the first. */
  get folders(): readonly string[] {
    return [...this.#roots.keys()];
  }

  /**
   * Resolves a path to a location, which need not exist. A path that does not begin with a root is relative to the
   * folder of `from`, the file that contains it; `..` may lead up to the root. Without `from` it is below the output
   * root if it begins with a session id, else below the bundle root. Throws `PATH_REFUSED`.
   */
  resolve(path: string, from?: Location): Location {
    const { base, rest } = typeof path === "string" ? expandPath(path, this.#variables) : { rest: checkedPath(path) };
    if (base !== undefined) return this.#readable(base.root, rest === "" ? base.path : joined(base.path, rest));
    if (from !== undefined) return { root: from.root, path: relativeTo(from.path, rest) };
    const checked = checkedPath(rest);
    const [first = "", ...names] = checked.split("/");
    const session = first.toLowerCase();
    if (!isSessionFolder(session)) return { root: ROOT_NAMES.bundle, path: checked };
    // Some models write UUIDs in upper case.
    return { root: ROOT_NAMES.output, path: [session, ...names].join("/") };
  }

  /** Replaces the host's variables in a text. Roots and unknown names stay. */
  expand(text: string): string {
    return expandText(text, this.#variables);
  }

  /** Reads a file's text, and its size in bytes. Throws as a sandbox does, and `INVALID_INPUT` for a binary file. */
  async read(location: Location): Promise<{ readonly text: string; readonly size: number }> {
    const { bytes } = await (await this.reach(location)).readBytes(location.path, { maxBytes: FILE_MAX });
    return { text: decodeText(bytes, showLocation(location)), size: bytes.length };
  }

  /** Lists a folder without refused entries. Throws as a sandbox does. */
  async list(location: Location): Promise<readonly SandboxEntry[]> {
    const entries = await (await this.reach(location)).names(location.path);
    const readable = entries.filter(({ path, kind }) => kind !== "refused" && isCheckable(path));
    const sees = this.#sees;
    if (sees === undefined || location.root !== ROOT_NAMES.output || location.path !== ".") return readable;
    const seen: SandboxEntry[] = [];
    for (let from = 0; from < readable.length; from += AT_ONCE) {
      const some = readable.slice(from, from + AT_ONCE);
      const mine = await Promise.all(
        some.map(async ({ path }) => sessionOf(path) === undefined || sees(path.toLowerCase())),
      );
      seen.push(...some.filter((_, index) => mine[index]));
    }
    return seen;
  }

  /**
   * Returns up to 5 names that are similar to a missing one, the most similar first. If the folder is missing too, its
   * name is compared instead.
   */
  async nearest({ root, path }: Location): Promise<readonly Location[]> {
    for (let wanted = path; wanted !== "."; wanted = posix.dirname(wanted)) {
      const entries = await this.list({ root, path: posix.dirname(wanted) }).catch(undefinedIfKnown);
      if (entries === undefined) continue;
      const name = posix.basename(wanted).toLowerCase();
      return entries
        .map((entry) => ({ near: entry.path, steps: distance(name, posix.basename(entry.path).toLowerCase()) }))
        .sort((a, b) => a.steps - b.steps)
        .slice(0, NAMES_MAX)
        .map(({ near }) => ({ root, path: near }));
    }
    return [];
  }

  /**
   * Returns the sandbox in which the caller may read a location. Throws `SESSION_NOT_FOUND` for a session that it does not
   * see, and `PATH_REFUSED` for an unknown root.
   */
  async reach(location: Location): Promise<Sandbox> {
    const { sandbox, apart } = this.#open(location);
    if (this.#sees === undefined) return sandbox;
    if (location.root !== ROOT_NAMES.output) return apart;
    const id = sessionOf(location.path);
    if (id !== undefined && !(await this.#sees(id))) throw noSession(id, []);
    return sandbox;
  }

  /** Returns the whole sandbox of a location's root, for the workspace itself. Throws `PATH_REFUSED` for an unknown root. */
  sandbox(location: Location): Sandbox {
    return this.#open(location).sandbox;
  }

  #open({ root }: Location): OpenRoot {
    const open = this.#roots.get(root);
    if (open !== undefined) return open;
    throw new PhasegateError("PATH_REFUSED", `there is no root {${root}}`, {
      remedy: `The roots are ${[...this.#roots.keys()].map((name) => `{${name}}`).join(", ")}.`,
      details: { reason: "unknown root" },
    });
  }

  /** Maps a path in the project into a root. The project itself is not a root: other paths in it are refused. */
  #readable(root: string, path: string): Location {
    if (root !== ROOT_NAMES.project) return { root, path };
    for (const project of this.#project) {
      const place = join(project, path);
      const found = this.#deepestAround(place);
      // Checked again: some names are only refused at the beginning of a path.
      if (found !== undefined) return { root: found.root, path: checkedPath(found.path) };
    }
    const reason = "the project is readable only where it contains other roots";
    throw new PhasegateError("PATH_REFUSED", `the path "${showLocation({ root, path })}" is refused: ${reason}`, {
      remedy: `Read below ${[...this.#roots.keys()].map((name) => `{${name}}`).join(", ")}.`,
      details: { reason },
    });
  }

  #deepestAround(place: string): Location | undefined {
    const around = [...this.#roots.values()].flatMap(({ name, places }) =>
      places.filter((root) => isInside(root, place)).map((root) => ({ name, way: relative(root, place) })),
    );
    const [nearest] = around.sort((a, b) => a.way.length - b.way.length);
    return nearest === undefined ? undefined : { root: nearest.name, path: nearest.way.split(sep).join("/") || "." };
  }
}

/**
 * Returns the session whose folder a path of the output root is in, or leads to. Some file systems ignore case, so an id in
 * upper case names the same folder.
 */
function sessionOf(path: string): string | undefined {
  const id = path.split("/")[0]?.toLowerCase() ?? "";
  return isSessionFolder(id) ? id : undefined;
}

function joined(folder: string, path: string): string {
  const checked = checkedPath(path);
  if (folder === ".") return checked;
  return checked === "." ? folder : `${folder}/${checked}`;
}

/** Resolves a path relative to the folder of a file. */
function relativeTo(file: string, path: string): string {
  const segments = path.split(/[\\/]+/);
  // An absolute path begins with an empty segment, which this check refuses.
  checkedPath(segments.filter((segment) => segment !== "..").join("/") || ".");
  const place = file.split("/").slice(0, -1);
  for (const segment of segments.filter((name) => name !== "." && name !== "")) {
    if (segment !== "..") place.push(segment);
    // Above the root: this check throws with the whole path.
    else if (place.pop() === undefined) return checkedPath(path);
  }
  return checkedPath(place.join("/") || ".");
}

function isCheckable(path: string): boolean {
  try {
    return checkedPath(path) === path;
  } catch {
    return false;
  }
}

/** The most similar names in an answer. */
const NAMES_MAX = 5;

function undefinedIfKnown(error: unknown): undefined {
  if (!isPhasegateError(error)) throw error;
}

/**
 * Decodes UTF-8. A byte order mark stays. Throws `INVALID_INPUT` for binary bytes (any that contain NUL) and invalid
 * UTF-8.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (bytes.includes(0)) throw notText(name, "a binary file");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText(name, "not valid UTF-8");
  }
}

function notText(name: string, what: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${name} is ${what}: only text files can be read`, {
    remedy: "Continue without it, or ask the user for its content as UTF-8 text.",
    details: { field: "path", expected: "a text file in UTF-8" },
  });
}
