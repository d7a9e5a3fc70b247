/**
 * Texts in parts: a row of a Durable Object has at most 2 MB. The table of payloads has the parts of payloads and of long bodies. Its
 * hash then says which part of what it is: `0/HASH` is the first part of a payload, and `0.7` that of the body of version 7.
 */
import type { Commit } from "../../ports/storage-adapter.js";
import { appendCommit, hasPayload, storePayload } from "../sql/append.js";
import type { LogDatabase, Row } from "../sql/database.js";
import { numberIn, storedText, textIn } from "../sql/rows.js";

/** The length of a part, in UTF-16 units: a unit takes at most three bytes. */
const LENGTH = 500_000;

/** The body in the row of a commit whose body is in parts. No text is stored as these bytes. */
const IN_PARTS = new Uint8Array();

/** Writes a commit with its payloads, in a transaction. Throws `CONFLICT` if it does not follow the newest one. */
export function storeCommitInParts(
  database: LogDatabase,
  { payloads = [], ...commit }: Commit,
  follows: string | undefined,
): void {
  const { version, body } = commit;
  const isLong = body.length > LENGTH;
  const session = appendCommit(database, commit, { follows, body: isLong ? IN_PARTS : storedText(body) });
  if (isLong) storeParts(database, session, `.${version}`, body);
  for (const { hash, body: text } of payloads) storeParts(database, session, `/${hash}`, text);
}

/** Stores nothing if the session has this text. */
function storeParts(database: LogDatabase, session: number, name: string, text: string): void {
  if (hasPayload(database, session, `0${name}`)) return;
  for (let part = 0; part === 0 || part * LENGTH < text.length; part++) {
    const own = text.slice(part * LENGTH, (part + 1) * LENGTH);
    storePayload(database, session, `${part}${name}`, storedText(own));
  }
}

/** Returns a payload; undefined if the session has none with this hash. */
export function payloadInParts(database: LogDatabase, sessionId: string, hash: string): string | undefined {
  return textInParts(database, sessionId, `/${hash}`);
}

/** Returns the body of a commit's row; undefined if its parts are missing, as after its session was removed. */
export function bodyInParts(database: LogDatabase, row: Row): string | undefined {
  const { body } = row;
  if (!(body instanceof Uint8Array && body.length === 0)) return body === null ? undefined : textIn(row, "body");
  return textInParts(database, textIn(row, "session_id"), `.${numberIn(row, "version")}`);
}

function textInParts(database: LogDatabase, sessionId: string, name: string): string | undefined {
  const find = database.prepare(database.sql.payload);
  let text: string | undefined;
  for (let part = 0; ; part++) {
    const row = find.get(sessionId, storedText(`${part}${name}`));
    if (row === undefined) return text;
    text = (text ?? "") + textIn(row, "body");
  }
}
