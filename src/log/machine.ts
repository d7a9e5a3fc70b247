/**
 * The interface of a state machine that the log makes durable, the reading of older formats, and idempotency keys. Every
 * later version can read a log: old formats are converted step by step when they are read. A stored commit never changes,
 * since its hash covers it.
 */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { shown } from "../workflow/names.js";

/** Events and head as stored in a body, in any format. */
export interface StoredState {
  readonly events: readonly unknown[];
  readonly head: unknown;
}

/** Converts from one format to the next. Pure. */
type Upcast = (stored: StoredState) => StoredState;

/** Conversions by the format that they read. A missing one means that the next format only added to it. */
type Upcasts = Readonly<Record<number, Upcast>>;

export interface DecisionContext {
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  readonly version: number;
}

export type Decision<Event, Head> =
  | { readonly ok: true; readonly events: readonly Event[]; readonly head: Head }
  | { readonly ok: false; readonly error: Error };

interface HeadSummary {
  readonly workflowType: string;
  readonly target: string;
  readonly owner?: string;
  readonly team?: string;
  readonly status: SessionStatus;
  readonly current: number | string;
  readonly total?: number;
  readonly createdAt: string;
  readonly completedAt?: string;
}

/** A kind of session: its commands, events and states. */
export interface Machine<Command, Event, Head> {
  /** The kind's name in every summary. */
  readonly kind: string;
  /** The version of the format of events and heads. */
  readonly schema: number;
  readonly upcasts?: Upcasts;
  /** Pure: the same arguments give the same decision. A head is frozen once it is decided. */
  decide(head: Head | undefined, command: Command, context: DecisionContext): Decision<Event, Head>;
  /** Reads events and head of this format from a stored body; throws if they are invalid. */
  parse(events: unknown, head: unknown): { readonly events: readonly Event[]; readonly head: Head };
  /** Returns events and head in the form that `parse` reads, if that differs. */
  store?(events: readonly Event[], head: Head): StoredState;
  summarize(head: Head): HeadSummary;
  /** Returns the digests of the payloads that an event refers to. */
  payloadsOf(event: Event): readonly string[];
}

export function upcast({ events, head }: StoredState, from: number, to: number, upcasts: Upcasts): StoredState {
  let stored: StoredState = { events, head };
  for (let format = from; format < to; format += 1) stored = upcasts[format]?.(stored) ?? stored;
  return stored;
}

/** Checks stored keys: digest of the key, version, fingerprint of the command. */
export const keysSchema = z.array(z.tuple([z.string(), z.int(), z.string()]));
/** The keys that a session remembers, oldest first. Every commit carries them. */
export type Keys = [digest: string, version: number, fingerprint: string][];

/** A caller's key: its digest, with a fingerprint of its command. */
export interface KeyedRequest {
  readonly key: string;
  readonly id: string;
  readonly print: string;
}

/** The longest key, in characters. */
const KEY_LENGTH_MAX = 200;

/**
 * Checks a key and binds it to its command. The fingerprint does not depend on the order of object keys.
 * @throws {PhasegateError} `INVALID_INPUT` when the key is empty or too long.
 */
export function keyedRequest(key: string, command: unknown): KeyedRequest {
  if (typeof key !== "string" || key.trim() === "" || key.length > KEY_LENGTH_MAX) {
    throw new PhasegateError("INVALID_INPUT", `the idempotency key ${shown(key)} is empty or too long`, {
      remedy: `Use 1 to ${KEY_LENGTH_MAX} characters, a UUID for example.`,
      details: { field: "idempotency_key", expected: `1 to ${KEY_LENGTH_MAX} characters` },
    });
  }
  return { key, id: idOf(key), print: digest(canonicalJson(command)).slice(0, 24) };
}

function idOf(key: string): string {
  return digest(key).slice(0, 24);
}

/** Returns a digest of a key that no other owner's key has, in 24 hexadecimal digits. */
export function ownKey(owner: string, key: string): string {
  return digest(JSON.stringify([owner, key])).slice(0, 24);
}

/**
 * Returns the version that a key led to; undefined if the key is new.
 * @throws {PhasegateError} `IDEMPOTENCY_KEY_REUSED` when it came with another command before.
 */
export function findKey(keys: Keys, request: KeyedRequest): number | undefined {
  const found = keys.find(([id]) => id === request.id);
  if (found === undefined) return undefined;
  if (found[2] === request.print) return found[1];
  throw new PhasegateError("IDEMPOTENCY_KEY_REUSED", `the key ${shown(request.key)} came with another command before`, {
    remedy: "Use a new key for a new command; repeat a command with exactly the same parameters.",
    details: { key: request.key },
  });
}

/** Returns the version that a key led to, with whatever command; undefined if the key is not remembered. */
export function findVersion(keys: Keys, key: string): number | undefined {
  const id = idOf(key);
  return keys.find(([known]) => known === id)?.[1];
}

/** Adds a key and drops the oldest, but never the key that started the session. */
export function addKey(keys: Keys, request: KeyedRequest, version: number): Keys {
  const all: Keys = [...keys, [request.id, version, request.print]];
  const starting = all.filter(([, first]) => first === 1);
  return [...starting, ...all.slice(starting.length).slice(-KEYS_MAX)];
}

/** The number of keys that a session remembers, beside those that started it. */
export const KEYS_MAX = 16;
