import { isPhasegateError } from "../../errors.js";
import type { Location } from "../roots/location.js";

/** What was seen at a place: an answer, or why there is none. */
export interface Seen<T> {
  readonly location: Location;
  readonly outcome: PromiseSettledResult<T>;
}

/** Looks of one kind, each place looked at once. */
export interface Looks<T> {
  /** What lies at a place. */
  at(location: Location): Promise<T>;
  /** Forgets that places were asked for, but for one. */
  forget(but: Location): void;
  /** What was asked for so far. */
  readonly asked: ReadonlyMap<string, Location>;
  /** What was seen where it was asked for. */
  seen(): Promise<readonly Seen<T>[]>;
  /** Whether each place looks as it did; then all of them count as asked for. */
  areAs(before: readonly Seen<T>[]): Promise<boolean>;
}

/** How a kind of looks is done, and when two answers are the same. */
export interface LookKind<T> {
  look(location: Location): Promise<T>;
  same(one: T, other: T): boolean;
  show(location: Location): string;
}

/** Begins with looks at some places, side by side, before anybody asks for them. */
export function beginLooks<T>(kind: LookKind<T>, places: Iterable<Location>): Looks<T> {
  const looking = new Map<string, Promise<T>>();
  const asked = new Map<string, Location>();
  for (const location of places) {
    // Whoever asks for it is told why it can't be had.
    lookAt(location).catch(() => {});
  }

  function lookAt(location: Location): Promise<T> {
    const path = kind.show(location);
    const answer = looking.get(path) ?? kind.look(location);
    looking.set(path, answer);
    return answer;
  }

  return {
    asked,
    at(location) {
      asked.set(kind.show(location), location);
      return lookAt(location);
    },
    forget(but) {
      const left = kind.show(but);
      for (const path of asked.keys()) if (path !== left) asked.delete(path);
    },
    async seen() {
      const locations = [...asked.values()];
      const outcomes = await Promise.allSettled(locations.map(lookAt));
      return locations.flatMap((location, index) => {
        const outcome = outcomes[index];
        return outcome === undefined ? [] : [{ location, outcome }];
      });
    },
    async areAs(before) {
      const now = await Promise.allSettled(before.map(({ location }) => lookAt(location)));
      const same = before.every(({ outcome }, index) => isSame(kind, outcome, now[index]));
      if (same) for (const { location } of before) asked.set(kind.show(location), location);
      return same;
    },
  };
}

function isSame<T>(
  { same }: LookKind<T>,
  one: PromiseSettledResult<T>,
  other: PromiseSettledResult<T> | undefined,
): boolean {
  if (one.status === "fulfilled") return other?.status === "fulfilled" && same(one.value, other.value);
  if (other?.status !== "rejected" || !isPhasegateError(one.reason) || !isPhasegateError(other.reason)) return false;
  return one.reason.code === other.reason.code && one.reason.message === other.reason.message;
}
