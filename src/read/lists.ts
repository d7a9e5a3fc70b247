/** Lists of sessions of all kinds: filtered, sorted, and page by page. */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { pagesOf } from "../ports/storage-adapter.js";
import { filterOf, isChosen, isStuck, type SessionFilter, STUCK_SECONDS } from "./filter.js";
import { KINDS, type Kind, type ListedSession, type SessionList } from "./model.js";
import { comparePositions, orderOf, type Position, positionOf, SORTS } from "./order.js";
import type { Found, SessionIndex } from "./session-index.js";
import { notThere, type Source } from "./sources.js";
import { LISTED, type Standing, standingOf } from "./standing.js";

const PAGE = 50;
const PAGE_MAX = 200;
/** As many sessions that can't be shown are named. */
const BROKEN_MAX = 200;

/** Returns a page of the sessions of an index, of those that are read so far. */
export function listSessions(index: SessionIndex, query: URLSearchParams, now: number): SessionList {
  const filter = filterOf(query);
  checkChoices(filter);
  const order = orderOf(query);
  if (order === undefined) throw badFilter("sort", `one of ${SORTS.join(", ")}, with - before it for the last first`);
  const orderName = `${order.isDescending ? "-" : ""}${order.sort}`;
  const seconds = secondsIn(filter);
  const { status: _, stuck: __, ...others } = filter;
  // The numbers of the tabs are those of the other filters.
  const sessions = index.sessions.filter((session) => isChosen(session, others));
  const chosen = sessions.filter(
    (session) => isChosen(session, filter) && (seconds === undefined || isStuck(session, seconds, now)),
  );
  const given = query.get("cursor");
  const last = given ? readCursor(given, orderName) : undefined;
  const sorted = chosen
    .map((session) => ({ session, position: positionOf(session, order) }))
    .filter(({ position }) => last === undefined || comparePositions(position, last, order) > 0)
    .sort((one, other) => comparePositions(one.position, other.position, order));
  const limit = Math.min(PAGE_MAX, Math.max(1, Number(query.get("limit")) || PAGE));
  const shown = sorted.slice(0, limit);
  const end = shown.at(-1)?.position;
  const count = (is: (session: ListedSession) => boolean) => sessions.filter(is).length;
  const standing = (wanted: Standing) => count((session) => standingOf(session) === wanted);
  return {
    items: shown.map(({ session }) => session),
    cursor: end === undefined || sorted.length <= limit ? undefined : encode(end, orderName),
    total: chosen.length,
    counts: {
      all: sessions.length,
      needs_you: standing("needs_you"),
      failed: standing("failed"),
      refused: standing("refused"),
      stuck: count((session) => isStuck(session, STUCK_SECONDS, now)),
      broken: index.broken.length,
    },
    broken: index.broken.slice(0, BROKEN_MAX),
    read: { state: index.state, sessions: index.sessions.length },
  };
}

const WAITING = ["any", "approval", "waiver", "host"];

/** Refuses filters that no session can pass. The names of phases and steps can't be known: those of old sessions may be gone. */
function checkChoices({ kind, status, waiting }: SessionFilter): void {
  const isIn = (known: readonly string[], name: string) => known.includes(name);
  if (kind !== undefined && !isIn(KINDS, kind)) throw badFilter("kind", `one of ${KINDS.join(", ")}`);
  if (waiting !== undefined && !isIn(WAITING, waiting)) throw badFilter("waiting", `one of ${WAITING.join(", ")}`);
  if (status?.split(",").some((name) => !isIn(LISTED, name)))
    throw badFilter("status", `some of ${LISTED.join(", ")}, joined by commas`);
}

function secondsIn({ stuck }: SessionFilter): number | undefined {
  const seconds = stuck === undefined ? undefined : Number(stuck);
  if (seconds !== undefined && !(seconds >= 0 && Number.isFinite(seconds)))
    throw badFilter("stuck", "seconds, 0 or more");
  return seconds;
}

function badFilter(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the filter ${field} is not valid`, {
    remedy: `Give ${expected}.`,
    details: { field, expected },
  });
}

/** Finds one session. Its id may begin those of many others. */
export async function findIn(list: Source["list"], id: string): Promise<Found> {
  for await (const { items, broken } of pagesOf(list, { idPrefix: id, limit: PAGE })) {
    const summary = items.find(({ sessionId }) => sessionId === id);
    const damage = broken?.find(({ sessionId }) => sessionId === id);
    if (summary !== undefined || damage !== undefined) return { summary, damage };
  }
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

/** The order, and the position of the last session of a page: those behind it follow, whatever was started or changed since. */
const cursorSchema = z.tuple([z.string(), z.tuple([z.string(), z.string(), z.string()])]);

function encode(position: Position, order: string): string {
  const bytes = new TextEncoder().encode(JSON.stringify([order, position]));
  return btoa(String.fromCharCode(...bytes))
    .replace(/[+]/g, "-")
    .replace(/[/]/g, "_")
    .replaceAll("=", "");
}

function readCursor(text: string, order: string): Position {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
    const [given, position] = cursorSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
    if (given !== order) throw new TypeError(`the cursor is of the order ${given}`);
    return position;
  } catch (cause) {
    throw new PhasegateError("CURSOR_INVALID", "the cursor does not belong to this list", {
      remedy: "Begin at the first page.",
      details: { cursor: text.slice(0, 100) },
      cause,
    });
  }
}
