/**
 * Removes sessions. The emptied row stays, so that the id remains reserved. A tombstone commit stays for an hour,
 * visible to watches only, so that they learn of the deletion.
 */
import type { SessionId } from "../../workflow/names.js";
import { type Retrier, withStandby } from "./connections.js";
import { NotReplicated, notWritten } from "./failures.js";
import type { PgClient } from "./options.js";
import { inTransaction } from "./schema.js";
/** Removes sessions and sweeps old tombstones. */
export class SessionRemover {
  readonly #retrier: Retrier;
  readonly #schema: string;

  constructor(retrier: Retrier, schema: string) {
    this.#retrier = retrier;
    this.#schema = `"${schema}"`;
  }

  async remove(id: SessionId): Promise<void> {
    await this.#retrier.repeatable("remove", async (client) => {
      const removing = () =>
        inTransaction(client, async () => {
          await this.#remove(client, id);
          await this.sweep(client);
        });
      const { waited } = await withStandby(client, removing);
      if (!waited) throw new NotReplicated();
    });
  }

  // Separate statements: each sees everything committed before it, including the commit of the row's previous lock holder.
  async #remove(client: PgClient, id: SessionId): Promise<void> {
    const s = this.#schema;
    const found = await client.query<{ version: string }>({
      text: `SELECT version FROM ${s}.sessions WHERE session_id = $1 AND removed_at IS NULL FOR UPDATE`,
      values: [id],
    });
    const [newest] = found.rows;
    if (newest === undefined) {
      // A first attempt without an answer may have removed it. This write is acknowledged once a standby has that too.
      await client.query({ text: `UPDATE ${s}.sessions SET version = version WHERE session_id = $1`, values: [id] });
      return;
    }
    await client.query({
      text: `DELETE FROM ${s}.commits WHERE session_id = $1 AND NOT (version = $2 AND status = 'deleted')`,
      values: [id, newest.version],
    });
    await client.query({ text: `DELETE FROM ${s}.payloads WHERE session_id = $1`, values: [id] });
    // A trigger may keep rows silently, so the session is marked as removed only if they are gone.
    const { rowCount } = await client.query({
      text: `UPDATE ${s}.sessions SET hash = '', status = 'deleted', kind = '', workflow_type = '', target = '',
        current_step = '', removed_at = now(), sweep_at = now() + interval '1 hour' WHERE session_id = $1
        AND NOT EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND NOT (version = $2 AND status = 'deleted'))
        AND NOT EXISTS (SELECT FROM ${s}.payloads WHERE session_id = $1)`,
      values: [id, newest.version],
    });
    if (rowCount !== 1) throw notWritten("remove");
  }

  /** Deletes tombstones older than an hour. */
  async sweep(client: PgClient): Promise<void> {
    const s = this.#schema;
    // SKIP LOCKED: concurrent sweeps must not wait for each other.
    await client.query({
      text: `WITH due AS (SELECT session_id FROM ${s}.sessions WHERE sweep_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED),
        swept AS (UPDATE ${s}.sessions SET sweep_at = NULL FROM due WHERE sessions.session_id = due.session_id)
        DELETE FROM ${s}.commits USING due WHERE commits.session_id = due.session_id`,
    });
  }
}
