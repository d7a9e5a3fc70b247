import type { SessionId } from "../../workflow/names.js";
import { type Asking, withStandby } from "./connections.js";
import { NotReplicated, notWritten } from "./failures.js";
import type { PgClient } from "./options.js";
import { inTransaction } from "./schema.js";
/**
 * Forgets sessions. Their row stays, emptied, so that the id is used up. A tombstone commit stays for an hour, seen by
 * nobody but who watches: else they would not learn that the session was deleted.
 */
export class SessionRemover {
  readonly #asking: Asking;
  readonly #schema: string;

  constructor(asking: Asking, schema: string) {
    this.#asking = asking;
    this.#schema = `"${schema}"`;
  }

  async remove(id: SessionId): Promise<void> {
    await this.#asking.repeatable("remove", async (client) => {
      const removing = () =>
        inTransaction(client, async () => {
          await this.#remove(client, id);
          await this.sweep(client);
        });
      const { waited } = await withStandby(client, removing);
      if (!waited) throw new NotReplicated();
    });
  }

  // Statements of their own: each sees what was committed before it, and so the commit of whoever had the row before.
  async #remove(client: PgClient, id: SessionId): Promise<void> {
    const s = this.#schema;
    const found = await client.query<{ version: string }>({
      text: `SELECT version FROM ${s}.sessions WHERE session_id = $1 AND removed_at IS NULL FOR UPDATE`,
      values: [id],
    });
    const [newest] = found.rows;
    if (newest === undefined) {
      // It may have been removed by a first try that was not answered: a write is answered once a standby has that, too.
      await client.query({ text: `UPDATE ${s}.sessions SET version = version WHERE session_id = $1`, values: [id] });
      return;
    }
    await client.query({
      text: `DELETE FROM ${s}.commits WHERE session_id = $1 AND NOT (version = $2 AND status = 'deleted')`,
      values: [id, newest.version],
    });
    await client.query({ text: `DELETE FROM ${s}.payloads WHERE session_id = $1`, values: [id] });
    // A trigger that keeps rows reports nothing: the session is removed only where they are gone.
    const { rowCount } = await client.query({
      text: `UPDATE ${s}.sessions SET hash = '', status = 'deleted', kind = '', workflow_type = '', target = '',
        current_step = '', removed_at = now(), sweep_at = now() + interval '1 hour' WHERE session_id = $1
        AND NOT EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND NOT (version = $2 AND status = 'deleted'))
        AND NOT EXISTS (SELECT FROM ${s}.payloads WHERE session_id = $1)`,
      values: [id, newest.version],
    });
    if (rowCount !== 1) throw notWritten("remove");
  }

  /** Deletes tombstones that have stayed for their hour. */
  async sweep(client: PgClient): Promise<void> {
    const s = this.#schema;
    // Those that somebody else sweeps at this moment are passed over: two must not wait for each other.
    await client.query({
      text: `WITH due AS (SELECT session_id FROM ${s}.sessions WHERE sweep_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED),
        swept AS (UPDATE ${s}.sessions SET sweep_at = NULL FROM due WHERE sessions.session_id = due.session_id)
        DELETE FROM ${s}.commits USING due WHERE commits.session_id = due.session_id`,
    });
  }
}
