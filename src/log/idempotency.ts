/**
 * Repeated calls get their first answer: every commit carries the last keys, each with the version
 * that it led to and a print of its command.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
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
