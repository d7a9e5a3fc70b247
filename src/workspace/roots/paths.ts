/**
 * Paths of a workspace as agents write them: locations, variables in paths, and the checks that make a path mean the
 * same file on every system. A folder written on Linux must be valid on Windows and macOS, and no name may look like
 * another one. No root may be inside the output root: otherwise saved outputs could change what later sessions follow.
 *
 * Variables are replaced once: values are not searched for variables again, so no value can loop or build another
 * variable.
 */
import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PhasegateError } from "../../errors.js";
import { isInside } from "../../sandbox/resolve.js";
import { openSandbox, type Sandbox } from "../../sandbox/sandbox.js";
import { escapeHidden } from "../../workflow/hidden.js";
import { keptBack, orNearest, parseRelativePath, shown } from "../../workflow/names.js";

/** A file or folder of a workspace, named by its root and never by its absolute path. */
export interface Location {
  /** The name of a root without braces, such as `bundle-root`. */
  readonly root: string;
  /** Its path relative to the root, with `/`; `.` is the root itself. */
  readonly path: string;
}

/** Formats a location as agents read and write it: `{bundle-root}/workflows/x/workflow.yaml`. */
export function showLocation({ root, path }: Location): string {
  return path === "." ? `{${root}}` : `{${root}}/${path}`;
}

