/**
 * The errors of the sandbox, which name a path as it was given, relative to the root, and never the root's location.
 * From other texts that agents read, absolute paths are removed. Programs write the same path in many ways: as a URI,
 * escaped for JSON or a shell, with another Unicode normal form, with backslashes. All of them are removed.
 */
import { resolve } from "node:path";
import { errnoOf, PhasegateError } from "../errors.js";
import { shown } from "../workflow/names.js";

/** What to do about a path that is refused for another reason than where it leads. */
export const REMEDIES = {
  again: "Call again.",
  file: "Give the path of a file.",
  folder: "Give the path of a folder.",
  oneName: "Replace it by a copy, so that it has only one name.",
  keptBack: "Use another name: this one is neither read nor written here.",
} as const;

export function pathRefused(
  path: string,
  reason: string,
  remedy = "Give the path of a regular file or folder inside the root, without links that lead out of it.",
): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy,
    details: { reason },
  });
}

export function notFound(path: string): PhasegateError<"FILE_NOT_FOUND"> {
  return new PhasegateError("FILE_NOT_FOUND", `there is no ${shown(path)}`, {
    remedy: "Check the name. The path must be relative to the root.",
    details: { file: path },
  });
}

/** Builds the error for a root that does not exist. It is the host's: its path is not for agents. */
export function noRoot(): PhasegateError<"FILE_NOT_FOUND"> {
  return new PhasegateError("FILE_NOT_FOUND", "there is no folder at the path that was given as the root", {
    remedy: "Give the path of a folder that exists: absolute, or relative to the process's working folder.",
    details: { file: "." },
  });
}

export function tooLarge(path: string, bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `${shown(path)} is larger than ${limit} bytes`, {
    remedy: `Make the file smaller, or split it: the limit is ${limit} bytes.`,
    details: { file: path, bytes, limit },
  });
}

export function notText(path: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(path)} is not UTF-8 text`, {
    remedy: "Save the file as UTF-8.",
    details: { field: path, expected: "UTF-8 text" },
  });
}

export function unreadable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be read (${cause})`, {
    remedy: "Check that the process may read the file, then call again.",
    details: { operation: "read", cause },
  });
}

export function unwritable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced (${cause})`, {
    remedy: "Check that the process may write into the file's folder, then call again.",
    details: { operation: "replace", cause },
  });
}

/** To replace a file under one of its names (hard links) would leave the old text under the others. */
export function severalNames(path: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = "it has several names (hard links)";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced: ${cause}`, {
    remedy: REMEDIES.oneName,
    details: { operation: "replace", cause },
  });
}

/** Builds the error for a claim file that cannot be obtained: another file has its name, or others hold it too long. */
export function claimBlocked(name: string, reason: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = `${shown(name)} next to it blocks the write: ${reason}`;
  return new PhasegateError("STORAGE_FAILED", `the file can't be replaced: ${cause}`, {
    remedy: `Remove ${shown(name)}, and find out which process made it: phasegate makes such files only for an instant.`,
    details: { operation: "replace", cause },
  });
}

