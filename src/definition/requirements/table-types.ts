/** What a cell below `Type` says. */

import { plainText } from "../markdown/inline-text.js";
import { nearest } from "../nearest.js";
import { type FoundType, TABLE_TYPES, typeNamed } from "./type-words.js";

/** A type, and what else stands in its cell: `positive integer`, `string (optional)`. */
export interface CellType {
  readonly found?: FoundType;
  readonly required?: boolean;
  /** What is left of the cell, for validators to be read in. */
  readonly rest: string;
  /** What is no type. */
  readonly unknown?: string;
}

const EMPTY = /^(?:|[-–—.]+|n\/?a|\?)$/i;

/** Reads a cell of types. */
export function cellType(cell: string): CellType {
  const text = plainText(cell).replaceAll("`", "").trim();
  if (EMPTY.test(text)) return { rest: "" };
  const whole = typeNamed(text);
  if (whole !== undefined) return { found: whole, rest: "" };
  const [, inner] = /^optional\s*[[<(](.+)[\])>]$/is.exec(text) ?? [];
  const end = text.search(/(?:\?|(?:\||or)\s*(?:null|none|undefined))$/i);
  const bare = (inner ?? (end > 0 ? text.slice(0, end) : undefined))?.trim();
  if (bare !== undefined) return { ...cellType(bare), required: false };
  return inParts(text);
}

function inParts(text: string): CellType {
  const isOptional = /\boptional\b/i.test(text) && !/\b(?:not|non)[- ]optional\b/i.test(text);
  const isRequired = /\b(?:required|mandatory)\b/i.test(text);
  const rest = text.replace(/\b(?:non-)?(?:optional|required|mandatory)\b/gi, " ");
  const flags = isOptional ? { required: false } : isRequired ? { required: true } : {};
  const words = rest.split(/[\s,;()]+/).filter((word) => word !== "");
  const found = words.flatMap((word) => typeNamed(word) ?? []);
  const types = new Set(found.map(({ type }) => type));
  const others = words.filter((word) => typeNamed(word) === undefined).join(" ");
  if (types.size === 2 && types.has("integer") && types.has("number")) {
    return { ...flags, found: { type: "number", sure: false }, rest: others.replace(/\||\bor\b/g, "") };
  }
  const [first] = found;
  const isList = /\b(?:list|array)s?\s+of\b/i.test(rest);
  if (isList) return { ...flags, found: { type: "list", sure: false }, rest: "" };
  if (first === undefined || types.size > 1) return { ...flags, rest: "", unknown: text };
  return { ...flags, found: others === "" ? first : { ...first, sure: false }, rest: others };
}

/** What to write in place of a type that there isn't. */
export function typeHint(text: string): string {
  const names = "boolean, integer, number, string, object, list or any";
  const meant = nearest(text, TABLE_TYPES);
  return `Write one of ${names}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}
