import { join, posix, relative, sep } from "node:path";
import { distance } from "fastest-levenshtein";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { SandboxEntry } from "../../sandbox/list.js";
import { isInside } from "../../sandbox/resolve.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { isSessionFolder } from "../session/folders.js";
import { type OpenRoot, ROOT_NAMES } from "./folders.js";
import {
  checkedPath,
  expandPath,
  expandText,
  type Location,
  showLocation,
  type Variables,
  type VariableValue,
} from "./paths.js";

/** What {@link Roots} are made of. */
interface RootsOptions {
  readonly roots: readonly OpenRoot[];
  /** Where the project lies, if there is one. */
  readonly project?: readonly string[];
  readonly variables: Readonly<Record<string, VariableValue>>;
}

/** The roots of a workspace: the one way from a path that an agent gives to a file. */
export class Roots {
  readonly #roots: ReadonlyMap<string, OpenRoot>;
  readonly #project: readonly string[];
  readonly #variables: Variables;

  constructor({ roots, project = [], variables }: RootsOptions) {
    this.#roots = new Map(roots.map((root) => [root.name, root]));
    this.#project = project;
    const names = [...this.#roots.keys(), ...(project.length === 0 ? [] : [ROOT_NAMES.project])];
    this.#variables = new Map<string, VariableValue>([
      ...names.map((root): [string, VariableValue] => [root, { root, path: "." }]),
      ...Object.entries(variables),
    ]);
  }

  /** The names of all variables, without braces. */
  get known(): readonly string[] {
    return [...this.#variables.keys()];
  }

  /** The names of all roots, the bundle's first. */
  get folders(): readonly string[] {
    return [...this.#roots.keys()];
  }

  /**
   * Where a path leads. Variables are put in once. A path without a root's variable lies in the folder of the file that
   * it stands in (`from`), where `..` may lead up as far as the root; without one below the output root if it begins with
   * a session's id, else below the bundle root. Throws `PATH_REFUSED`. Whether anything is there isn't looked at.
   */
  resolve(path: string, { from }: { readonly from?: Location | undefined } = {}): Location {
    const { base, rest } = typeof path === "string" ? expandPath(path, this.#variables) : { rest: checkedPath(path) };
    if (base !== undefined) return this.#readable(base.root, rest === "" ? base.path : joined(base.path, rest));
    if (from !== undefined) return { root: from.root, path: beside(from.path, rest) };
    const checked = checkedPath(rest);
    const [first = "", ...names] = checked.split("/");
    const session = first.toLowerCase();
    if (!isSessionFolder(session)) return { root: ROOT_NAMES.bundle, path: checked };
    // A UUID is the same one in capitals, which some make them up in.
    return { root: ROOT_NAMES.output, path: [session, ...names].join("/") };
  }

  /** Puts the host's words into a text; roots and everything unknown stay as they are. */
  expand(text: string): string {
    return expandText(text, this.#variables);
  }

  /** A file's text, its size in bytes, and its signature as it was opened. Throws as a sandbox does, and `INVALID_INPUT` for what is binary. */
  async read(location: Location, { maxBytes }: { readonly maxBytes: number }) {
    const { bytes, signature } = await this.sandbox(location).readBytes(location.path, { maxBytes });
    return { text: decodeText(bytes, showLocation(location)), size: bytes.length, signature };
  }

  /** What a folder holds, without what is kept back. Throws as a sandbox does. */
  async list(location: Location): Promise<readonly SandboxEntry[]> {
    const entries = await this.sandbox(location).names(location.path);
    return entries.filter(({ path, kind }) => kind !== "refused" && isCheckable(path));
  }

  /** The names in a folder that are most like one that isn't there, the nearest first; of the nearest folder that is there. */
  nearest(location: Location): Promise<readonly Location[]> {
    return nearestNames(this, location);
  }

  /** The sandbox around a location's root. */
  sandbox({ root }: Location): Sandbox {
    const open = this.#roots.get(root);
    if (open !== undefined) return open.sandbox;
    throw new PhasegateError("PATH_REFUSED", `there is no root {${root}}`, {
      remedy: `There are ${[...this.#roots.keys()].map((name) => `{${name}}`).join(", ")}.`,
      details: { reason: "unknown root" },
    });
  }

  /** A place as it is written in answers. */
  show(location: Location): string {
    return showLocation(location);
  }

  /** The project is a name for places in other roots, and no root: what lies in none of them is refused. */
  #readable(root: string, path: string): Location {
    if (root !== ROOT_NAMES.project) return { root, path };
    for (const project of this.#project) {
      const place = join(project, path);
      const found = this.#deepestAround(place);
      // What is allowed within a path can be refused at its beginning.
      if (found !== undefined) return { root: found.root, path: checkedPath(found.path) };
    }
    const reason = "the project is not read as a whole";
    throw new PhasegateError("PATH_REFUSED", `the path "${showLocation({ root, path })}" is refused: ${reason}`, {
      remedy: `Read in ${[...this.#roots.keys()].map((name) => `{${name}}`).join(", ")}.`,
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

function joined(folder: string, path: string): string {
  const checked = checkedPath(path);
  if (folder === ".") return checked;
  return checked === "." ? folder : `${folder}/${checked}`;
}

/** A path in the folder of a file. */
function beside(file: string, path: string): string {
  const segments = path.split(/[\\/]+/);
  // What is absolute begins with an empty segment, and stays refused.
  checkedPath(segments.filter((segment) => segment !== "..").join("/") || ".");
  const place = file.split("/").slice(0, -1);
  for (const segment of segments.filter((name) => name !== "." && name !== "")) {
    if (segment !== "..") place.push(segment);
    // Where it would lead out, the check below says so.
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

/** How many names are worth the tokens. */
const NAMES_MAX = 5;

/** The names most like one that isn't there, out of its folder, or of the nearest folder above that is there. */
async function nearestNames(
  roots: { list(location: Location): Promise<readonly SandboxEntry[]> },
  { root, path }: Location,
): Promise<readonly Location[]> {
  for (let wanted = path; wanted !== "."; wanted = posix.dirname(wanted)) {
    const entries = await listed(roots, { root, path: posix.dirname(wanted) });
    if (entries === undefined) continue;
    const name = posix.basename(wanted).toLowerCase();
    const steps = new Map(
      entries.map((entry) => [entry.path, distance(name, posix.basename(entry.path).toLowerCase())]),
    );
    const sorted = [...steps].sort(([, a], [, b]) => a - b).slice(0, NAMES_MAX);
    return sorted.map(([near]) => ({ root, path: near }));
  }
  return [];
}

async function listed(roots: { list(location: Location): Promise<readonly SandboxEntry[]> }, folder: Location) {
  try {
    return await roots.list(folder);
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/**
 * Bytes as text. Throws `INVALID_INPUT` for a binary file, which is told by a NUL, and for what isn't UTF-8. A byte order
 * mark stays.
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
  return new PhasegateError("INVALID_INPUT", `${name} is ${what}: only text can be read`, {
    remedy: "Go on without it, or ask the user for its content as text in UTF-8.",
    details: { field: "path", expected: "a text file in UTF-8" },
  });
}
