import { ClientConnections, type Connections, loadPg, PoolConnections } from "./connections.js";
import { WrongRole } from "./failures.js";
import { HostConnections, readHostList, type WantedRole } from "./hosts.js";
import type { PgClient, PostgresPlace, PostgresSettings } from "./options.js";

/** How much longer than a statement may take its answer may be on the way. */
const ANSWER_GRACE_MS = 5000;

/** Connections to where the options say. Nothing is connected yet. */
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
    // The second one is for a server that doesn't answer at all, as behind a network that is cut.
    ...(statementTimeoutMs === 0
      ? {}
      : { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + ANSWER_GRACE_MS }),
  };
}

/** How the pool checks a new connection before it lends it: a server can have become another one's standby. */
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
