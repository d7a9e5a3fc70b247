/**
 * Lists of sessions of all kinds, newest first. A storage filters by some members alone; the
 * other filters are applied here, to a bounded number of sessions for each request: a page may be empty, and its cursor continues
 * the search.
 */
import * as z from "zod/mini";
import type { BrokenSession, ListedSession, SessionPage } from "../engine/lists.js";
import { PhasegateError } from "../errors.js";
import { LIVING } from "../phased/options.js";
import type { SessionQuery } from "../ports/storage-adapter.js";
import { defined } from "../workflow/json.js";
import { filterOf, isChosen, type SessionFilter } from "./filter.js";
import { KINDS, type Kind, type SessionList } from "./model.js";
import { notThere, type Source } from "./sources.js";

const PAGE = 50;
const PAGE_MAX = 200;
const LOOKED_AT = 1000;

const positionSchema = z.object({ createdAt: z.string(), sessionId: z.string() });
/**
 * How far each kind has been shown: the cursor of a page, and the last session that was shown. If the page is read again, those
 * behind it follow, whatever was started, deleted or changed since.
 */
const cursorSchema = z.record(
  z.string(),
  z.object({ at: z.optional(z.string()), last: z.optional(positionSchema), ended: z.optional(z.literal(true)) }),
);
type Cursor = z.infer<typeof cursorSchema>;

export async function listSessions(
  sources: readonly Source[],
  query: URLSearchParams,
  now: number,
): Promise<SessionList> {
  const filter = filterOf(query);
  const limit = Math.min(PAGE_MAX, Math.max(1, Number(query.get("limit")) || PAGE));
  const given = query.get("cursor");
  const chosen = sources.filter(({ kind }) => filter.kind === undefined || kind === filter.kind);
  checkChoices(filter, chosen);
  const stored = queryOf(filter, now);
  let cursor: Cursor = given ? readCursor(given) : {};
  const items: ListedSession[] = [];
  const broken = new Map<string, BrokenSession>();
  let total: number | undefined;
  let looked = 0;
  do {
    const page: Awaited<ReturnType<typeof mergedPage>> = await mergedPage(chosen, { ...stored, limit }, cursor);
    cursor = page.cursor;
    // A page without any may have been read for nothing.
    looked += page.items.length || limit;
    total ??= page.total;
    items.push(...page.items.filter((session) => isChosen(session, filter)));
    for (const one of page.broken) broken.set(one.sessionId, one);
  } while (items.length < limit && looked < LOOKED_AT && !isAtEnd(chosen, cursor));
  const isFiltered = filter.phase !== undefined || filter.waiting !== undefined || filter.text !== undefined;
  return {
    items,
    broken: [...broken.values()],
    cursor: isAtEnd(chosen, cursor) ? undefined : encode(cursor),
    total: isFiltered ? undefined : total,
  };
}

const WAITING = ["any", "approval", "waiver", "host"];

/** Refuses filters that no session can pass. The names of steps can't be known: those of old sessions may be gone. */
function checkChoices({ kind, status, waiting, phase }: SessionFilter, sources: readonly Source[]): void {
  const isIn = (known: readonly string[], name: string) => known.includes(name);
  if (kind !== undefined && !isIn(KINDS, kind)) throw badFilter("kind", `one of ${KINDS.join(", ")}`);
  if (waiting !== undefined && !isIn(WAITING, waiting)) throw badFilter("waiting", `one of ${WAITING.join(", ")}`);
  if (status?.split(",").some((name) => !isIn(LIVING, name)))
    throw badFilter("status", `some of ${LIVING.join(", ")}, joined by commas`);
  const areNumbered = sources.length > 0 && sources.every((source) => source.kind === "phased");
  if (phase !== undefined && areNumbered && !/^\d+$/.test(phase)) throw badFilter("phase", "the number of a phase");
}

/** What the storage filters by. */
function queryOf({ status, workflow, stuck, owner }: SessionFilter, now: number): SessionQuery {
  const wanted = LIVING.filter((name) => status === undefined || status.split(",").includes(name));
  const seconds = stuck === undefined ? undefined : Number(stuck);
  if (seconds !== undefined && !(seconds >= 0 && Number.isFinite(seconds)))
    throw badFilter("stuck", "seconds, 0 or more");
  return defined({
    status: seconds === undefined ? wanted : wanted.filter((name) => name === "active"),
    workflowType: workflow,
    owner,
    updatedBefore: seconds === undefined ? undefined : new Date(Math.max(0, now - seconds * 1000)).toISOString(),
  });
}

