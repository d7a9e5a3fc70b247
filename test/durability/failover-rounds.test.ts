import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { PostgresStorage } from "../../src/storage/postgres/storage.js";
import { collect } from "../../src/testing/contract.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { type Acknowledged, checkSession } from "../support/acknowledged.js";
import { countingCommit } from "../support/counting-commit.js";
import { PairedServer, startPooler, withoutDebianPostgres } from "../support/debian-postgres.ts";
import { newSchema, runSql } from "../support/postgres.ts";
import { type Worker, workersOf } from "../support/worker-process.js";
import { relay } from "./relay-workflow.js";

const REASON = withoutDebianPostgres();
const ROUNDS = 20;
const HOSTS = ["h1", "h2", "h3"];
/** The answers that each host gets before a round begins. */
const BETWEEN = 20;
/** How long a primary commits what its standby does not get, before it is killed. */
const HELD_MS = 300;
/** How long a primary lives on next to the promoted one. */
const LIVING_MS = 1000;

const startWorker = workersOf(join(import.meta.dirname, "failover-worker.ts"));
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An answer that a host recorded. */
interface Answer {
  readonly at: number;
  readonly id: string;
  readonly version: number;
  readonly key: string;
}

/** A session's commit that a watch delivered. */
type Watched = Acknowledged;

/** A pair of servers with hosts at work on them. */
interface Cluster {
  readonly folder: string;
  readonly schema: string;
  readonly workers: readonly Worker[];
  primary: PairedServer;
  standby: PairedServer;
}

async function startCluster(pooled: boolean): Promise<Cluster> {
  const folder = join(tmpdir(), newSchema());
  await mkdir(folder);
  await chmod(folder, 0o755);
  const servers = await PairedServer.startPair(join(folder, "servers"));
  cleanups.push(() => Promise.all(servers.map((server) => server.remove())));
  let urls = servers.map(({ url }) => url);
  if (pooled) {
    const poolers = await Promise.all(servers.map((server) => startPooler(server, folder)));
    cleanups.push(() => Promise.all(poolers.map((pooler) => pooler.remove())));
    urls = poolers.map((pooler) => pooler.url);
  }
  const places = urls.map((url) => new URL(url).host).join(",");
  const url = `postgres://postgres@${places}/postgres?target_session_attrs=read-write`;
  const schema = newSchema();
  const [primary, standby] = servers;
  const how = pooled ? "pooled" : "direct";
  const workers = await startWorker.each(HOSTS.map((host) => [url, schema, folder, host, how]));
  cleanups.push(async () => workers.map((worker) => worker.process.kill("SIGKILL")));
  return { folder, schema, workers, primary, standby };
}

async function linesOf(folder: string, file: string): Promise<string[][]> {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" "));
}

async function answersOf({ folder }: Cluster, host: string): Promise<Answer[]> {
  const lines = await linesOf(folder, `${host}.acknowledged`);
  return lines.map(([at, id = "", version, key = ""]) => ({ at: Number(at), id, version: Number(version), key }));
}

async function watchedBy({ folder }: Cluster, host: string): Promise<Watched[]> {
  const lines = await linesOf(folder, `${host}.watched`);
  return lines.map(([id = "", version, hash = ""]) => ({ id, version: Number(version), hash }));
}

/** Waits until each host has got more answers. A host that has ended fails the test with its output. */
async function untilAnswers(cluster: Cluster, more: number): Promise<void> {
  const counts = async () =>
    (await Promise.all(HOSTS.map((host) => answersOf(cluster, host)))).map(({ length }) => length);
  const before = await counts();
  for (;;) {
    for (const worker of cluster.workers) {
      if (worker.process.exitCode !== null) throw new Error(`a host has ended: ${(await worker.ended).errors}`);
    }
    if ((await counts()).every((count, index) => count >= (before[index] ?? 0) + more)) return;
    await delay(100);
  }
}

/**
 * The primary's processes are killed, in half of the rounds the first one before the others; every second time after a moment in which it has sent nothing to its standby, so
 * that it has commits that the standby does not get. Returns the moment from which on no server acknowledges.
 */
