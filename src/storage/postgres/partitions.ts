/**
 * The log in partitions, by a hash of the session's id: a session's commits are in one of them. So an index that is rebuilt, a
 * vacuum, and what a backup reads at a time is a sixteenth of the whole, and several may run at once. Calls are no faster for it.
 *
 * A table can't be divided where it stands. So commits are copied to a new one, a few thousand in a transaction, while hosts go on:
 * a trigger carries over each commit that is written or removed meanwhile. At the end the new table takes the name of the old one,
 * which needs a lock for a moment. Its columns are the same, so hosts of the version before go on, too.
 */
import type { PgClient } from "./options.js";
import { viewsOf } from "./views.js";

const PARTITIONS = 16;
const COLUMNS =
  "session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step, entry_id, xid";
/** So many commits are copied in a transaction. */
const BATCH = 5000;

/**
 * The statements that make the table in partitions, and the trigger that keeps it up to date; `s` is the quoted schema.
 *
 * A partitioned table has identity columns from PostgreSQL 17 on. Hosts have rights on tables only, so everybody who may use the
 * schema may use the sequence. The trigger has its owner's rights for the same reason.
 */
export function createPartitions(s: string): string {
  const partitions = Array.from(
    { length: PARTITIONS },
    (_, part) => `
CREATE TABLE ${s}.commits_${String(part).padStart(2, "0")} PARTITION OF ${s}.commits_in_partitions
  FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${part}) WITH (toast_tuple_target = 2712);`,
  );
  return `
CREATE SEQUENCE ${s}.commits_entries;
CREATE TABLE ${s}.commits_in_partitions (
  LIKE ${s}.commits INCLUDING DEFAULTS,
  CONSTRAINT commits_of_session PRIMARY KEY (session_id, version)
) PARTITION BY HASH (session_id);${partitions.join("")}
CREATE INDEX commits_by_xid ON ${s}.commits_in_partitions (xid);
ALTER TABLE ${s}.commits_in_partitions ALTER entry_id SET DEFAULT nextval('${s}.commits_entries');
ALTER SEQUENCE ${s}.commits_entries OWNED BY ${s}.commits_in_partitions.entry_id;
GRANT USAGE ON SEQUENCE ${s}.commits_entries TO PUBLIC;
CREATE TABLE ${s}.commits_copied (session_id text COLLATE "C" NOT NULL, version bigint NOT NULL);
INSERT INTO ${s}.commits_copied VALUES ('', 0);
CREATE FUNCTION ${s}.follow_commits() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $follow$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM ${s}.commits_in_partitions WHERE session_id = OLD.session_id AND version = OLD.version;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO ${s}.commits_in_partitions (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, "NEW.$&")});
  END IF;
  RETURN NULL;
END $follow$;
CREATE TRIGGER follow AFTER INSERT OR UPDATE OR DELETE ON ${s}.commits
  FOR EACH ROW EXECUTE FUNCTION ${s}.follow_commits();
`;
}

/**
 * Copies the next commits. Returns false if there are no more. A commit that is being copied can't be removed until the copy is
 * there for the trigger to remove: that is what the lock on its row is for.
 */
export async function copyCommits(client: PgClient, s: string): Promise<boolean> {
  const copied = await client.query<{ session_id: string; version: string }>({
    text: `SELECT session_id, version FROM ${s}.commits_copied`,
  });
  const { session_id = "", version = "0" } = copied.rows[0] ?? {};
  const { rows } = await client.query({
    text: `WITH next AS (SELECT ${COLUMNS} FROM ${s}.commits WHERE (session_id, version) > ($1, $2)
        ORDER BY session_id, version LIMIT ${BATCH} FOR KEY SHARE),
      written AS (INSERT INTO ${s}.commits_in_partitions (${COLUMNS}) SELECT ${COLUMNS} FROM next ON CONFLICT DO NOTHING),
      last AS (SELECT session_id, version FROM next ORDER BY session_id DESC, version DESC LIMIT 1)
      UPDATE ${s}.commits_copied SET session_id = last.session_id, version = last.version FROM last RETURNING 1`,
    values: [session_id, version],
  });
  return rows.length > 0;
}

/**
 * The statements by which the table in partitions takes the place of the other, with its owner, its rights and its views. It
 * reads no commits under the lock. The server never analyzes a partitioned table by itself, and an empty one is better not analyzed.
 */
export function replaceCommits(s: string): string {
  return `
DO $$ BEGIN IF EXISTS (SELECT FROM ${s}.commits) THEN ANALYZE ${s}.commits_in_partitions; END IF; END $$;
LOCK TABLE ${s}.commits IN ACCESS EXCLUSIVE MODE;
SELECT setval('${s}.commits_entries', nextval(pg_get_serial_sequence('${s}.commits', 'entry_id')), false);
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT acl.privilege_type AS what, acl.is_grantable,
      CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS grantee
    FROM pg_class, aclexplode(relacl) acl WHERE oid = '${s}.commits'::regclass AND acl.grantee <> relowner
  LOOP
    EXECUTE format('GRANT %s ON ${s}.commits_in_partitions TO %s%s', one.what, one.grantee,
      CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
  FOR one IN SELECT tree.relid::regclass AS name, relowner::regrole AS owner
    FROM pg_class, pg_partition_tree('${s}.commits_in_partitions') tree WHERE oid = '${s}.commits'::regclass
  LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO %s', one.name, one.owner);
  END LOOP;
END $$;
ALTER TABLE ${s}.commits RENAME TO commits_before;
ALTER TABLE ${s}.commits_in_partitions RENAME TO commits;
${viewsOf(s)}
DROP TABLE ${s}.commits_before, ${s}.commits_copied;
DROP FUNCTION ${s}.follow_commits();
`;
}
