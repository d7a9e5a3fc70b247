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
import { utf8 } from "../../sandbox/read.js";
import { isInside } from "../../sandbox/resolve.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { noSession } from "../session/folders.js";
import {
  checkedPath,
  expandPath,
  expandText,
  isSessionFolder,
  type Location,
  type OpenRoot,
  ROOT_NAMES,
  showLocation,
  type VariableValue,
} from "./paths.js";

interface RootsOptions {
  readonly roots: readonly OpenRoot[];
  /** The absolute paths of the project, if there is one. */
  readonly project?: readonly string[];
  readonly variables: Readonly<Record<string, VariableValue>>;
}

/** Tells whether a session exists for a caller. */
type Sees = (sessionId: string) => Promise<boolean>;

/** The roots and variables of a workspace. */
export interface Roots {
  /** The names of all variables, without braces. */
  readonly known: readonly string[];
  /** The names of all roots; the bundle root is the first. */
  readonly folders: readonly string[];
  /** Hides from a caller the sessions that it does not see, also in a root that contains the output root. */
  limitedTo(sees: Sees): Roots;
  /**
   * Resolves a path to a location, which need not exist. A path that does not begin with a root is relative to the
   * folder of `from`, the file that contains it; `..` may lead up to the root. Without `from` it is below the output
   * root if it begins with a session id, else below the bundle root. Throws `PATH_REFUSED`.
   */
  resolve(path: string, from?: Location): Location;
  /** Replaces the host's variables in a text. Roots and unknown names stay. */
  expand(text: string): string;
  /** Reads a file's text, and its size in bytes. Throws as a sandbox does, and `INVALID_INPUT` for a binary file. */
  read(location: Location): Promise<{ readonly text: string; readonly size: number }>;
  /** Lists a folder without refused entries. Throws as a sandbox does. */
  list(location: Location): Promise<readonly SandboxEntry[]>;
  /** Returns up to 5 names, the most similar first; those of the folder, if it is missing, too. */
  nearest(location: Location): Promise<readonly Location[]>;
  /** Throws `SESSION_NOT_FOUND` for a session that the caller does not see, and `PATH_REFUSED` for an unknown root. */
  reach(location: Location): Promise<Sandbox>;
  /** Returns the whole sandbox of a location's root, for the workspace itself. Throws `PATH_REFUSED` for an unknown root. */
  sandbox(location: Location): Sandbox;
}

/** The largest file that is read whole, in bytes. */
const FILE_MAX = 1_048_576;
/** How many sessions are looked at together: each may be a file to read. */
const AT_ONCE = 32;
const NAMES_MAX = 5;

