/** The order of a list of sessions. The page shares this file, to put a session that has changed into its place. */
import type { ListedSession } from "./model.js";
import { STANDINGS, standingOf } from "./standing.js";

/** Returns the text that a list is sorted by, by the names in the query: `sort=owner`, `sort=-changed` for the last first. */
const KEYS = {
  changed: ({ updatedAt }: ListedSession) => updatedAt,
  started: ({ createdAt }: ListedSession) => createdAt,
  status: (session: ListedSession) => String(STANDINGS.indexOf(standingOf(session))),
  target: ({ target, sessionId }: ListedSession) => (target || sessionId).toLowerCase(),
  phase: ({ current }: ListedSession) => String(current).padStart(6, "0"),
  workflow: ({ workflowName, workflowType }: ListedSession) => (workflowName ?? workflowType).toLowerCase(),
  owner: ({ owner = "" }: ListedSession) => owner.toLowerCase(),
};

export type Sort = keyof typeof KEYS;
export const SORTS = Object.keys(KEYS).filter((name): name is Sort => name in KEYS);

export interface Order {
  readonly sort: Sort;
  readonly isDescending: boolean;
}

/** The session that has changed last comes first. */
const DEFAULT: Order = { sort: "changed", isDescending: true };

/** Returns the order that a query asks for; undefined if there is no such order. */
export function orderOf(query: URLSearchParams): Order | undefined {
  const asked = query.get("sort");
  // Of those that are stuck, the longest without a change come first.
  if (!asked) return query.get("stuck") ? { ...DEFAULT, isDescending: false } : DEFAULT;
  const isDescending = asked.startsWith("-");
  const sort = SORTS.find((name) => name === asked.slice(isDescending ? 1 : 0));
  return sort && { sort, isDescending };
}

/** Where a session stands in a list: its key, the time of its last change, its id. */
export type Position = readonly [key: string, updatedAt: string, sessionId: string];

export function positionOf(session: ListedSession, { sort }: Order): Position {
  return [KEYS[sort](session), session.updatedAt, session.sessionId];
}

/** Returns a number below 0 if the first position comes before the other. Of equal keys, the newest change comes first. */
export function comparePositions(one: Position, other: Position, { isDescending }: Order): number {
  const byKey = compare(one[0], other[0]);
  if (byKey !== 0) return isDescending ? -byKey : byKey;
  return compare(other[1], one[1]) || compare(one[2], other[2]);
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
