/**
 * What a path in a workspace may look like, wherever the workspace lies: a folder that was written on Linux must be one
 * on Windows and on a Mac as well, and no name may look like another one to whoever reads it.
 */

import { PhasegateError } from "../../errors.js";
import { escapeHidden, nearest, parseRelativePath, shown } from "../../workflow/names.js";

/** Devices of Windows, whatever stands after them: `nul.txt` is one. */
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;
/** What joins letters or the parts of an emoji, and asks for an emoji's look: the hidden characters that names need. */
const JOINING = /[\u200c\u200d]|(?<=\p{Extended_Pictographic})\ufe0f/gu;
/** What joins letters of some scripts, and the parts of an emoji, does nothing where it stands beside plain letters. */
const JOINS_NOTHING = /(?:^|[\p{ASCII}])[\u200c\u200d]|[\u200c\u200d](?:[\p{ASCII}]|$)/u;
/** A short name, such as `MANIFE~1.JSO`: on Windows it may be another one's. */
const SHORT = /^[^.~]{1,6}~[1-9][0-9]*(\.[^.]{0,3})?$/;
/** What Windows has in no name; a colon begins a stream of a file there. */
const UNUSUAL = /[<>:"|?*]/;

/**
 * Checks a path below a root and gives it with `/`. Beside what leads out, this refuses what leads elsewhere on another
 * system. Throws `PATH_REFUSED`.
 */
export function checkedPath(value: unknown): string {
  const path = parseRelativePath(value);
  const reason = path === "." ? undefined : faultOf(path);
  if (reason !== undefined) throw refusal(value, reason);
  return path;
}

/** Why a path is refused, in words that follow "it"; undefined if it isn't. */
function faultOf(path: string): string | undefined {
  if (/\p{Surrogate}/u.test(path)) return "it holds half a character";
  const rest = path.replace(JOINING, "");
  if (escapeHidden(rest) !== rest || JOINS_NOTHING.test(path))
    return "it holds a character that can't be seen or turns the direction of writing";
  if (/%(2e|2f|5c|00)/i.test(path)) return "it holds an encoded dot, slash or NUL";
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return "it is a URL";
  if (UNUSUAL.test(path)) return "it holds a character that some systems have in no name";
  if (path.startsWith("~")) return "'~' is no folder here";
  if (becomesOther(path)) return "it holds characters that are dots or slashes in another form";
  return path
    .split("/")
    .map(nameFault)
    .find((fault) => fault !== undefined);
}

function nameFault(name: string): string | undefined {
  if (DEVICE.test(name)) return "a name in it is a device on Windows";
  if (/[.\p{Zs}]$/u.test(name)) return "a name in it ends with a dot or a space";
  if (/^\p{Zs}/u.test(name)) return "a name in it begins with a space";
  return SHORT.test(name) ? "a name in it is another one's short name on Windows" : undefined;
}

/** Whether a file system that folds characters would see other folders in it: full-width dots, for example. */
function becomesOther(path: string): boolean {
  const folded = path.normalize("NFKC").split(/[\\/]/);
  return folded.length !== path.split("/").length || folded.some((name) => /^\.{1,2}$/.test(name));
}

function refusal(value: unknown, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(value)} is refused: ${reason}`, {
    remedy: "Use plain names, joined by '/', such as 'notes/summary.md'.",
    details: { reason },
  });
}

/**
 * Variables in paths and texts, put in once: what a value holds is not looked through again, so that no value can lead
 * round or make another variable. Names are looked up in a map: `{constructor}` is a name like any other that isn't known.
 */

/** What a variable stands for: a word, or a place below a root. */
export type VariableValue = string | Location;

/** Variables by name, without braces. */
export type Variables = ReadonlyMap<string, VariableValue>;

/** A path with its variables put in: below a place, if it begins with a variable that is one. */
interface ExpandedPath {
  readonly base?: Location;
  readonly rest: string;
}

const VARIABLE = /\{([^{}]*)\}/g;

/** Puts variables into a path. Throws `PATH_REFUSED` for unknown ones, with those that there are. */
export function expandPath(path: string, variables: Variables): ExpandedPath {
  const [first, name = ""] = /^\{([^{}]*)\}/.exec(path) ?? [];
  const base = first === undefined ? undefined : requireVariable(path, name, variables);
  if (base === undefined || typeof base === "string") return { rest: expandWords(path, path, variables) };
  const rest = path.slice(first?.length);
  if (rest !== "" && !/^[\\/]/.test(rest)) throw variableRefusal(path, `a '/' must follow {${name}}`, variables);
  return { base, rest: expandWords(path, rest.replace(/^[\\/]+/, ""), variables) };
}

/** Puts the words into a text, and leaves everything else that stands between braces as it is. */
export function expandText(text: string, variables: Variables): string {
  return text.replace(VARIABLE, (whole, name: string) => {
    const value = variables.get(name);
    return typeof value === "string" ? value : whole;
  });
}

function expandWords(path: string, text: string, variables: Variables): string {
  // A function, since `$&` in a value would mean something in a replacement.
  return text.replace(VARIABLE, (_, name: string) => {
    const value = requireVariable(path, name, variables);
    if (typeof value === "string") return value;
    throw variableRefusal(path, `{${name}} is a folder, and can only stand at the beginning`, variables);
  });
}

function requireVariable(path: string, name: string, variables: Variables): VariableValue {
  const value = variables.get(name);
  if (value !== undefined) return value;
  const near = nearest(name, variables.keys());
  const meant = near === undefined ? "" : `; did you mean {${near}}?`;
  throw variableRefusal(path, `there is no variable {${shown(name).slice(1, -1)}}${meant}`, variables);
}

function variableRefusal(path: string, reason: string, variables: Variables): PhasegateError<"PATH_REFUSED"> {
  const known = [...variables.keys()].map((name) => `{${name}}`).join(", ");
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy: `Known variables are ${known}. Put in the values of others yourself.`,
    details: { reason },
  });
}

/** A place in a workspace, named by its root and never by where that lies on the disk. */
export interface Location {
  /** The name of a root, as it stands between braces: `bundle-root`. */
  readonly root: string;
  /** Relative to the root, with `/`; `.` is the root itself. */
  readonly path: string;
}

/** A place as it is written in answers, and as it can be given back: `{bundle-root}/workflows/x/workflow.yaml`. */
export function showLocation({ root, path }: Location): string {
  return path === "." ? `{${root}}` : `{${root}}/${path}`;
}