/** A device of Windows, with any extension: `nul.txt` is one. */
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
/** Joiners, and the variation selector of emojis: the hidden characters that are legitimate in names. */
const JOINING = /[\u200c\u200d]|(?<=\p{Extended_Pictographic})\ufe0f/gu;
/** A joiner next to an ASCII character or at an end has no effect: it would only make two names look the same. */
const JOINS_NOTHING = /(?:^|[\p{ASCII}])[\u200c\u200d]|[\u200c\u200d](?:[\p{ASCII}]|$)/u;
/** A short name such as `MANIFE~1.JSO`, which Windows may take for another file. */
const SHORT = /^[^.~]{1,6}~[1-9][0-9]*(\.[^.]{0,3})?$/;
/** Characters that Windows does not allow in names. A colon begins an alternate data stream there. */
const UNUSUAL = /[<>:"|?*]/;

/** Refuses paths that lead out of a root, or mean another file on another system. Throws `PATH_REFUSED`. */
export function checkedPath(value: unknown): string {
  const path = parseRelativePath(value);
  const reason = path === "." ? undefined : faultOf(path);
  if (reason !== undefined) throw refusal(value, reason);
  return path;
}

function faultOf(path: string): string | undefined {
  if (/\p{Surrogate}/u.test(path)) return "it contains half a character";
  const rest = path.replace(JOINING, "");
  if (escapeHidden(rest) !== rest || JOINS_NOTHING.test(path))
    return "it contains an invisible character, or one that reverses the direction of writing";
  if (/%(2e|2f|5c|00)/i.test(path)) return "it contains an encoded dot, slash or NUL";
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return "it is a URL";
  if (UNUSUAL.test(path)) return "it contains a character that some systems do not allow in names";
  if (path.startsWith("~")) return "'~' does not mean a folder here";
  if (becomesOther(path)) return "it contains characters that some systems take for dots or slashes";
  return path
    .split("/")
    .map(nameFault)
    .find((fault) => fault !== undefined);
}

function nameFault(name: string): string | undefined {
  if (DEVICE.test(name)) return "a name in it is a device on Windows";
  if (/[.\p{Zs}]$/u.test(name)) return "a name in it ends with a dot or a space";
  if (/^\p{Zs}/u.test(name)) return "a name in it begins with a space";
  return SHORT.test(name) ? "a name in it has the form of a short name on Windows" : undefined;
}

/** Returns true if a file system that normalizes characters would see other folders, for example in full-width dots. */
function becomesOther(path: string): boolean {
  const folded = path.normalize("NFKC").split(/[\\/]/);
  return folded.length !== path.split("/").length || folded.some((name) => /^\.{1,2}$/.test(name));
}

function refusal(value: unknown, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(value)} is refused: ${reason}`, {
    remedy: "Use plain names joined by '/', such as 'notes/summary.md'.",
    details: { reason },
  });
}

/** The value of a variable: a text, or a location below a root. */
export type VariableValue = string | Location;

/** Variables by name, without braces. A map, so that `{constructor}` is just an unknown name. */
export type Variables = ReadonlyMap<string, VariableValue>;

/** A path with its variables replaced; `base` is the location that it begins with, if any. */
interface ExpandedPath {
  readonly base?: Location;
  readonly rest: string;
}

const VARIABLE = /\{([^{}]*)\}/g;

/** Replaces the variables of a path. Throws `PATH_REFUSED` for an unknown one, and lists the known ones. */
export function expandPath(path: string, variables: Variables): ExpandedPath {
  const [first, name = ""] = /^\{([^{}]*)\}/.exec(path) ?? [];
  const base = first === undefined ? undefined : requireVariable(path, name, variables);
  if (base === undefined || typeof base === "string") return { rest: expandWords(path, path, variables) };
  const rest = path.slice(first?.length);
  if (rest !== "" && !/^[\\/]/.test(rest)) throw variableRefusal(path, `a '/' must follow {${name}}`, variables);
  return { base, rest: expandWords(path, rest.replace(/^[\\/]+/, ""), variables) };
}

/** Replaces the variables that are texts; everything else in braces stays. */
export function expandText(text: string, variables: Variables): string {
  return text.replace(VARIABLE, (whole, name: string) => {
    const value = variables.get(name);
    return typeof value === "string" ? value : whole;
  });
}

function expandWords(path: string, text: string, variables: Variables): string {
  // A function, since `$&` in a value has a meaning in a replacement string.
  return text.replace(VARIABLE, (_, name: string) => {
    const value = requireVariable(path, name, variables);
    if (typeof value === "string") return value;
    throw variableRefusal(path, `{${name}} is a folder and must be at the beginning`, variables);
  });
}

function requireVariable(path: string, name: string, variables: Variables): VariableValue {
  const value = variables.get(name);
  if (value !== undefined) return value;
  const meant = orNearest(name, variables.keys(), (near) => `{${near}}`);
  throw variableRefusal(path, `there is no variable {${shown(name).slice(1, -1)}}${meant}`, variables, true);
}

function variableRefusal(
  path: string,
  reason: string,
  variables: Variables,
  isMistake = false,
): PhasegateError<"PATH_REFUSED"> {
  const known = [...variables.keys()].map((name) => `{${name}}`).join(", ");
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy: `Known variables are ${known}. Replace others by their values yourself.`,
    details: { reason, ...(isMistake ? { isMistake } : {}) },
  });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}-\d{6}(?:-[0-9a-v]{8})?$/;

/** Returns true if a name is a session id: a UUID in lower case, or `YYYY-MM-DD-HHMMSS`, with or without a random end. */
export function isSessionFolder(name: string): boolean {
  return UUID.test(name) || TIMESTAMP.test(name);
}

/** What workflows write for the folder of the session: `{session-folder}`, `{{session_id}}` or `<session-id>`. */
const SESSION = /^(?:\{\{?|<)session[-_]?(?:folder|id|dir)(?:\}\}?|>)$/i;
/** What deployments call the folder of all sessions. */
const ALL_SESSIONS = ["agent-outputs", "{output-root}"];

/**
 * Replaces what workflows write for a session's folder by its id: in `{session-folder}/x.md`, or
 * `/data/agent-outputs/{session-id}/x.md`. An id after `agent-outputs` stays, and so do other paths, and those with
 * `..`.
 */
export function sessionPath(path: string, sessionId: string | undefined): string {
  const names = path.replace(/^(?:\.[\\/]+)+/, "").split(/[\\/]+/);
  const [start = ""] = names;
  const isId = (name: string) => isSessionFolder(name.toLowerCase());
  if (isId(start) || names.includes("..") || /^[a-z][\w+.-]*:/i.test(path)) return path;
  const own = (name = "") => (SESSION.test(name) ? sessionId : isId(name) ? name : undefined);
  const first = own(start);
  if (first !== undefined) return [first, ...names.slice(1)].join("/");
  const all = names.findIndex((name, index) => ALL_SESSIONS.includes(name.toLowerCase()) && own(names[index + 1]));
  const id = all === -1 || isElsewhere(start) ? undefined : own(names[all + 1]);
  return id === undefined ? path : [id, ...names.slice(all + 2)].join("/");
}

/** Returns true for the beginning of a path in another root than those of the project and of the sessions. */
function isElsewhere(name: string): boolean {
  return name.startsWith("{") && name !== "{output-root}" && name !== "{project-root}";
}

/** Returns true for a name of a session that was not replaced. */
export function namesSession(path: string): boolean {
  return path.split(/[\\/]+/).some((name) => SESSION.test(name));
}

/** The folders of a workspace: absolute paths, or relative to the process's working folder. */
export interface WorkspaceFolders {
  /** The folder with workflows and their files: `{bundle-root}`. */
  readonly bundleRoot: string;
  /** The folder that all workflows share, with the text of the engine: `{core-root}`. Default: none. */
  readonly coreRoot?: string;
  /**
   * The folder that `{project-root}` means in paths. It is not a root: such a path is read only if it leads into
   * another root. The folder need not exist. Default: none.
   */
  readonly projectRoot?: string;
  /** The folder with the folders of sessions: `{output-root}`. It must exist. */
  readonly outputRoot: string;
  /** More folders that may be read, by the name of their variable. Default: none. */
  readonly readRoots?: Readonly<Record<string, string>>;
}

/** An open root. */
export interface OpenRoot {
  readonly name: string;
  readonly sandbox: Sandbox;
  /** The same folder without what is in the output root, also by a link. The same sandbox if the output root is outside. */
  readonly apart: Sandbox;
  /** Its absolute paths: as the host gave it, and with links resolved. They must not appear in any message. */
  readonly places: readonly string[];
}

/** The reserved names of roots and variables. */
export const ROOT_NAMES = {
  bundle: "bundle-root",
  core: "core-root",
  project: "project-root",
  output: "output-root",
} as const;

/** Throws `INVALID_INPUT` for a folder that cannot be opened, and for a root inside the output root. */
export async function openFolders(folders: WorkspaceFolders): Promise<readonly OpenRoot[]> {
  const { bundleRoot, coreRoot, outputRoot, readRoots = {} } = folders;
  const named: [string, string][] = [
    [ROOT_NAMES.bundle, bundleRoot],
    ...(coreRoot === undefined ? [] : [[ROOT_NAMES.core, coreRoot] satisfies [string, string]]),
    [ROOT_NAMES.output, outputRoot],
    ...Object.entries(readRoots),
  ];
  const output = await placesOf(outputRoot);
  const roots = await Promise.all(named.map(([name, folder]) => openRoot(name, folder, output)));
  checkApart(roots);
  return roots;
}

/** Returns the absolute paths of a folder, as given and with links resolved. The folder need not exist. */
export async function placesOf(folder: string): Promise<readonly string[]> {
  const given = resolve(folder);
  const real = await realpath(given).catch(() => given);
  return real === given ? [given] : [given, real];
}

async function openRoot(name: string, folder: string, output: readonly string[]): Promise<OpenRoot> {
  try {
    const sandbox = await openSandbox(folder, { refuse: keptBack });
    const places = await placesOf(folder);
    const inside =
      name === ROOT_NAMES.output ? [] : places.flatMap((place) => output.filter((one) => isInside(place, one)));
    const apart = inside.length === 0 ? sandbox : await openSandbox(folder, { refuse: refuseAlso(places, output) });
    return { name, sandbox, apart, places };
  } catch (cause) {
    throw new PhasegateError("INVALID_INPUT", `the folder of {${name}} can't be opened`, {
      remedy: "Create the folder, or give another one.",
      details: { field: name, expected: "a folder" },
      cause,
    });
  }
}

