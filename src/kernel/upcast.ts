/**
 * Logs stay readable for as long as there is a version of this library: what an older one has written is led, format by
 * format, to the one of today. Only what is read changes; what is stored stays to the letter, as its hash is.
 */

/** Events and head as they lie in a body, in whatever format. */
export interface StoredState {
  readonly events: readonly unknown[];
  readonly head: unknown;
}

/** Reads what was written in one format as what the next one would have written. Pure. */
export type Upcast = (stored: StoredState) => StoredState;

/** By the format that they read. One that isn't there says that the next format only added to it. */
export type Upcasts = Readonly<Record<number, Upcast>>;

/** What was written in format `from`, as it stands in format `to`. */
export function upcast({ events, head }: StoredState, from: number, to: number, upcasts: Upcasts): StoredState {
  let stored: StoredState = { events, head };
  for (let format = from; format < to; format += 1) stored = upcasts[format]?.(stored) ?? stored;
  return stored;
}
