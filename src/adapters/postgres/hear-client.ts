import type { PgClient, PgNotice } from "./pg-types.js";

/**
 * The function of the server's that waits for standbys. A notice out of it says that the wait was ended from outside
 * (`pg_cancel_backend`): the server then reports the commit as done, though no standby may have it. The notice's text is
 * in the server's language, the function's name is not.
 */
const WAITS_FOR_STANDBY = "SyncRepWaitForLSN";

const heard = new WeakSet<PgClient>();
const unreplicated = new WeakSet<PgClient>();

/**
 * Listens to a connection for as long as it lives. An end of it that nobody listens for would end the process; whoever
 * uses the connection next is told by the failure of the call.
 */
export function hearClient(client: PgClient): void {
  if (heard.has(client)) return;
  heard.add(client);
  client.on("error", ignore);
  client.on("notice", ({ routine }: PgNotice) => {
    if (routine === WAITS_FOR_STANDBY) unreplicated.add(client);
  });
}

/**
 * Runs what writes, and tells whether the server has waited for its standbys, as `synchronous_commit` and
 * `synchronous_standby_names` ask it to. Where it has not, what was written stands on this server, and may be lost with it.
 */
export async function withStandby<T>(
  client: PgClient,
  write: () => Promise<T>,
): Promise<{ readonly result: T; readonly waited: boolean }> {
  unreplicated.delete(client);
  const result = await write();
  return { result, waited: !unreplicated.has(client) };
}

function ignore(): void {}
