/** Opens connections as the options say: to a URL, or with the host's pool or client. */
import { ClientConnections, type Connections, loadPg, PoolConnections } from "./connections.js";
import { WrongRole } from "./failures.js";
import { HostConnections, readHostList, type WantedRole } from "./hosts.js";
import type { PgClient, PostgresPlace, PostgresSettings } from "./options.js";

/** How long to wait for an answer beyond the statement timeout. */
const ANSWER_GRACE_MS = 5000;

/** Returns connections for the options. Does not connect yet. */
export async function openConnections(place: PostgresPlace, settings: PostgresSettings): Promise<Connections> {
  if (place.client !== undefined) return new ClientConnections(place.client);
  if (place.pool !== undefined) return new PoolConnections(place.pool);
  const list = readHostList(place.url);
  const { Pool } = await loadPg();
  const open = (url: string, role: WantedRole) => {
    const pool = new Pool({ ...poolOptions(url, settings), ...(role === "any" ? {} : { verify: verifying(role) }) });
    return new PoolConnections(pool, () => pool.end());
  };
  return list === undefined ? open(place.url, "any") : new HostConnections(list, open);
}

function poolOptions(connectionString: string, settings: PostgresSettings) {
  const { statementTimeoutMs } = settings;
  return {
    connectionString,
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    application_name: "phasegate",
    keepAlive: true,
    // The second timeout is for a server that does not answer at all, as after a network failure.
    ...(statementTimeoutMs === 0
      ? {}
      : { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + ANSWER_GRACE_MS }),
  };
}

/** Returns the pool's check of a new connection: the server may have become a standby. */
function verifying(role: Exclude<WantedRole, "any">) {
  return (client: PgClient, done: (error?: Error) => void) => {
    const text = "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only";
    client.query<{ standby: boolean; read_only: boolean }>({ text }).then(({ rows: [server] }) => {
      const { standby = true, read_only = true } = server ?? {};
      const fits = { "read-write": !read_only, "read-only": read_only, primary: !standby, standby }[role];
      done(fits ? undefined : new WrongRole(role));
    }, done);
  };
}