async function crash({ primary, standby }: Cluster, round: number): Promise<number> {
  const begun = performance.now();
  if (round % 2 === 1) {
    await primary.holdReplication();
    await delay(HELD_MS);
  }
  await primary.kill(round % 4 < 2 ? "all at once" : "its postmaster");
  await standby.promote();
  return begun;
}

/** Collects the appends that a host of the old primary alone gets acknowledged until it fails. */
function appendTo(url: string, schema: string, id: string) {
  const acknowledged: Acknowledged[] = [];
  const done = (async () => {
    const storage = await PostgresStorage.open({ url, schema, retryMs: 0 });
    let newest: Commit | undefined;
    for (;;) {
      const commit = countingCommit(parseSessionId(id), newest);
      const error = await storage.append(commit).then(ignore, (failed: unknown) => failed);
      if (error !== undefined) break;
      acknowledged.push({ id, version: commit.version, hash: commit.hash });
      newest = commit;
      await delay(10);
    }
    await storage.close();
  })();
  return { acknowledged, done };
}

function ignore(): void {}

/** The ways in which a living primary loses its role, in turn. */
const DEMOTIONS = [
  { readOnly: true, end: "stop" },
  { readOnly: false, end: "stop" },
  { readOnly: false, end: "kill" },
] as const;

/**
 * The primary lives on while the standby is promoted: read-only, or as a server that nobody has told. A host that
 * knows only this server gets nothing acknowledged that the new primary does not have. Returns the moment from which on
 * no server acknowledges.
 */
async function demote({ primary, standby, schema }: Cluster, round: number, stray: Acknowledged[]): Promise<number> {
  const { readOnly, end } = DEMOTIONS[round % DEMOTIONS.length] ?? DEMOTIONS[0];
  const { acknowledged, done } = appendTo(primary.url, schema, `stray_${round}`);
  while (acknowledged.length < 5) await delay(10);
  if (readOnly) await primary.makeReadOnly();
  await standby.promote();
  const begun = performance.now();
  await delay(LIVING_MS);
  await primary[end]();
  await done;
  stray.push(...acknowledged);
  return begun;
}

/** The longest time between two answers of a host, in milliseconds. */
function longestPause(answers: readonly Answer[]): number {
  return answers.reduce((longest, { at }, index) => Math.max(longest, at - (answers[index - 1]?.at ?? at)), 0);
}

/** Returns the keys of a session's commits by version. */
function keysOf(log: readonly Commit[]): Map<string, number[]> {
  const keys = new Map<string, number[]>();
  for (const { version, body } of log) {
    const { events }: { events: { evidence?: { inline?: { marker: string } } }[] } = JSON.parse(body);
    for (const { evidence } of events) {
      const marker = evidence?.inline?.marker;
      if (marker !== undefined) keys.set(marker, [...(keys.get(marker) ?? []), version]);
    }
  }
  return keys;
}

/** Checks what hosts were told and saw against the logs. Returns the number of commits, and of those that were lost. */
async function checkAll(cluster: Cluster, stray: readonly Acknowledged[]) {
  const storage = await PostgresStorage.open({ url: cluster.primary.url, schema: cluster.schema });
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [relay] }) });
  const answers = await Promise.all(HOSTS.map((host) => answersOf(cluster, host)));
  const logs = new Map<string, readonly Commit[]>();
  for (const id of new Set(answers.flat().map((answer) => answer.id))) {
    logs.set(id, await collect(storage.log(parseSessionId(id))));
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
  }
  // Nothing that was acknowledged is lost, and nothing was done twice.
  const keys = new Map([...logs].map(([id, log]) => [id, keysOf(log)]));
  for (const { id, version, key } of answers.flat()) {
    if (version > 1) expect([key, keys.get(id)?.get(key)]).toEqual([key, [version]]);
    else expect(logs.get(id)?.[0]?.summary.target).toBe(key);
  }
  for (const [id, versions] of keys) {
    expect([id, [...versions.values()].filter(({ length }) => length !== 1)]).toEqual([id, []]);
  }
  const columns = "session_id, target = 'warm-up' OR session_id LIKE 'stray%' AS other";
  const made = await runSql(cluster.primary.url, `SELECT ${columns} FROM ${cluster.schema}.sessions`);
  const others = new Set(made.filter(({ other }) => other).map(({ session_id }) => session_id));
  expect(made.length - others.size, "each session was started for an answer").toBe(logs.size);
  const targets = [...logs.values()].map((log) => log[0]?.summary.target);
  expect(new Set(targets).size, "a key has started one session").toBe(targets.length);
  // Each watch has delivered each commit, in order.
  let lost = 0;
  for (const host of HOSTS) lost += await checkWatch(cluster, host, logs, others);
  for (const id of new Set(stray.map((one) => one.id))) await checkSession(storage, id, stray);
  await engine.close();
  return { commits: [...logs.values()].reduce((sum, log) => sum + log.length, 0), lost };
}

