/**
 * The log in partitions, by a hash of the session's id: a session's commits are in one of them. So an index that is rebuilt, a
 * vacuum, and what a backup reads at a time is a sixteenth of the whole, and several may run at once. Calls are no faster for it.
 *
 * A table can't be divided where it stands. So commits are copied to a new one, a few thousand in a transaction, while hosts go on:
 * a trigger carries over each commit that is written or removed meanwhile. At the end the new table takes the name of the old one,
 * which needs a lock for a moment. Its columns are the same, so hosts of the version before go on, too.
 */
import { notWritten, unusable } from "./failures.js";
import { type PgClient, patient } from "./options.js";
import { viewsOf } from "./views.js";

const PARTITIONS = 16;
const COLUMNS =
  "session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step, entry_id, xid";
/** So many commits are copied in a transaction. */
const BATCH = 5000;
/** The name of a role in an entry `acl` of rights. */
const GRANTEE = "CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS grantee";

/**
 * Refuses to divide a log to which somebody has added what must not be lost silently: a policy would hide rows from the copy, and
 * then no longer from others. A view of theirs would keep the old table. Throws `STORAGE_FAILED` with the names.
 */
export async function checkDivisible(client: PgClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ found: string }>({
    text: `WITH log AS (SELECT oid, relnamespace, relrowsecurity FROM pg_class WHERE oid = '"${schema}".commits'::regclass),
      views AS (SELECT c.oid, relname, reloptions FROM pg_class c JOIN log USING (relnamespace)
        WHERE relname IN ('workflow_instances', 'workflow_history'))
      SELECT 'its row-level security' AS found FROM log WHERE relrowsecurity
      UNION SELECT 'options of view ' || relname FROM views WHERE reloptions IS NOT NULL
      UNION SELECT pg_describe_object('pg_trigger'::regclass, t.oid, 0) FROM log JOIN pg_trigger t ON t.tgrelid = log.oid
        WHERE NOT t.tgisinternal AND t.tgname <> 'follow'
      UNION SELECT pg_describe_object(d.classid, d.objid, 0) FROM log
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = log.oid AND d.deptype = 'n'
        LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
        WHERE r.ev_class IS NULL OR r.ev_class NOT IN (SELECT oid FROM views)`,
  });
  if (rows.length === 0) return;
  throw unusable(
    `the table ${schema}.commits can't be divided, because of ${rows.map(({ found }) => found).join(", ")}`,
    "Take that away, open the storage, then make it again.",
  );
}