/** Makes the roots of a workspace: those of the host itself without `sees`. */
export function createRoots(options: RootsOptions, sees?: Sees): Roots {
  const { project = [] } = options;
  const opened = new Map(options.roots.map((root) => [root.name, root]));
  const names = [...opened.keys(), ...(project.length === 0 ? [] : [ROOT_NAMES.project])];
  const variables = new Map<string, VariableValue>([
    ...names.map((root): [string, VariableValue] => [root, { root, path: "." }]),
    ...Object.entries(options.variables),
  ]);
  const all = [...opened.keys()].map((name) => `{${name}}`).join(", ");

  function open({ root }: Location): OpenRoot {
    const found = opened.get(root);
    if (found !== undefined) return found;
    throw new PhasegateError("PATH_REFUSED", `there is no root {${root}}`, {
      remedy: `The roots are ${all}.`,
      details: { reason: "unknown root" },
    });
  }

  /** Maps a path in the project into a root. The project itself is not a root: other paths in it are refused. */
  function readable(root: string, path: string): Location {
    if (root !== ROOT_NAMES.project) return { root, path };
    for (const place of project) {
      const found = deepestAround(join(place, path));
      // Checked again: some names are only refused at the beginning of a path.
      if (found !== undefined) return { root: found.root, path: checkedPath(found.path) };
    }
    const reason = "the project is readable only where it contains other roots";
    throw new PhasegateError("PATH_REFUSED", `the path "${showLocation({ root, path })}" is refused: ${reason}`, {
      remedy: `Read below ${all}.`,
      details: { reason },
    });
  }

  function deepestAround(place: string): Location | undefined {
    const [nearest] = [...opened.values()]
      .flatMap(({ name, places }) => places.map((root) => ({ name, root })))
      .flatMap(({ name, root }) => (isInside(root, place) ? [{ name, way: relative(root, place) }] : []))
      .sort((a, b) => a.way.length - b.way.length);
    return nearest && { root: nearest.name, path: nearest.way.split(sep).join("/") || "." };
  }

  async function seen(entries: readonly SandboxEntry[], by: Sees): Promise<readonly SandboxEntry[]> {
    const found: SandboxEntry[] = [];
    for (let from = 0; from < entries.length; from += AT_ONCE) {
      const some = entries.slice(from, from + AT_ONCE);
      const mine = await Promise.all(
        some.map(async ({ path }) => sessionOf(path) === undefined || by(path.toLowerCase())),
      );
      found.push(...some.filter((_, index) => mine[index]));
    }
    return found;
  }

  const made: Roots = {
    known: [...variables.keys()],
    folders: [...opened.keys()],
    limitedTo: (limit) => createRoots(options, limit),
    resolve(path, from) {
      const { base, rest } = typeof path === "string" ? expandPath(path, variables) : { rest: checkedPath(path) };
      if (base !== undefined) return readable(base.root, rest === "" ? base.path : joined(base.path, rest));
      if (from !== undefined) return { root: from.root, path: relativeTo(from.path, rest) };
      const checked = checkedPath(rest);
      const session = sessionOf(checked);
      if (session === undefined) return { root: ROOT_NAMES.bundle, path: checked };
      // Some models write UUIDs in upper case.
      return { root: ROOT_NAMES.output, path: session + checked.slice(session.length) };
    },
    expand: (text) => expandText(text, variables),
    async read(location) {
      const { bytes } = await (await made.reach(location)).readBytes(location.path, { maxBytes: FILE_MAX });
      return { text: decodeText(bytes, showLocation(location)), size: bytes.length };
    },
    async list(location) {
      const entries = await (await made.reach(location)).list(location.path);
      const readable = entries.filter(({ path, kind }) => kind !== "refused" && isCheckable(path));
      const isOfSessions = location.root === ROOT_NAMES.output && location.path === ".";
      return sees === undefined || !isOfSessions ? readable : seen(readable, sees);
    },
    async nearest({ root, path }) {
      for (let wanted = path; wanted !== "."; wanted = posix.dirname(wanted)) {
        const entries = await made.list({ root, path: posix.dirname(wanted) }).catch(undefinedIfKnown);
        if (entries === undefined) continue;
        const name = posix.basename(wanted).toLowerCase();
        return entries
          .map((entry) => ({ near: entry.path, steps: distance(name, posix.basename(entry.path).toLowerCase()) }))
          .sort((a, b) => a.steps - b.steps)
          .slice(0, NAMES_MAX)
          .map(({ near }) => ({ root, path: near }));
      }
      return [];
    },
    async reach(location) {
      const { sandbox, apart } = open(location);
      if (sees === undefined) return sandbox;
      if (location.root !== ROOT_NAMES.output) return apart;
      const id = sessionOf(location.path);
      if (id !== undefined && !(await sees(id))) throw noSession(id, []);
      return sandbox;
    },
    sandbox: (location) => open(location).sandbox,
  };
  return made;
}

/** Some file systems ignore case, so an id in upper case names the same folder. */
function sessionOf(path: string): string | undefined {
  const id = path.split("/")[0]?.toLowerCase() ?? "";
  return isSessionFolder(id) ? id : undefined;
}

function joined(folder: string, path: string): string {
  const checked = checkedPath(path);
  if (folder === ".") return checked;
  return checked === "." ? folder : `${folder}/${checked}`;
}

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

function undefinedIfKnown(error: unknown): undefined {
  if (!isPhasegateError(error)) throw error;
}

/** Throws `INVALID_INPUT` for NUL and invalid UTF-8. A byte order mark stays. */
export function decodeText(bytes: Uint8Array, name: string): string {
  const text = bytes.includes(0) ? undefined : utf8(bytes);
  if (text !== undefined) return text;
  const what = bytes.includes(0) ? "a binary file" : "not valid UTF-8";
  throw new PhasegateError("INVALID_INPUT", `${name} is ${what}: only text files can be read`, {
    remedy: "Continue without it, or ask the user for its content as UTF-8 text.",
    details: { field: "path", expected: "a text file in UTF-8" },
  });
}