/** Returns how many commits were delivered that the new primary does not have: a dying one may show them for a moment. */
async function checkWatch(
  cluster: Cluster,
  host: string,
  logs: ReadonlyMap<string, readonly Commit[]>,
  others: ReadonlySet<unknown>,
): Promise<number> {
  const isComplete = (seen: ReadonlyMap<string, number>) =>
    [...logs].every(([id, { length }]) => seen.get(id) === length);
  const read = async () => {
    const seen = new Map<string, number>();
    let lost = 0;
    for (const { id, version, hash } of await watchedBy(cluster, host)) {
      if (others.has(id)) continue;
      if (hash !== logs.get(id)?.[version - 1]?.hash) {
        lost += 1;
        continue;
      }
      expect(version, `${host} skipped a commit of ${id}, or saw it twice`).toBe((seen.get(id) ?? 0) + 1);
      seen.set(id, version);
    }
    return { seen, lost };
  };
  const until = performance.now() + 20_000;
  let found = await read();
  while (!isComplete(found.seen) && performance.now() < until) {
    await delay(200);
    found = await read();
  }
  for (const [id, { length }] of logs) expect([host, id, found.seen.get(id)]).toEqual([host, id, length]);
  return found.lost;
}

describe.skipIf(REASON !== "").each([
  ["is killed", false, "crash"],
  ["is killed, behind pgbouncer in transaction mode", true, "crash"],
  ["lives on while its standby is promoted", false, "demote"],
] as const)(`three hosts, and a primary that %s ${ROUNDS} times${REASON}`, (title, pooled, how) => {
  it("lose nothing that was acknowledged, do nothing twice, and watch without a gap", {
    timeout: 7_200_000,
  }, async () => {
    const cluster = await startCluster(pooled);
    const stray: Acknowledged[] = [];
    const down: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await untilAnswers(cluster, BETWEEN);
      await delay(Math.random() * 300);
      const begun = how === "crash" ? await crash(cluster, round) : await demote(cluster, round, stray);
      const { primary, standby } = cluster;
      await primary.rejoin(standby, round % 4 === 3 ? "copy" : "rewind");
      down.push(performance.now() - begun);
      [cluster.primary, cluster.standby] = [standby, primary];
    }
    await untilAnswers(cluster, BETWEEN);
    await writeFile(join(cluster.folder, "stop"), "");
    for (const host of HOSTS) while (!existsSync(join(cluster.folder, `${host}.done`))) await untilAnswers(cluster, 0);
    const { commits, lost } = await checkAll(cluster, stray);
    // Only a primary that is killed may show what its standby does not get.
    if (how === "demote") expect(lost).toBe(0);
    await writeFile(join(cluster.folder, "end"), "");
    for (const worker of cluster.workers) {
      const { exitCode, errors } = await worker.ended;
      expect([exitCode, errors]).toEqual([0, ""]);
    }
    const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
    const [median = 0] = down.toSorted((a, b) => a - b).slice(ROUNDS / 2);
    const lines = [
      `A primary that ${title} ${ROUNDS} times: ${commits} commits, and ${stray.length} of hosts that stayed on it`,
      `  without a synchronous standby: median ${seconds(median)}, longest ${seconds(Math.max(...down))}`,
      `  delivered by watches, and lost with the primary: ${lost}`,
    ];
    for (const host of HOSTS) {
      const answers = await answersOf(cluster, host);
      const failed = (await linesOf(cluster.folder, `${host}.failed`)).map(([, ...words]) => words.join(" "));
      const pause = seconds(longestPause(answers));
      lines.push(
        `  ${host}: ${answers.length} answers, longest pause ${pause}, calls repeated: ${failed.length} ${failed}`,
      );
    }
    console.log(lines.join("\n"));
  });
});
