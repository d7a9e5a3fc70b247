/**
 * Pages of texts, of lists, and of whole answers. Nothing is dropped: every page except the last has the cursor of
 * the next one.
 */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { revisionOf } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { compact, fits, type WireObject } from "./wire.js";

/** The smallest budget for a text that is worth a page. */
export const LEAST_PAGE = 1000;

/** The budget for what a page adds to an answer: cursor, range and the next call. */
const PAGE_OVERHEAD = 700;

export interface TextPage {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  /** Missing on the last page. */
  readonly cursor?: string;
}

/** The kind of a text: a part of an answer, or a whole answer as JSON, which may be a page with its own cursor. */
interface TextOf {
  readonly kind: "text" | "json";
  readonly inner?: string | undefined;
}

/** Returns the part of a text that fits, from the cursor on. */
export function pageText(
  text: string,
  maxChars: number,
  cursor: string | undefined,
  { kind, inner }: TextOf = { kind: "text" },
): TextPage {
  const from = cursor === undefined ? 0 : offsetOf(cursor, kind, revisionOf(text));
  const rest = text.slice(from);
  const total = text.length;
  if (fits(rest, maxChars)) return { text: rest, from, to: total, total };
  const part = cut(rest, Math.max(maxChars - PAGE_OVERHEAD, 200), kind);
  const to = from + part.length;
  return {
    text: part,
    from,
    to,
    total,
    cursor: to === total ? undefined : cursorAt(kind, to, revisionOf(text), inner),
  };
}

export interface ItemsPage<T> {
  readonly items: readonly T[];
  /** The number of items after this page. */
  readonly left: number;
  /** Missing on the last page. */
  readonly cursor?: string;
}

/**
 * Returns the items that fit, from the cursor on; at least one. `list` identifies the list: the cursor of another one is
 * refused.
 */
export function pageItems<T>(
  items: readonly T[],
  maxChars: number,
  cursor: string | undefined,
  list: string,
): ItemsPage<T> {
  // Hashed: it may contain a client's own words.
  const revision = revisionOf(list);
  const from = cursor === undefined ? 0 : offsetOf(cursor, "items", revision);
  let used = 0;
  let to = from;
  while (to < items.length) {
    used += JSON.stringify(items[to]).length + 1;
    if (used > maxChars - PAGE_OVERHEAD && to > from) break;
    to += 1;
  }
  return {
    items: items.slice(from, to),
    left: items.length - to,
    cursor: to < items.length ? cursorAt("items", to, revision) : undefined,
  };
}

/** A call that changes nothing, so that it can be repeated for the next page. */
interface PagedCall {
  /** Returns the call, without a cursor. */
  readonly call: () => WireObject;
  /** A cursor into the JSON of the answer. */
  readonly cursor?: string | undefined;
  /** The cursor of the answer itself, where it is a page of a text or a list. */
  readonly inner?: string | undefined;
}

/**
 * Returns an answer, or a page of its JSON if it is too long. All pages together are the whole answer. If the answer is a
 * page of a list itself, its last page leads to the list's next one.
 */
export function pageAnswer(answer: WireObject, maxChars: number, { call, cursor, inner }: PagedCall): WireObject {
  if (cursor === undefined && fits(answer, maxChars)) return answer;
  const page = pageText(JSON.stringify(answer), maxChars - PAGE_OVERHEAD, cursor, { kind: "json", inner });
  return compact({
    status: answer.status,
    action: answer.action,
    session_id: answer.session_id,
    json_page: page.text,
    json_range: { from: page.from, to: page.to, total: page.total },
    cursor: page.cursor,
    next: page.cursor === undefined ? answer.next : { ...call(), cursor: page.cursor },
  });
}

/** Returns a cursor: JSON in base64, which clients pass on unread. */
export function writeCursor(parts: readonly unknown[]): string {
  return btoa(JSON.stringify(parts));
}

/** Returns the parts of a cursor; undefined for any other text, which no schema accepts. */
export function readCursor(cursor: string): unknown {
  try {
    return JSON.parse(atob(cursor));
  } catch {
    return undefined;
  }
}

export function invalidCursor(
  cursor: string,
  reason: string,
  remedy = "Call again without a cursor to begin at the first page.",
): PhasegateError<"CURSOR_INVALID"> {
  return new PhasegateError("CURSOR_INVALID", `the cursor ${shown(cursor)} can't be used: ${reason}`, {
    remedy,
    details: { cursor: shown(cursor) },
  });
}

const cursorSchema = z.tuple([
  z.enum(["text", "json", "items"]),
  z.int().check(z.nonnegative()),
  z.string(),
  z.optional(z.string()),
]);

/** Returns the answer's own cursor in a cursor into the JSON of a whole answer; undefined for any other cursor. */
export function readJsonCursor(cursor: string): { readonly inner: string | undefined } | undefined {
  const parsed = cursorSchema.safeParse(readCursor(cursor)).data;
  return parsed?.[0] === "json" ? { inner: parsed[3] } : undefined;
}

type CursorKind = z.infer<typeof cursorSchema>[0];

function cursorAt(kind: CursorKind, offset: number, revision: string, inner?: string): string {
  return writeCursor(inner === undefined ? [kind, offset, revision] : [kind, offset, revision, inner]);
}

function offsetOf(cursor: string, kind: CursorKind, revision: string): number {
  const parsed = cursorSchema.safeParse(readCursor(cursor));
  if (!parsed.success || parsed.data[0] !== kind) throw invalidCursor(cursor, "it belongs to another action");
  if (parsed.data[2] !== revision)
    throw invalidCursor(cursor, "it belongs to another list or text, or that has changed");
  return parsed.data[1];
}

/** Returns at most `maxChars` characters of JSON, up to the last complete line of a text, without splitting a character. */
function cut(text: string, maxChars: number, kind: TextOf["kind"]): string {
  const length = partWithin(text, maxChars);
  // The JSON of an answer is one line.
  const line = kind === "json" ? -1 : text.lastIndexOf("\n", length - 1);
  return text.slice(0, line > length * 0.7 ? line + 1 : length);
}

/** Returns the number of characters of a text that fit into `maxChars` characters of JSON. Splits no pair of surrogates. */
export function partWithin(text: string, maxChars: number): number {
  const whole = (end: number) => ((text.codePointAt(end - 1) ?? 0) > 0xffff ? end + 1 : end);
  let [least, most] = [0, Math.min(text.length, maxChars)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(text.slice(0, whole(middle)), maxChars)) least = middle;
    else most = middle - 1;
  }
  return whole(least);
}
