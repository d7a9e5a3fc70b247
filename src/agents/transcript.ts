/** Finds the session that a client's agent works on in the file with its conversation. Needs Node. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { ListedSession } from "../engine/lists.js";

/** A session is taken for the agent's own without a transcript only if it changed so lately, in milliseconds. */
const LATELY = 60 * 60 * 1000;

/** Returns the session that an agent works on: of these, the last changed first, the first that its conversation names. */
export async function sessionIn(
  transcript: string | undefined,
  sessions: readonly ListedSession[],
): Promise<ListedSession | undefined> {
  if (sessions.length === 0) return undefined;
  const ids = sessions.map(({ sessionId }) => sessionId);
  const named = transcript === undefined ? undefined : await namedIn(transcript, ids);
  if (named !== undefined) return sessions.find(({ sessionId }) => named.has(sessionId));
  return sessions.find(({ updatedAt }) => Date.now() - Date.parse(updatedAt) < LATELY);
}

/** The end of a conversation that is searched, in bytes. */
const TRANSCRIPT_MAX = 32 * 1024 * 1024;

/** Returns those ids that a transcript names; undefined if there is no such file. */
async function namedIn(file: string, ids: readonly string[]): Promise<ReadonlySet<string> | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const named = new Set<string>();
  const longest = Math.max(...ids.map((id) => id.length));
  let rest = "";
  const stream = createReadStream(file, { encoding: "utf8", start: Math.max(0, found.size - TRANSCRIPT_MAX) });
  for await (const chunk of stream) {
    const text = rest + String(chunk);
    for (const id of ids) if (text.includes(id)) named.add(id);
    rest = text.slice(-longest);
  }
  return named;
}
