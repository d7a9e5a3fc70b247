/**
 * Takes the place of a folder on this machine out of texts that agents read. Programs write one path in many ways: as a
 * URI, escaped for JSON or a shell, with another normal form of é, with backslashes. All of them give the place away.
 */
import { resolve } from "node:path";

const FILE_URI = String.raw`(?:file:(?:[\\/]|%(?:25){0,3}2f){0,6}(?:localhost)?)?`;
// All repetitions are bounded: texts are long, and may be made so that a search never ends.
const SEPARATOR = String.raw`(?:\\{0,4}/{1,4}|\\{1,4}u00(?:2f|5c)|\\{1,8}|%(?:25){0,3}(?:2f|5c))`;
const DRIVE = /^([a-z]):(?=[\\/]|$)/i;
const ENTITIES: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };
/** macOS has these folders behind links, and programs name them with and without this. */
const PRIVATE = /^\/private(?=\/(?:tmp|var|etc)(?:\/|$))/;

/**
 * Makes a function that takes folders out of a text, however they are written: what lies in one of them is named relative
 * to it, and the folder itself is `.`. The folders are absolute, or relative to the working folder.
 */
export function withoutFolders(folders: readonly string[]): (text: string) => string {
  const given = folders.filter((folder) => folder !== "");
  const absolute = given.map((folder) => (DRIVE.test(folder) ? folder : resolve(folder)));
  const places = [...new Set(absolute.map((folder) => folder.normalize("NFC").replace(PRIVATE, "")))];
  // The longest one first: one may lie in another. The root of the disk is no place that could be told from others.
  const patterns = places.filter((place) => partsOf(place).length > 0).sort((one, other) => other.length - one.length);
  if (patterns.length === 0) return (text) => text;
  const place = new RegExp(`${FILE_URI}(?:${patterns.map(spellingsOf).join("|")})(${SEPARATOR})?`, "giu");
  return (text) => text.replace(place, (_, separator: string | undefined) => (separator === undefined ? "." : ""));
}

/** All ways to write a path, as a pattern. */
function spellingsOf(place: string): string {
  const drive = DRIVE.exec(place)?.[1];
  const parts = partsOf(place).map((part) => [...part].map(spelledCharacter).join(""));
  if (drive === undefined) {
    // A short name may stand in the middle of any other path: there it is not this place.
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
  // Nobody escapes these.
  if (/^[\p{L}\p{N}_-]$/u.test(char) && char < "\u0080") return literal(char);
  const apart = char.normalize("NFD");
  const spellings = new Set([spelledAs(char), ...(apart === char ? [] : [[...apart].map(spelledAs).join("")])]);
  return `(?:${[...spellings].join("|")})`;
}

/** One code point, as such and in all usual escapes. */
function spelledAs(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const bytes = [...new TextEncoder().encode(char)];
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  const ways = [
    (char < "\u0080" ? String.raw`\\{0,4}` : "") + literal(char),
    bytes.map((byte) => `%(?:25){0,3}${hex(byte, 2)}`).join(""),
    bytes.map((byte) => String.raw`\\{1,4}x${hex(byte, 2)}`).join(""),
    bytes.map((byte) => String.raw`\\{1,4}${byte.toString(8).padStart(3, "0")}`).join(""),
    units.map((unit) => String.raw`\\{1,4}u${hex(unit, 4)}`).join(""),
    String.raw`\\{1,4}u\{0{0,4}${code.toString(16)}\}`,
    `&#0{0,4}(?:${code}|x0{0,4}${code.toString(16)});`,
    ...(ENTITIES[char] === undefined ? [] : [`&${ENTITIES[char]};`]),
    // Where an encoding has no such character, there are question marks for it.
    ...(char < "\u0080" ? [] : [String.raw`\ufffd{1,4}`, String.raw`\?{1,4}`]),
  ];
  return `(?:${ways.join("|")})`;
}

function literal(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}
