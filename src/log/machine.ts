import type { SessionStatus } from "../ports/storage-adapter.js";
/** When a commit is decided, and which version it will have. */
export interface DecisionContext {
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  readonly version: number;
}

/** What a machine decides: what happened and where the session stands then, or why nothing did. */
export type Decision<Event, Head> =
  | { readonly ok: true; readonly events: readonly Event[]; readonly head: Head }
  | { readonly ok: false; readonly error: Error };

/** What a list shows of a session, as far as the machine knows it. */
interface HeadSummary {
  readonly workflowType: string;
  readonly target: string;
  readonly status: SessionStatus;
  readonly current: number | string;
  readonly total?: number;
  readonly createdAt: string;
  readonly completedAt?: string;
}

/**
 * A kind of session: what may be asked of it, what can happen to it, where it can stand. The kernel
 * makes any of them durable; it knows no phases.
 */
export interface Machine<Command, Event, Head> {
  /** Names the kind in every summary. */
  readonly kind: string;
  /** The version of the format of events and heads. */
  readonly schema: number;
  /** How what was written in older formats is read; none if there are no older ones. */
  readonly upcasts?: Upcasts;
  /** Pure: the same arguments give the same decision. A head is frozen once it is decided. */
  decide(head: Head | undefined, command: Command, context: DecisionContext): Decision<Event, Head>;
  /** Reads events and head of this format out of a stored body; throws if they are none. */
  parse(events: unknown, head: unknown): { readonly events: readonly Event[]; readonly head: Head };
  summarize(head: Head): HeadSummary;
  /** The digests of the payloads that an event names. */
  payloadsOf(event: Event): readonly string[];
}

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
type Upcast = (stored: StoredState) => StoredState;

/** By the format that they read. One that isn't there says that the next format only added to it. */
type Upcasts = Readonly<Record<number, Upcast>>;

/** What was written in format `from`, as it stands in format `to`. */
export function upcast({ events, head }: StoredState, from: number, to: number, upcasts: Upcasts): StoredState {
  let stored: StoredState = { events, head };
  for (let format = from; format < to; format += 1) stored = upcasts[format]?.(stored) ?? stored;
  return stored;
}
