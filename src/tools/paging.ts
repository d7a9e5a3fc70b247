/**
 * Keeps answers within their budget without dropping anything: long texts and lists come in pages, and
 * every page except the last says how to get the next one.
 */

import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { revisionOf } from "../workflow/json.js";
import { shown } from "../workflow/names.js";

/** Characters of JSON that count as one token. */
const CHARACTERS_PER_TOKEN = 4;

/** Returns how many characters of JSON an answer may have. */
export function charactersFor(tokens: number): number {
  return tokens * CHARACTERS_PER_TOKEN;
}

/** The smallest budget for a text that is worth a page. */
export const LEAST_PAGE = 1000;

const cursorSchema = z.tuple([
  z.enum(["text", "json", "items"]),
  z.int().check(z.nonnegative()),
  z.string(),
  z.optional(z.string()),
]);

/**
 * Returns the answer's own cursor in a cursor into the JSON of a whole answer; undefined for any other
 * cursor.
 */
export function readJsonCursor(cursor: string): { readonly inner: string | undefined } | undefined {
  const parsed = cursorSchema.safeParse(decode(cursor)).data;
  return parsed?.[0] === "json" ? { inner: parsed[3] } : undefined;
}

/**
 * Returns true if a value certainly fits, without serialising it: every character counts as the longest
 * escape. Most answers are short enough.
 */
export function surelyFits(value: unknown, room: number): boolean {
  return longest(value, room) >= 0;
}

/** A part of a text. */
export interface TextPage {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  /** Missing on the last page. */
  readonly cursor?: string;
}

/**
 * The kind of a text: a part of an answer, or a whole answer as JSON, which may be a page with its own
 * cursor.
 */
interface TextOf {
  readonly kind: "text" | "json";
  readonly inner?: string | undefined;
}

/** The budget for what a page adds to an answer: cursor, range and the next call. */
const PAGE_OVERHEAD = 700;

/** Returns the part of a text that fits, from the cursor on. */
export function pageText(
  text: string,
  room: number,
  cursor: string | undefined,
  { kind, inner }: TextOf = { kind: "text" },
): TextPage {
  const from = cursor === undefined ? 0 : offsetOf(cursor, kind, revisionOf(text));
  const rest = text.slice(from);
  if (JSON.stringify(rest).length <= room) return { text: rest, from, to: text.length, total: text.length };
  const part = cut(rest, Math.max(room - PAGE_OVERHEAD, 200));
  const to = from + part.length;
  const page = { text: part, from, to, total: text.length };
  return to === text.length ? page : { ...page, cursor: cursorOf(kind, to, revisionOf(text), inner) };
}

/** A part of a list. */
export interface ItemsPage<T> {
  readonly items: readonly T[];
  /** How many come after this page. */
  readonly left: number;
  /** Missing on the last page. */
  readonly cursor?: string;
}

/**
 * Returns the items that fit, from the cursor on; at least one. `revision` identifies the list, if it can
 * change between two pages.
 */
export function pageItems<T>(
  items: readonly T[],
  room: number,
  cursor: string | undefined,
  revision = "",
): ItemsPage<T> {
  const from = cursor === undefined ? 0 : offsetOf(cursor, "items", revision);
  let used = 0;
  let to = from;
  while (to < items.length) {
    used += JSON.stringify(items[to]).length + 1;
    if (used > room - PAGE_OVERHEAD && to > from) break;
    to += 1;
  }
  return {
    items: items.slice(from, to),
    left: items.length - to,
    ...(to < items.length ? { cursor: cursorOf("items", to, revision) } : {}),
  };
}

/** Anything but a cursor decodes to undefined, which no schema accepts. */
function decode(cursor: string): unknown {
  try {
    return JSON.parse(atob(cursor));
  } catch {
    return undefined;
  }
}

/** The longest form of one character in JSON: `\u0000`. */
const ESCAPE_MAX = 6;
/** The longest form of a number, a boolean or null. */
const NUMBER_MAX = 25;

/** Returns what is left of the budget after the longest form of a value; negative if it may not fit. */
function longest(value: unknown, room: number): number {
  if (room < 0) return room;
  if (typeof value === "string") return room - ESCAPE_MAX * value.length - 2;
  if (typeof value !== "object" || value === null) return room - NUMBER_MAX;
  let left = room - 2;
  if (Array.isArray(value)) {
    for (const item of value) left = longest(item, left) - 1;
    return left;
  }
  for (const key in value) left = longest(Reflect.get(value, key), left - ESCAPE_MAX * key.length - 4);
  return left;
}

type CursorKind = z.infer<typeof cursorSchema>[0];

function offsetOf(cursor: string, kind: CursorKind, revision: string): number {
  const parsed = cursorSchema.safeParse(decode(cursor));
  if (!parsed.success || parsed.data[0] !== kind) throw invalidCursor(cursor, "it is none of this action's");
  if (parsed.data[2] !== revision) throw invalidCursor(cursor, "what it points into has changed");
  return parsed.data[1];
}

function invalidCursor(cursor: string, why: string): PhasegateError<"CURSOR_INVALID"> {
  return new PhasegateError("CURSOR_INVALID", `the cursor ${shown(cursor)} can't be used: ${why}`, {
    remedy: "Call again without a cursor to begin at the first page.",
    details: { cursor: shown(cursor) },
  });
}

/** Returns at most `room` characters of JSON, up to the last complete line, without splitting a character. */
function cut(text: string, room: number): string {
  let length = Math.min(text.length, room);
  while (JSON.stringify(text.slice(0, length)).length > room) length = Math.floor(length * 0.9);
  const line = text.lastIndexOf("\n", length - 1);
  if (line > length * 0.7) return text.slice(0, line + 1);
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

function cursorOf(kind: CursorKind, offset: number, revision: string, inner?: string): string {
  return btoa(JSON.stringify(inner === undefined ? [kind, offset, revision] : [kind, offset, revision, inner]));
}
