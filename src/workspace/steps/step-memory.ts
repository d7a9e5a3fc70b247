import type { Connection } from "../connection.js";

/** Where a session stands in a skill's steps. */
export interface StepPlace {
  /** The step that was given last. */
  readonly step: string;
  /** Whether it was the last one, and is done. */
  readonly done: boolean;
}

/** What one connection was given. */
export interface ConnectionMemory {
  /** The revision of each file that was given, by its path. */
  readonly given: Map<string, string>;
  /** By session and skill; see {@link placeKey}. */
  readonly places: Map<string, StepPlace>;
  /** How often a step's gate was not passed, by skill and step: a new session is no way to guess on. */
  readonly failures: Map<string, number>;
  /** Does one thing after the other: two calls at once must not both leave the same step. */
  inTurn<T>(step: () => Promise<T>): Promise<T>;
}

const memories = new WeakMap<Connection, ConnectionMemory>();

/** The memory of a connection, for as long as there is the connection. */
export function memoryOf(connection: Connection): ConnectionMemory {
  const known = memories.get(connection) ?? newMemory();
  memories.set(connection, known);
  return known;
}

/** Where the connection's session stands in a skill. What was begun before there was a session belongs to its first. */
export function placeIn(connection: Connection, skill: string): StepPlace | undefined {
  const { places } = memoryOf(connection);
  const key = placeKey(connection.sessionId, skill);
  const before = placeKey(undefined, skill);
  const place = places.get(key) ?? places.get(before);
  if (place !== undefined && key !== before) {
    places.set(key, place);
    places.delete(before);
  }
  return place;
}

/** Notes where the connection's session stands in a skill. */
export function putPlace(connection: Connection, skill: string, place: StepPlace): void {
  memoryOf(connection).places.set(placeKey(connection.sessionId, skill), place);
}

function placeKey(session: string | undefined, skill: string): string {
  return `${session ?? ""}\n${skill}`;
}

function newMemory(): ConnectionMemory {
  let last: Promise<unknown> = Promise.resolve();
  return {
    given: new Map(),
    places: new Map(),
    failures: new Map(),
    inTurn(step) {
      const mine = last.then(step);
      // Whoever comes next is told of its own faults alone.
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