/**
 * The statements that make the table in partitions, and the trigger that keeps it up to date; `s` is the quoted schema.
 *
 * A partitioned table has identity columns from PostgreSQL 17 on. Hosts have rights on tables only, so everybody who may use the
 * schema may use the sequence. The trigger has its owner's rights for the same reason. It fires for replicated rows,
 * too, and writes over a row that was copied while it was edited. All belongs to the owner of the log: a host of that role may go on
 * where an administrator began.
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
CREATE TABLE ${s}.commits_copied (session_id text COLLATE "C" PRIMARY KEY, version bigint NOT NULL);
INSERT INTO ${s}.commits_copied VALUES ('', 0);
CREATE FUNCTION ${s}.follow_commits() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $follow$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM ${s}.commits_in_partitions WHERE session_id = OLD.session_id AND version = OLD.version;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO ${s}.commits_in_partitions (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, "NEW.$&")})
      ON CONFLICT (session_id, version) DO UPDATE SET ${COLUMNS.replaceAll(/\w+/g, "$& = excluded.$&")};
  END IF;
  RETURN NULL;
END $follow$;
CREATE TRIGGER follow AFTER INSERT OR UPDATE OR DELETE ON ${s}.commits
  FOR EACH ROW EXECUTE FUNCTION ${s}.follow_commits();
ALTER TABLE ${s}.commits ENABLE ALWAYS TRIGGER follow;
DO $$ DECLARE
  owner text := (SELECT relowner::regrole FROM pg_class WHERE oid = '${s}.commits'::regclass);
  one regclass;
BEGIN
  FOR one IN SELECT relid FROM pg_partition_tree('${s}.commits_in_partitions') UNION SELECT '${s}.commits_copied' LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO %s', one, owner);
  END LOOP;
  EXECUTE format('ALTER FUNCTION ${s}.follow_commits() OWNER TO %s', owner);
END $$;
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
  const [place] = copied.rows;
  if (place === undefined) throw notWritten("open");
  const { rows } = await client.query(
    patient(
      `WITH next AS (SELECT ${COLUMNS} FROM ${s}.commits WHERE (session_id, version) > ($1, $2)
        ORDER BY session_id, version LIMIT ${BATCH} FOR KEY SHARE),
      written AS (INSERT INTO ${s}.commits_in_partitions (${COLUMNS}) SELECT ${COLUMNS} FROM next ON CONFLICT DO NOTHING),
      last AS (SELECT session_id, version FROM next ORDER BY session_id DESC, version DESC LIMIT 1)
      UPDATE ${s}.commits_copied SET session_id = last.session_id, version = last.version FROM last RETURNING 1`,
      [place.session_id, place.version],
    ),
  );
  return rows.length > 0;
}

/**
 * The statements by which the table in partitions takes the place of the other, with its rights and its views. It reads no commits
 * under the lock. The server never analyzes a partitioned table by itself, and an empty one is better not analyzed.
 *
 * Readers of a view lock it before the log. So do these statements: a default that is not there is dropped for the lock alone. Who
 * might read all tables may read the partitions, as dumps do. New tables may come with rights by default, which the log has not.
 */
export function replaceCommits(s: string): string {
  return `
DO $$ BEGIN IF EXISTS (SELECT FROM ${s}.commits) THEN ANALYZE ${s}.commits_in_partitions; END IF; END $$;
ALTER VIEW ${s}.workflow_instances ALTER instance_id DROP DEFAULT;
ALTER VIEW ${s}.workflow_history ALTER instance_id DROP DEFAULT;
LOCK TABLE ${s}.commits IN ACCESS EXCLUSIVE MODE;
SELECT setval('${s}.commits_entries', nextval(pg_get_serial_sequence('${s}.commits', 'entry_id')), false);
DO $$ DECLARE part regclass; one record; BEGIN
  FOR part IN SELECT relid FROM pg_partition_tree('${s}.commits_in_partitions') LOOP
    FOR one IN SELECT DISTINCT ${GRANTEE} FROM pg_class, aclexplode(relacl) acl WHERE oid = part AND acl.grantee <> relowner LOOP
      EXECUTE format('REVOKE ALL ON %s FROM %s', part, one.grantee);
    END LOOP;
  END LOOP;
  FOR one IN
    WITH of_tables AS (SELECT '${s}.commits'::regclass AS old, relid AS new
        FROM pg_partition_tree('${s}.commits_in_partitions')),
      of_all AS (SELECT * FROM of_tables
        UNION ALL SELECT pg_get_serial_sequence('${s}.commits', 'entry_id')::regclass, '${s}.commits_entries'::regclass)
    SELECT new, acl.privilege_type AS what, acl.is_grantable, ${GRANTEE}
      FROM of_all JOIN pg_class ON oid = old, aclexplode(relacl) acl WHERE acl.grantee <> relowner
    UNION ALL SELECT new, format('%s (%I)', acl.privilege_type, attname), acl.is_grantable, ${GRANTEE}
      FROM of_tables JOIN pg_attribute ON attrelid = old, aclexplode(attacl) acl
  LOOP
    EXECUTE format('GRANT %s ON %s TO %s%s', one.what, one.new, one.grantee,
      CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
END $$;
ALTER TABLE ${s}.commits RENAME TO commits_before;
ALTER TABLE ${s}.commits_in_partitions RENAME TO commits;
${viewsOf(s)}
DROP TABLE ${s}.commits_before, ${s}.commits_copied;
DROP FUNCTION ${s}.follow_commits();
`;
}