function badFilter(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the filter ${field} is not valid`, {
    remedy: `Give ${expected}.`,
    details: { field, expected },
  });
}

/** A session's line in a list, or why it has none; neither if there is no such session. */
interface Found {
  readonly summary?: ListedSession;
  readonly damage?: BrokenSession;
}

/** Finds one session. Its id may begin those of many others. */
export async function findIn(list: Source["list"], id: string): Promise<Found> {
  let cursor: string | undefined;
  do {
    const page = await list(defined({ idPrefix: id, limit: PAGE, cursor }));
    const summary = page.items.find(({ sessionId }) => sessionId === id);
    const damage = page.broken?.find(({ sessionId }) => sessionId === id);
    if (summary !== undefined || damage !== undefined) return { summary, damage };
    cursor = page.cursor;
  } while (cursor !== undefined);
  return {};
}

/** Finds one session of any kind. */
export async function placeIn(sources: readonly Source[], id: string): Promise<Found & { readonly kind: Kind }> {
  for (const { kind, list } of sources) {
    const found = await findIn(list, id);
    if (found.summary !== undefined || found.damage !== undefined) return { kind, ...found };
  }
  throw notThere("there is none", id);
}

/** Returns the kind of a session. One that can't be shown is refused with its own error. */
export async function kindOf(sources: readonly Source[], id: string): Promise<Kind> {
  const { kind, damage } = await placeIn(sources, id);
  if (damage !== undefined) throw notThere(damage.message, id);
  return kind;
}

/** Returns the newest sessions of all kinds behind a cursor, and the cursor behind them. */
async function mergedPage(sources: readonly Source[], query: SessionQuery & { limit: number }, cursor: Cursor) {
  const pages = await Promise.all(
    sources.map(async ({ kind, list }) => {
      const { at, last, ended } = cursor[kind] ?? {};
      const page: SessionPage = ended ? { items: [] } : await list(defined({ ...query, cursor: at }));
      return { kind, page, at, last, left: [...behind(page.items, last)], hasTaken: false };
    }),
  );
  const items: ListedSession[] = [];
  // Behind the last one of a page may come newer sessions of its kind than the others have: the next page tells.
  const isCut = () => pages.some(({ left, page }) => left.length === 0 && page.cursor !== undefined);
  while (items.length < query.limit && !isCut()) {
    const [newest] = pages.filter(({ left }) => left.length > 0).sort(newestFirst);
    const item = newest?.left.shift();
    if (newest === undefined || item === undefined) break;
    items.push(item);
    newest.last = { createdAt: item.createdAt, sessionId: item.sessionId };
    newest.hasTaken = true;
  }
  const next: Cursor = {};
  for (const { kind, page, at, last, left, hasTaken } of pages) {
    if (left.length > 0) next[kind] = { at, last };
    // Behind the page are only sessions that were not shown, unless it has only newer ones.
    else if (page.cursor !== undefined) next[kind] = { at: page.cursor, last: hasTaken ? undefined : last };
    else next[kind] = { ended: true };
  }
  const totals = pages.map(({ page }) => page.total);
  const isKnown = Object.keys(cursor).length === 0 && !totals.includes(undefined);
  const total = isKnown ? totals.reduce<number>((sum, count = 0) => sum + count, 0) : undefined;
  return { items, broken: pages.flatMap(({ page }) => page.broken ?? []), cursor: next, total };
}

interface Left {
  readonly left: readonly ListedSession[];
}

function newestFirst({ left: [one] }: Left, { left: [other] }: Left): number {
  const [mine = "", theirs = ""] = [one?.createdAt, other?.createdAt];
  return mine === theirs ? 0 : mine > theirs ? -1 : 1;
}

type Position = z.infer<typeof positionSchema>;

/** Returns the sessions behind the last one that was shown. It may be gone: the newest come first, then they go by id. */
function behind(items: readonly ListedSession[], last: Position | undefined): readonly ListedSession[] {
  if (last === undefined) return items;
  const at = items.findIndex(({ sessionId }) => sessionId === last.sessionId);
  if (at !== -1) return items.slice(at + 1);
  return items.filter(
    ({ createdAt, sessionId }) =>
      createdAt < last.createdAt || (createdAt === last.createdAt && sessionId > last.sessionId),
  );
}

function isAtEnd(sources: readonly Source[], cursor: Cursor): boolean {
  return sources.every(({ kind }) => cursor[kind]?.ended === true);
}

function encode(cursor: Cursor): string {
  return btoa(JSON.stringify(cursor)).replace(/[+]/g, "-").replace(/[/]/g, "_").replaceAll("=", "");
}

function readCursor(text: string): Cursor {
  try {
    return cursorSchema.parse(JSON.parse(atob(text.replace(/-/g, "+").replace(/_/g, "/"))));
  } catch (cause) {
    throw new PhasegateError("CURSOR_INVALID", "the cursor does not belong to this list", {
      remedy: "Begin at the first page.",
      details: { cursor: text.slice(0, 100) },
      cause,
    });
  }
}
