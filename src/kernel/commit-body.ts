/**
 * What stands in a commit's body, and how it is bound to the one before: the hash of a commit is
 * SHA-256 (an HMAC with the host's key) over the previous hash and the body, so nothing in a log
 * can be changed, left out or moved without it showing. Payloads stand in the body by their digest.
 */
import * as z from "zod";
import { digest, keyedDigest } from "../definition/digest.js";
import { isSessionId, type SessionId } from "../definition/names.js";
import { PhasegateError } from "../errors.js";
import type { Commit } from "../ports/storage-adapter.js";
import { keysSchema } from "./idempotency.js";

const bodySchema = z.object({
  sessionId: z.custom<SessionId>(isSessionId),
  version: z.int().positive(),
  at: z.string(),
  /** The version of the format of events and head: under the hash, since it says how they are read. */
  schema: z.int().positive(),
  keys: keysSchema,
  events: z.array(z.unknown()).readonly(),
  head: z.unknown(),
});

/** A body as it is written; events and head are the machine's. */
export type CommitBody = z.infer<typeof bodySchema>;

/** The hash of a commit with that body after the one with that hash. */
export function commitHash(previousHash: string, body: string, hashKey?: Uint8Array): string {
  const text = `${previousHash}\n${body}`;
  return hashKey === undefined ? digest(text) : keyedDigest(hashKey, text);
}

/**
 * Checks a commit that comes out of a store against its hash and its own words, and reads its body.
 * Throws `FORMAT_TOO_NEW` or `TAMPERED`.
 */
export function readBody(commit: Commit, schema: number, hashKey?: Uint8Array): CommitBody {
  if (commit.schema > schema) throw tooNew(commit.schema, schema);
  if (commitHash(commit.previousHash, commit.body, hashKey) !== commit.hash) {
    throw tampered(commit, "its hash is not that of its body");
  }
  const parsed = bodySchema.safeParse(parseJson(commit));
  if (!parsed.success) throw tampered(commit, "its body is not one that this library writes");
  const { sessionId, version, at } = parsed.data;
  if (parsed.data.schema !== commit.schema) throw tampered(commit, "its format is not the one that it was written in");
  if (sessionId !== commit.sessionId || version !== commit.version || at !== commit.at) {
    throw tampered(commit, "its body belongs to another place");
  }
  return parsed.data;
}

/** The log of a session is not what was written. */
export function tampered(
  place: { readonly sessionId: SessionId; readonly version: number },
  reason: string,
): PhasegateError<"TAMPERED"> {
  return new PhasegateError(
    "TAMPERED",
    `commit ${place.version} of session ${place.sessionId} was changed: ${reason}`,
    {
      remedy: "Do not go on with this session: restore its log from a backup, or start a new one.",
      details: { sessionId: place.sessionId, version: place.version, reason },
    },
  );
}

/** Checks a payload against the digest that stands in a commit. Throws `TAMPERED`. */
export function checkPayload(
  place: { readonly sessionId: SessionId; readonly version: number },
  hash: string,
  text: string | undefined,
): asserts text is string {
  if (text === undefined) throw tampered(place, "a payload of it is missing");
  if (digest(text) !== hash) throw tampered(place, "a payload of it is not the one that was handed in");
}

function parseJson(commit: Commit): unknown {
  try {
    return JSON.parse(commit.body);
  } catch (cause) {
    throw new PhasegateError("TAMPERED", `commit ${commit.version} of session ${commit.sessionId} is no JSON`, {
      remedy: "Do not go on with this session: restore its log from a backup, or start a new one.",
      details: { sessionId: commit.sessionId, version: commit.version, reason: "its body is no JSON" },
      cause,
    });
  }
}

function tooNew(found: number, supported: number): PhasegateError<"FORMAT_TOO_NEW"> {
  return new PhasegateError("FORMAT_TOO_NEW", `this session was written in format ${found}; ${supported} is known`, {
    remedy: "Update phasegate to the version that wrote it.",
    details: { found, supported },
  });
}