export function isMissing(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Returns the refusal for an error of the file system: something may go between two steps. */
export function fileFailure(
  path: string,
  error: unknown,
  failed: (path: string, error: unknown) => PhasegateError,
): PhasegateError {
  return isMissing(error) ? notFound(path) : failed(path, error);
}

const FILE_URI = String.raw`(?:file:(?:[\\/]|%(?:25){0,3}2f){0,6}(?:localhost)?)?`;
// All repetitions are bounded: texts are long and may be crafted to cause catastrophic backtracking.
const SEPARATOR = String.raw`(?:\\{0,4}/{1,4}|\\{1,4}u00(?:2f|5c)|\\{1,8}|%(?:25){0,3}(?:2f|5c))`;
const DRIVE = /^([a-z]):(?=[\\/]|$)/i;
/** The names that XML has for characters, each as one more alternative to their numbers. */
const ENTITIES: Readonly<Record<string, string>> = { "&": "|amp", "<": "|lt", ">": "|gt", '"': "|quot", "'": "|apos" };
/** On macOS these folders are links into /private, and programs name them with and without it. */
const PRIVATE = /^\/private(?=\/(?:tmp|var|etc)(?:\/|$))/;

/** Returns a function that makes paths in folders relative to them in a text; a folder itself becomes `.`. */
export function withoutFolders(folders: readonly string[]): (text: string) => string {
  const given = folders.filter((folder) => folder !== "");
  const absolute = given.map((folder) => (DRIVE.test(folder) ? folder : resolve(folder)));
  const places = [...new Set(absolute.map((folder) => folder.normalize("NFC").replace(PRIVATE, "")))];
  // The longest first: one may be inside another. The root of the disk cannot be told from other paths.
  const patterns = places.filter((place) => partsOf(place).length > 0).sort((one, other) => other.length - one.length);
  if (patterns.length === 0) return (text) => text;
  const place = new RegExp(`${FILE_URI}(?:${patterns.map(spellingsOf).join("|")})(${SEPARATOR})?`, "giu");
  return (text) => text.replace(place, (_, separator: string | undefined) => (separator === undefined ? "." : ""));
}

/** Returns a pattern for all ways to write a path. */
function spellingsOf(place: string): string {
  const drive = DRIVE.exec(place)?.[1];
  const parts = partsOf(place).map((part) => [...part].map(spelledCharacter).join(""));
  if (drive === undefined) {
    // A short name in the middle of another path is not this folder.
    const alone = parts.length === 1 ? String.raw`(?<![\p{L}\p{N}_.-])` : "";
    return `${alone}(?:${SEPARATOR}private)?${parts.map((part) => SEPARATOR + part).join("")}`;
  }
  // Shells on Windows have /c/ for C:\, and long paths there begin with \\?\.
  const first = `(?:(?:[\\\\/]{2,8}[?.][\\\\/]{1,4})?${drive}${spelledCharacter(":")}|${SEPARATOR}${drive})`;
  return (
    first +
    parts
      .slice(1)
      .map((part) => SEPARATOR + part)
      .join("")
  );
}

function partsOf(place: string): string[] {
  return place.split(/[\\/]/).filter((part) => part !== "");
}

function spelledCharacter(char: string): string {
  // No format escapes these.
  if (/[\w-]/.test(char)) return literal(char);
  const spellings = new Set([spelledAs(char), [...char.normalize("NFD")].map(spelledAs).join("")]);
  return `(?:${[...spellings].join("|")})`;
}

/** Returns a pattern for one code point, literal and in all usual escapes. */
function spelledAs(char: string): string {
  const bytes = [...new TextEncoder().encode(char)];
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  const code = codeOf(char);
  const ways = [
    String.raw`\\{0,4}${literal(char)}`,
    bytes.map((byte) => `%(?:25){0,3}${hex(byte, 2)}`).join(""),
    bytes.map((byte) => String.raw`\\{1,4}x${hex(byte, 2)}`).join(""),
    bytes.map((byte) => String.raw`\\{1,4}${byte.toString(8).padStart(3, "0")}`).join(""),
    units.map((unit) => String.raw`\\{1,4}u${hex(unit, 4)}`).join(""),
    String.raw`\\{1,4}u\{0{0,4}${code.toString(16)}\}`,
    `&(?:#0{0,4}(?:${code}|x0{0,4}${code.toString(16)})${ENTITIES[char] ?? ""});`,
  ];
  // Encodings without this character show question marks, and each has those of ASCII.
  const lost = bytes.length > 1 ? String.raw`|\ufffd{1,4}|\?{1,4}` : "";
  return `(?:${ways.join("|")}${lost})`;
}

function literal(char: string): string {
  return `\\u{${codeOf(char).toString(16)}}`;
}

function codeOf(char: string): number {
  // The parts of a string are never empty, which the type doesn't say: NaN would match nothing.
  return Number(char.codePointAt(0));
}
