/** The list of sessions as far as it was read, and how messages change it. */
import { signal } from "@preact/signals";
import { filterOf, isChosen } from "../../read/filter.js";
import type { BrokenSession, ListedSession, SessionList } from "../../read/model.js";
import type { LiveMessage } from "../wire.js";
import { asFailure, type Failure, get } from "./api.js";

export interface Listed {
  readonly query: string;
  readonly rows: readonly ListedSession[];
  readonly broken: readonly BrokenSession[];
  readonly cursor?: string | undefined;
  readonly total?: number | undefined;
  readonly isReading: boolean;
  readonly error?: Failure | undefined;
}

const NOTHING: Listed = { query: "", rows: [], broken: [], isReading: true };

/** The list that was shown last: "back" from a session finds it as it was. */
export const listed = signal<Listed>(NOTHING);

const PAGE = 100;
/** As many rows are read anew after a lost connection; who has scrolled further scrolls again. */
const AGAIN_MAX = 1000;

export function queryOf(query: URLSearchParams): string {
  return new URLSearchParams(Object.entries(filterOf(query))).toString();
}

/** The query that is read: what is shown may still answer the one before. */
let wanted = "";

/** Begins a list, or reads it anew up to as many rows as it has. What is shown stays until then. */
export async function readList(query: string): Promise<void> {
  wanted = query;
  const before = listed.peek();
  const rows = before.query === query ? Math.min(before.rows.length, AGAIN_MAX) : 0;
  listed.value = { ...before, isReading: true, error: undefined };
  let read: Listed = { ...NOTHING, query };
  try {
    do {
      read = joined(read, await pageOf(read));
    } while (read.rows.length < rows && read.cursor !== undefined && wanted === query);
    if (wanted === query) listed.value = { ...read, isReading: false };
  } catch (error) {
    if (wanted === query) listed.value = { ...NOTHING, query, isReading: false, error: asFailure(error) };
  }
}

export async function readMore(): Promise<void> {
  const before = listed.peek();
  if (before.isReading || before.cursor === undefined) return;
  listed.value = { ...before, isReading: true, error: undefined };
  try {
    const page = await pageOf(before);
    const now = listed.peek();
    if (wanted === before.query && now.cursor === before.cursor)
      listed.value = { ...joined(now, page), isReading: false };
  } catch (error) {
    if (wanted === before.query) listed.value = { ...listed.peek(), isReading: false, error: asFailure(error) };
  }
}

function pageOf({ query, cursor }: Listed): Promise<SessionList> {
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(PAGE));
  if (cursor !== undefined) parameters.set("cursor", cursor);
  return get<SessionList>(`sessions?${parameters}`);
}

function joined(before: Listed, page: SessionList): Listed {
  const known = new Set(before.rows.map(({ sessionId }) => sessionId));
  const broken = new Map([...before.broken, ...page.broken].map((one) => [one.sessionId, one]));
  return {
    ...before,
    rows: [...before.rows, ...page.items.filter(({ sessionId }) => !known.has(sessionId))],
    broken: [...broken.values()],
    cursor: page.cursor,
    total: before.total ?? page.total,
  };
}

/** Changes the list by a message. Returns the number of rows that came in above the first one, to keep the place. */
export function applyMessage(message: LiveMessage): number {
  const before = listed.peek();
  if (message.type === "reset") {
    readList(wanted);
    return 0;
  }
  const id = message.type === "gone" ? message.sessionId : message.session.sessionId;
  const at = before.rows.findIndex(({ sessionId }) => sessionId === id);
  const filter = filterOf(new URLSearchParams(before.query));
  // What has just changed is not stuck.
  const isShown = message.type === "session" && filter.stuck === undefined && isChosen(message.session, filter);
  const session = isShown ? message.session : undefined;
  const { total } = before;
  if (session === undefined) {
    if (at === -1) return 0;
    listed.value = { ...before, rows: before.rows.toSpliced(at, 1), total: total && total - 1 };
    return 0;
  }
  if (at !== -1) {
    listed.value = { ...before, rows: before.rows.with(at, session) };
    return 0;
  }
  const place = before.rows.findIndex(({ createdAt }) => createdAt <= session.createdAt);
  // Older than everything that was read: it comes with a later page.
  if (place === -1 && before.cursor !== undefined) return 0;
  const index = place === -1 ? before.rows.length : place;
  listed.value = {
    ...before,
    rows: before.rows.toSpliced(index, 0, session),
    total: total === undefined ? total : total + 1,
  };
  return 1;
}
