import type { SessionStatus } from "../ports/storage-adapter.js";
import type { Upcasts } from "./upcast.js";

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
export interface HeadSummary {
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
