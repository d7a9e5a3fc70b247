/** The durable adapters that processes contend over: how one opens a place, and where a new one is. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";

/** A server as it is installed: every commit is synced. */
const SERVER = ["unix_socket_directories=", "max_connections=100"];

/** Of a machine that others use too, a disk may stand still for longer than the 5 seconds that a host waits for a lock. */
const PATIENCE = { busyTimeout: 60_000 };

const inFolder = {
  newPlace: () => mkdtemp(join(tmpdir(), "phasegate-bench-")),
  dropPlace: (place) => rm(place, { recursive: true, force: true }),
};

const servers = new Map();
const onServer = {
  newPlace: async () => {
    // Only whoever starts a server needs one: the processes that contend are given its URL.
    const { startPostgres } = await import("../test/support/postgres-server.ts");
    const server = await startPostgres(SERVER);
    servers.set(server.url, server);
    return server.url;
  },
  dropPlace: async (url) => {
    await servers.get(url).remove();
    servers.delete(url);
  },
};

/** One line for each adapter. */
export const ADAPTERS = {
  FileStorage: { ...inFolder, open: (place) => FileStorage.open(place) },
  SqliteStorage: { ...inFolder, open: (place) => SqliteStorage.open(join(place, "sessions.db"), PATIENCE) },
  PostgresStorage: { ...onServer, open: (url) => PostgresStorage.open({ url }) },
};
