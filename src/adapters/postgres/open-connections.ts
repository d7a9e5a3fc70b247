import { ClientConnections } from "./client-connections.js";
import type { Connections } from "./connections.js";
import { loadPg } from "./load-pg.js";
import { unusable } from "./pg-failure.js";
import { PoolConnections } from "./pool-connections.js";
import type { PostgresPlace, PostgresSettings } from "./postgres-options.js";

/** How much longer than a statement may take its answer may be on the way. */
const ANSWER_GRACE_MS = 5000;

/** Connections to where the options say. Nothing is connected yet. */
export async function openConnections(place: PostgresPlace, settings: PostgresSettings): Promise<Connections> {
  if (place.client !== undefined) return new ClientConnections(place.client);
  if (place.pool !== undefined) return new PoolConnections(place.pool);
  const { Pool } = await loadPg();
  const pool = new Pool(poolOptions(checkUrl(place.url), settings));
  return new PoolConnections(pool, () => pool.end());
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

/** What the driver says of a URL that it can't read may hold the URL, and so the password: it is said here, without. */
function checkUrl(url: unknown): string {
  if (typeof url === "string" && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url;
  throw unusable("the url is not one of PostgreSQL's", "Give it as postgres://user:password@host:5432/database.");
}
