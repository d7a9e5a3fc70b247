/** Short ids: the end of a session's id names it, as lists at a terminal print it. */
import { BROKEN } from "../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { pagesOf, type StorageAdapter } from "../ports/storage-adapter.js";
import { isSessionId, parseSessionId, type SessionId } from "../workflow/names.js";
import { CommandFailure, EXIT, usage } from "./exit-codes.js";
import { counted, inShell, printable } from "./terminal.js";

/** The length of the random end of an id. */
const SHORT = 8;
/** Fewer characters name nothing: one that is typed by mistake would name a session too easily. */
const SHORTEST = 4;
/** A text with more characters is taken for a whole id. */
const END_MAX = 16;
const PAGE = 1000;
/** In a state of more sessions no id is shortened for one session: their ids would take long to read. */
export const SHORT_IDS_MAX = 1000;
const CANDIDATES = 5;

/** Returns for each id the shortest end of it that none of the others has; `ids` are all different. */
export function shortIds(ids: readonly string[], length = SHORT): ReadonlyMap<string, string> {
  const byEnd = new Map<string, string[]>();
  for (const id of ids) {
    // An id does not begin with these.
    const end = id.slice(-length).replace(/^[_-]+/, "");
    byEnd.set(end, [...(byEnd.get(end) ?? []), id]);
  }
  return new Map(
    [...byEnd].flatMap(([end, same]) =>
      same.length === 1 ? same.map((id) => [id, end] as const) : [...shortIds(same, length + SHORT / 2)],
    ),
  );
}

/**
 * Returns for each id the shortest end of it that no other session of the state has. In a state of more than `most` sessions,
 * whose ids would take long to read, an id stands for itself.
 */
export async function shortIdsIn(
  storage: Pick<StorageAdapter, "list">,
  ids: readonly string[],
  most?: number,
): Promise<(id: string) => string> {
  const all = await idsIn(storage, most);
  const short = all && shortIds([...new Set([...all, ...ids])]);
  return (id) => short?.get(id) ?? id;
}

/** Returns the ids of all sessions of a state; undefined if there are more than `most`. */
async function idsIn(
  storage: Pick<StorageAdapter, "list">,
  most = Number.POSITIVE_INFINITY,
): Promise<readonly string[] | undefined> {
  const ids: string[] = [];
  for await (const { items, damaged = [], cursor } of pagesOf((query) => storage.list(query), { limit: PAGE })) {
    ids.push(...items.map(({ sessionId }) => sessionId), ...damaged);
    if (cursor !== undefined && ids.length >= most) return undefined;
  }
  return ids;
}

/**
 * Returns what a person has typed, if it has the form of an id or of the end of one.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when it has not.
 */
export function typedId(given: string): SessionId {
  if (isSessionId(given)) return given;
  throw new PhasegateError("INVALID_INPUT", `${JSON.stringify(printable(given))} is not the id of a session`, {
    remedy: `Ids are what \`phasegate sessions\` lists. For those on a target: phasegate sessions --target ${inShell(given)}`,
    details: { field: "session_id", expected: "[a-z0-9][a-z0-9_-]{0,127}" },
  });
}

/**
 * Returns the id of the session that a person names, by its whole id or by the end of it. If no session fits, returns the given
 * text, and the operation that follows reports the missing session.
 *
 * @throws {CommandFailure} wrong usage, when several ids end with the text.
 * @throws {PhasegateError} `INVALID_INPUT` when no id has such a form.
 */
export async function sessionMeant(storage: StorageAdapter, given: string): Promise<SessionId> {
  const id = typedId(given);
  if (await exists(storage, id)) return id;
  const ids = await idsIn(storage);
  return parseSessionId(sessionAmong(ids ?? [], id) ?? id);
}

/**
 * Returns the ids of the sessions that a person means, each once, as {@link sessionMeant} does. A command that changes several
 * sessions calls this before the first change, which may let another session become the only one with an end.
 *
 * @throws {CommandFailure} also when no session has a given end. A text that is longer than an end is the whole id of a session
 * that may have been deleted since: it is returned.
 */
export async function sessionsMeant(storage: StorageAdapter, given: readonly string[]): Promise<readonly SessionId[]> {
  const meant = new Set<SessionId>();
  for (const text of given) {
    const id = await sessionMeant(storage, text);
    // A single one the command itself refuses.
    if (given.length > 1 && id === text && id.length <= END_MAX && !(await exists(storage, id))) {
      throw new CommandFailure(
        `there is no session ${id}`,
        EXIT.problems,
        "Nothing was done. See `phasegate sessions`.",
      );
    }
    meant.add(id);
  }
  return [...meant];
}

/** Finds the one of these ids that is the given text, or ends with it; undefined if none does. */
export function sessionAmong(ids: readonly string[], given: string): string | undefined {
  if (ids.includes(given) || given.length < SHORTEST) return ids.find((id) => id === given);
  const found = ids.filter((id) => id.endsWith(given));
  if (found.length <= 1) return found[0];
  const more = found.length > CANDIDATES ? ` and ${counted(found.length - CANDIDATES, "other")}` : "";
  const names = found.slice(0, CANDIDATES).join(", ");
  const hint = `Give more of the id. These end so: ${printable(names)}${more}.`;
  throw usage(`${counted(found.length, "session")} have an id that ends with ${given}`, hint);
}

/** A session whose log can't be read is there, too. */
async function exists(storage: StorageAdapter, id: SessionId): Promise<boolean> {
  try {
    return (await storage.read(id)) !== undefined;
  } catch (error) {
    if (isPhasegateError(error) && BROKEN.has(error.code)) return true;
    throw error;
  }
}
