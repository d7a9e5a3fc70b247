import * as z from "zod";
import { PhasegateError } from "../errors.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
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

/**
 * Repeated calls get their first answer: every commit carries the last keys, each with the version
 * that it led to and a print of its command.
 */

/** How many keys a session remembers. */
export const KEYS_MAX = 16;
/** The longest key, in characters. */
const KEY_LENGTH_MAX = 200;

/** Checks keys that come out of a store: digest of the key, version, print of the command. */
export const keysSchema = z.array(z.tuple([z.string(), z.int(), z.string()]));
/** The keys that a session remembers, oldest first. */
export type Keys = z.infer<typeof keysSchema>;

/** A caller's key, digested, with a print of the command that it came with. */
export interface KeyedRequest {
  readonly key: string;
  readonly id: string;
  readonly print: string;
}

/** Checks a key and binds it to its command, whatever the order of its keys. Throws `INVALID_INPUT` for one that can't be a key. */
export function keyedRequest(key: string, command: unknown): KeyedRequest {
  if (typeof key !== "string" || key.trim() === "" || key.length > KEY_LENGTH_MAX) {
    throw new PhasegateError("INVALID_INPUT", `the idempotency key ${shown(key)} is empty or too long`, {
      remedy: `Use 1 to ${KEY_LENGTH_MAX} characters, a UUID for example.`,
      details: { field: "idempotency_key", expected: `1 to ${KEY_LENGTH_MAX} characters` },
    });
  }
  return { key, id: digest(key).slice(0, 24), print: digest(canonicalJson(command)).slice(0, 24) };
}

/** The version that a key led to; undefined if it is new. Throws if it came with another command. */
export function findKey(keys: Keys, request: KeyedRequest): number | undefined {
  const found = keys.find(([id]) => id === request.id);
  if (found === undefined) return undefined;
  if (found[2] === request.print) return found[1];
  throw new PhasegateError("IDEMPOTENCY_KEY_REUSED", `the key ${shown(request.key)} came with another command before`, {
    remedy: "Use a new key for a new command; repeat a command with exactly the same parameters.",
    details: { key: request.key },
  });
}

/** The keys with one more, the oldest forgotten; but never the one that started the session. */
export function addKey(keys: Keys, request: KeyedRequest, version: number): Keys {
  const all: Keys = [...keys, [request.id, version, request.print]];
  const starting = all.filter(([, first]) => first === 1);
  return [...starting, ...all.slice(starting.length).slice(-KEYS_MAX)];
}
