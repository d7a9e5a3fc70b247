/** Writes sessions into PostgreSQL by SQL, as an engine writes them: each commit has its hash. */
import { FIRST, OLD_TARGET, OLD_TIME, templates } from "./among.mjs";

/** All are made in four years. */
export const SPAN = 4 * 365 * 86_400_000;
export const apartOf = (count) => Math.floor(SPAN / count);
/** Of ten sessions two are completed, one is live, the others are paused. */
const KINDS = { whole: "i % 5 = 0", active: "i % 10 = 1", paused: "i % 5 <> 0 AND i % 10 <> 1" };
/** So many sessions are written in a transaction. */
const BATCH = 20_000;

const FUNCTIONS = `
  CREATE FUNCTION pg_temp.own(given text, old_id text, id text, i bigint, at text) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT replace(replace(replace(given, old_id, id), '${OLD_TARGET}', 'src/' || i || '.ts'), '${OLD_TIME}', at) $$;
  CREATE FUNCTION pg_temp.hashed(previous text, body text) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT encode(sha256(convert_to(previous || E'\\n' || body, 'UTF8')), 'hex') $$`;

/** The statement that writes the sessions of a kind from number $1 to $2, which were made $3 milliseconds apart. */
function statement(schema, { sessionId, commits }, condition) {
  const values = [sessionId];
  const text = (given) => `pg_temp.own($${values.push(given) + 4}, $4, id, i, at)`;
  const chain = commits.map(({ body }, index) => {
    const previous = index === 0 ? "''" : `hash_${index}`;
    const version = index + 1;
    return `LATERAL (SELECT ${text(body)} AS body_${version}) b${version},
      LATERAL (SELECT pg_temp.hashed(${previous}, body_${version}) AS hash_${version}, ${previous} AS previous_${version}) h${version}`;
  });
  const log = commits.map(({ version, schema: number, summary }) => {
    return `SELECT id, ${version}, at, ${number}, previous_${version}, hash_${version}, ${text(JSON.stringify(summary))},
      body_${version}, '${summary.status}', '${summary.current}' FROM made`;
  });
  const { summary, version } = commits.at(-1);
  return {
    values,
    text: `WITH made AS MATERIALIZED (SELECT * FROM (SELECT i, left($4, -8) || lpad(to_hex(i), 8, '0') AS id,
        to_char(to_timestamp(($5::bigint + i * $3::bigint) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
        FROM generate_series($1::bigint, $2::bigint) i WHERE ${condition}) numbers, ${chain.join(", ")}),
      session AS (INSERT INTO ${schema}.sessions (session_id, version, hash, status, kind, workflow_type, target, current_step,
          created_at, updated_at, completed_at)
        SELECT id, ${version}, hash_${version}, '${summary.status}', '${summary.kind}', '${summary.workflowType}',
          'src/' || i || '.ts', '${summary.current}', at, at, ${summary.status === "completed" ? "at" : "NULL"} FROM made)
      INSERT INTO ${schema}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
        ${log.join(" UNION ALL ")}`,
  };
}

/** Writes so many sessions on two connections. */
export async function load(pool, schema, count) {
  const made = await templates();
  let next = 0;
  const lane = async () => {
    const client = await pool.connect();
    await client.query(FUNCTIONS);
    for (let from = next; from < count; from = next) {
      next += BATCH;
      for (const [kind, condition] of Object.entries(KINDS)) {
        const { text, values } = statement(schema, made[kind], condition);
        const [id, ...texts] = values;
        const to = Math.min(from + BATCH, count) - 1;
        await client.query(text, [from, to, apartOf(count), id, FIRST, ...texts]);
      }
      if (from % 500_000 === 0) console.error(new Date().toISOString(), schema, from);
    }
    client.release(true);
  };
  await Promise.all([lane(), lane()]);
}
