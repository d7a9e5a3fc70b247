import type { Connection } from "../connection.js";

/** What one connection was given. */
export interface ConnectionMemory {
  /** The revision of each file that was given, by its path. */
  readonly given: Map<string, string>;
  /** The step of each skill that was given last, as long as there is no session. */
  readonly steps: Map<string, string>;
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

/**
 * The step of a skill that the connection's session was given last; undefined before the first. It stands in the manifest:
 * whoever goes on with a session goes on with its step.
 */
export async function stepAt(connection: Connection, skill: string): Promise<string | undefined> {
  const { sessionId, sessions } = connection;
  if (sessionId === undefined) return memoryOf(connection).steps.get(skill);
  const { steps = {} } = await sessions.manifest(sessionId);
  return Object.hasOwn(steps, skill) ? steps[skill] : undefined;
}

function newMemory(): ConnectionMemory {
  let last: Promise<unknown> = Promise.resolve();
  return {
    given: new Map(),
    steps: new Map(),
    failures: new Map(),
    inTurn(step) {
      const mine = last.then(step);
      // Whoever comes next is told of its own faults alone.
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
