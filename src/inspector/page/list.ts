/** The list of sessions as far as it was read: how it is read, goes on, and changes with what happens. */
import { signal } from "@preact/signals";
import { filterOf, isChosen } from "../../read/filter.js";
import type { BrokenSession, ListedSession, SessionList } from "../../read/model.js";
import { comparePositions, orderOf, positionOf } from "../../read/order.js";
import type { LiveMessage } from "../wire.js";
import { asFailure, type Failure, get } from "./api.js";

interface Listed {
  readonly query: string;
  readonly rows: readonly ListedSession[];
  readonly broken: readonly BrokenSession[];
  readonly cursor?: string;
  readonly total: number;
  /** Missing until there is a first answer. */
  readonly counts?: SessionList["counts"];
  readonly read?: SessionList["read"];
  readonly isReading: boolean;
  readonly error?: Failure;
}

const NOTHING: Listed = { query: "", rows: [], broken: [], total: 0, isReading: true };

/** The list that was shown last: "back" from a session finds it as it was. */
export const listed = signal<Listed>(NOTHING);

const PAGE = 50;
/** As many rows are read anew after a lost connection; a person who has scrolled further scrolls again. */
const AGAIN_MAX = 1000;
/** The wait before the server is asked again that still reads its sessions, in milliseconds. */
const STILL_MS = 500;
/** Changes that follow each other within this time are counted at once, in milliseconds. */
const COUNT_MS = 700;

/** The reading that counts: what is shown may still be of the one before. */
let wanted = { query: "" };
/** What has happened since a request was sent, which its answer may not have. */
let missed: LiveMessage[] = [];

/** Begins a list, or reads it anew up to as many rows as it has. The shown rows stay until then. */
export async function readList(query: string): Promise<void> {
  const own = { query };
  wanted = own;
  const before = listed.peek();
  const rows = before.query === query ? Math.min(before.rows.length, AGAIN_MAX) : 0;
  listed.value = { ...before, isReading: true, error: undefined };
  try {
    for (let isReading = true; isReading; ) {
      missed = [];
      let read: Listed = { ...NOTHING, query };
      do {
        read = joined(read, await pageOf(read));
      } while (read.rows.length < rows && read.cursor !== undefined && wanted === own);
      if (wanted !== own) return;
      isReading = read.read?.state === "reading";
      // Rows that are there already do not go because the server has begun to read anew.
      listed.value = !isReading || rows === 0 ? { ...read, isReading } : { ...listed.peek(), read: read.read };
      for (const message of missed) applyMessage(message);
      if (isReading) await new Promise((resolve) => setTimeout(resolve, STILL_MS));
      if (wanted !== own) return;
    }
  } catch (error) {
    if (wanted === own) listed.value = { ...NOTHING, query, isReading: false, error: asFailure(error) };
  }
}

export async function readMore(): Promise<void> {
  const before = listed.peek();
  if (before.isReading || before.cursor === undefined) return;
  listed.value = { ...before, isReading: true, error: undefined };
  missed = [];
  try {
    const page = await pageOf(before);
    const now = listed.peek();
    if (wanted.query !== before.query || now.cursor !== before.cursor) return;
    listed.value = { ...joined(now, page), isReading: false };
    for (const message of missed) applyMessage(message);
  } catch (error) {
    if (wanted.query === before.query) listed.value = { ...listed.peek(), isReading: false, error: asFailure(error) };
  }
}

function pageOf({ query, cursor }: Pick<Listed, "query" | "cursor">, limit = PAGE): Promise<SessionList> {
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(limit));
  if (cursor !== undefined) parameters.set("cursor", cursor);
  return get<SessionList>(`sessions?${parameters}`);
}

function joined(before: Listed, { items, ...page }: SessionList): Listed {
  const known = new Set(before.rows.map(({ sessionId }) => sessionId));
  return {
    ...before,
    ...page,
    rows: [...before.rows, ...items.filter(({ sessionId }) => !known.has(sessionId))],
    cursor: page.cursor,
  };
}

let counting: ReturnType<typeof setTimeout> | undefined;

/** Reads again how many sessions there are, and which can't be shown. The next change reads anew, should this fail. */
function countSoon(): void {
  if (counting !== undefined) return;
  counting = setTimeout(async () => {
    counting = undefined;
    const { query } = listed.peek();
    const answer = await pageOf({ query }, 1).catch(() => undefined);
    if (answer === undefined || answer.read.state === "reading" || listed.peek().query !== query) return;
    const { total, counts, broken, read } = answer;
    listed.value = { ...listed.peek(), total, counts, broken, read };
  }, COUNT_MS);
}

/** Where a session was in the list, and where it is now: -1 for nowhere. */
interface Move {
  readonly from: number;
  readonly to: number;
}

/** Notes a message, and changes the list by it. */
export function noteMessage(message: LiveMessage): Move {
  if (message.type === "reset") {
    readList(wanted.query);
    return { from: -1, to: -1 };
  }
  if (listed.peek().isReading) missed.push(message);
  countSoon();
  return applyMessage(message);
}

function applyMessage(message: LiveMessage): Move {
  if (message.type === "reset") return { from: -1, to: -1 };
  const before = listed.peek();
  const id = message.type === "gone" ? message.sessionId : message.session.sessionId;
  const from = before.rows.findIndex(({ sessionId }) => sessionId === id);
  const others = from === -1 ? before.rows : before.rows.toSpliced(from, 1);
  const to = message.type === "gone" ? -1 : placeOf(message.session, others, before);
  if (from === -1 && to === -1) return { from, to };
  const rows = to === -1 || message.type === "gone" ? others : others.toSpliced(to, 0, message.session);
  listed.value = { ...before, rows };
  return { from, to };
}

/** Returns where a session belongs among the others of a list; -1 if it does not, or comes with a later page. */
function placeOf(session: ListedSession, others: readonly ListedSession[], { query, cursor }: Listed): number {
  const parameters = new URLSearchParams(query);
  const filter = filterOf(parameters);
  const order = orderOf(parameters);
  // What has just changed is not stuck.
  if (order === undefined || filter.stuck !== undefined || !isChosen(session, filter)) return -1;
  const own = positionOf(session, order);
  const place = others.findIndex((other) => comparePositions(own, positionOf(other, order), order) < 0);
  if (place !== -1) return place;
  return cursor === undefined ? others.length : -1;
}