/** Refuses paths into the output root as well. A file system may ignore case. */
function refuseAlso(places: readonly string[], output: readonly string[]) {
  const folds = (path: string) => path.normalize("NFC").toLowerCase();
  const folders = output.map(folds);
  return (path: string) => {
    const isOutput = places.some((place) => folders.some((folder) => isInside(folder, folds(join(place, path)))));
    return isOutput ? `it is in {${ROOT_NAMES.output}}` : keptBack(path);
  };
}

function checkApart(roots: readonly OpenRoot[]): void {
  const output = roots.find(({ name }) => name === ROOT_NAMES.output);
  const inside = roots.find(
    (root) =>
      root !== output && root.places.some((place) => output?.places.some((below) => isInside(below, place)) ?? false),
  );
  if (inside === undefined) return;
  const isReserved = Object.values<string>(ROOT_NAMES).includes(inside.name);
  throw new PhasegateError("INVALID_INPUT", `{${inside.name}} is inside {${ROOT_NAMES.output}}`, {
    remedy: isReserved
      ? "Give sessions a folder of their own, outside all other roots and not above them."
      : `Leave {${inside.name}} out: what sessions have saved can be read as <session_id>/name. Or give it a folder outside.`,
    details: { field: ROOT_NAMES.output, expected: "a folder that contains no other root" },
  });
}
