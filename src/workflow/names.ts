/**
 * The one place where ids and names from outside are checked. Everything behind it may take them
 * for safe: as file names, as keys, in messages.
 */

import { distance } from "fastest-levenshtein";
import { PhasegateError } from "../errors.js";

/** The id of a session, checked: `[a-z0-9_-]`, 1 to 128 characters, the first none of `_` and `-`. */
export type SessionId = string & { readonly [sessionIdBrand]: true };

/** The longest session id, in characters. */
const SESSION_ID_MAX = 128;

/** Whether a value may be a session id. */
export function isSessionId(value: unknown): value is SessionId {
  return typeof value === "string" && value.length <= SESSION_ID_MAX && /^[a-z0-9][a-z0-9_-]*$/.test(value);
}

/** Reads a session id; throws `INVALID_INPUT` for anything that can't be one. */
export function parseSessionId(value: unknown): SessionId {
  if (isSessionId(value)) return value;
  throw new PhasegateError("INVALID_INPUT", `session_id is not valid: ${shown(value)}`, {
    remedy: "Use the session_id as start gave it.",
    details: { field: "session_id", expected: "[a-z0-9][a-z0-9_-]{0,127}" },
  });
}

/** Whether a value may be a workflow's type: a letter or digit, then letters, digits, `_`, `-`, `.`; no `..`. */
export function isWorkflowType(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length <= 128 &&
    /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(value) &&
    !value.includes("..") &&
    !RESERVED.has(value)
  );
}

/** Keys that reach an object's prototype; never a name of anything. */
export const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * A session id as seed 000 has it: `<workflow_type>_<target>_<YYYYMMDD>_<HHMMSS>`. `suffix` takes
 * the place of the time where the id must not depend on it.
 */
export function sessionIdFor(workflowType: string, target: string, suffix: string): SessionId {
  return parseSessionId(`${sessionIdPrefix(workflowType, target)}${suffix}`);
}

/** The longest end of one that tells sessions on the same target apart. */
const SUFFIX_MAX = 24;

/** What the ids of all sessions on a workflow and a target begin with; those of similar names do, too. */
export function sessionIdPrefix(workflowType: string, target: string): string {
  const room = SESSION_ID_MAX - SUFFIX_MAX - 2;
  const type = slug(workflowType).slice(0, Math.floor(room / 2)) || "workflow";
  const name = slug(target)
    .slice(-(room - type.length))
    .replace(/^_+/, "");
  return `${type}_${name || "target"}_`;
}

/**
 * Characters that nobody sees, or that change how the text around them is shown: format and control characters, halves
 * of characters, code points that no character has, or none that everybody knows (`\p{C}`; bidi controls and tags are
 * among them); separators of lines and paragraphs; everything that Unicode lets a screen ignore (`\p{DI}`, short for
 * `\p{Default_Ignorable_Code_Point}`); and blanks that Unicode counts as letters and symbols: the braille pattern without
 * dots, a musical notehead, fillers of old scripts. Every place that cleans or refuses a text uses this class. Tabs and line
 * feeds are none of them.
 */
export const HIDDEN = /(?![\t\n])[\p{C}\p{DI}\u2028\u2029\u2800\u{1d159}\u{16fe4}\u{13441}\u{13442}]/gu;

/**
 * Returns a text in which each hidden character is shown as `\uXXXX`; tabs and line feeds stay. Characters beyond U+FFFF
 * become two escapes, as in JSON, so that JSON stays the same JSON.
 */
export function escapeHidden(text: string): string {
  // Without the flag u a pattern goes by units of UTF-16, of which one character may have two.
  return text.replace(HIDDEN, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** Returns a value from outside as it may stand in a message: one line, no hidden characters, at most 80 characters. */
export function shown(value: unknown): string {
  const line = escapeHidden(jsonOf(value));
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/**
 * What a path from outside may look like before any file system is asked: the same rules on every
 * platform, so that a session that is moved finds no new way out.
 */

/** The longest path, in characters. */
const PATH_MAX = 1024;
/** The longest name between two separators, in bytes of UTF-8: what common file systems take. */
const NAME_MAX = 255;

/**
 * Checks a path relative to a root and gives it with `/` as separator and without `.` segments.
 * Absolute paths, drives, UNC names, `..`, NUL and control characters throw `PATH_REFUSED`; the
 * root itself is `.`.
 */
export function parseRelativePath(value: unknown): string {
  if (typeof value !== "string") throw refusal(value, "it is not a string");
  if (value.trim() === "") throw refusal(value, "it is empty");
  if (value.length > PATH_MAX) throw refusal(value, `it is longer than ${PATH_MAX} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f]/.test(value)) throw refusal(value, "it holds a control character");
  if (/^[\\/]/.test(value)) throw refusal(value, "it is absolute");
  if (/^[A-Za-z]:/.test(value)) throw refusal(value, "it names a drive");
  const segments = value.split(/[\\/]+/).filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw refusal(value, "it leads out of its root ('..')");
  const long = segments.find((segment) => new TextEncoder().encode(segment).length > NAME_MAX);
  if (long !== undefined) throw refusal(value, `a name in it is longer than ${NAME_MAX} bytes`);
  return segments.join("/") || ".";
}

/** How many candidates are compared with a name: what somebody hands in may hold a million. */
const COMPARED_MAX = 1000;
/** How many more characters a candidate may have than the name, signs that don't count among them. */
const LONGER_MAX = 1000;

/** The candidate that is most like a name, if one is near enough to have been meant; by Levenshtein distance. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = normal(name);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  let left = COMPARED_MAX;
  for (const candidate of candidates) {
    left -= 1;
    if (left < 0) break;
    if (candidate.length > name.length + LONGER_MAX) continue;
    const steps = distance(wanted, normal(candidate));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

declare const sessionIdBrand: unique symbol;

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}

/** JSON, or the kind of what JSON can't hold: a BigInt, something that holds itself. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(typeof value === "string" ? value.slice(0, 200) : value) ?? typeof value;
  } catch {
    return `a ${typeof value}`;
  }
}

function refusal(value: unknown, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(value)} is refused: ${reason}`, {
    remedy: "Give a path relative to the root, such as 'src/calculator.py'.",
    details: { reason },
  });
}

/** `srdCreated`, `srd-created` and `SRD_CREATED` are the same word to whoever typed them. */
function normal(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
