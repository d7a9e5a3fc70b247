/**
 * What a path from outside may look like before any file system is asked: the same rules on every
 * platform, so that a session that is moved finds no new way out.
 */
import { PhasegateError } from "../errors.js";
import { shown } from "./names.js";

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

function refusal(value: unknown, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(value)} is refused: ${reason}`, {
    remedy: "Give a path relative to the root, such as 'src/calculator.py'.",
    details: { reason },
  });
}
