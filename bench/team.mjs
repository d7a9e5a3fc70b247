/**
 * One server for a team, under load: three processes of `phasegate serve --listen` on one PostgreSQL, and MCP clients with
 * sessions of their own, whose gates run verifiers. Every minute one server is killed and started again; its clients come
 * back, and repeat their calls with the same idempotency keys. Bad clients (team-bad.mjs) do their worst meanwhile. At the
 * end the logs are compared with what was acknowledged.
 *
 *   node bench/team.mjs [--clients 200] [--minutes 10] [--servers 3] [--kill-every 60] [--greedy 60] [--think 200]
 *
 * `--greedy` are the seconds of a second part: honest clients with and without a greedy one, which is over its quota. 0
 * leaves it out. Ends with code 1 if anything was lost, done twice or shown to somebody else, if a bad client got what it
 * should not, or none of them is in the log, or if the memory of the server that is never killed has grown.
 */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
// What was built, as the servers run it: the long tests run this file where this folder has no packages of its own.
import { createEngine, MemoryContent } from "../dist/index.js";
import { createToken, tokensText } from "../dist/login.js";
import { PostgresStorage } from "../dist/postgres.js";
import { freePort, startPostgres } from "../test/support/postgres-server.ts";

const BIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const GREEDY = fileURLToPath(new URL("team-greedy.mjs", import.meta.url));
const BAD = fileURLToPath(new URL("team-bad.mjs", import.meta.url));
/** Whose token the bad clients have. */
const BAD_NAME = "mallory";
const TYPE = "team_soak";
const TARGET = "work.md";
const PHASES = 3;
/**
 * How long a server may take to start, and a client to get an answer from any of them, in milliseconds. A client of protocol
 * 2025 is not told that its server was killed: it waits for its own time limit, which is 60 s, at most twice in a row here.
 */
const START_MS = 60_000;
const ANSWER_MS = 180_000;
/** The heap of a server, in MiB: without a limit Node lets it grow as long as the machine has memory to spare. */
const HEAP_MIB = 192;
/** How much more memory a server may use at the end than at the beginning, as a ratio. */
const GROWTH = 1.2;
/** One session in so many is tried by somebody else. */
const FOREIGN_EVERY = 3;

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "200" },
    minutes: { type: "string", default: "10" },
    servers: { type: "string", default: "3" },
    "kill-every": { type: "string", default: "60" },
    greedy: { type: "string", default: "60" },
    think: { type: "string", default: "200" },
  },
});
const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
const wrong = Object.keys(given).find((name) => !(given[name] >= 0));
if (wrong !== undefined) throw new Error(`--${wrong} must be a number`);

/** The workflow: the first and the last gate read a file, the second one runs a process. */
async function writeProject(root) {
  const gate = (verify) =>
    `checkpoint: {strict: true}\nevidence_schema:\n  summary: {type: string}\nverify: ${verify}\n`;
  const file = `{verifier: file_exists, path: ${TARGET}}`;
  const gates = [file, '{verifier: command, argv: [sleep, "0.05"]}', file];
  const phases = gates.map((_, index) => ({ phase_number: index + 1, phase_name: `Phase ${index + 1}` }));
  const metadata = { workflow_type: TYPE, name: "Soak", description: "Work under load", version: "1.0.0", phases };
  await mkdir(join(root, "project"));
  await writeFile(join(root, "project", TARGET), "Work that is done.\n".repeat(10));
  for (const [index, verify] of gates.entries()) {
    const folder = join(root, "workflows", TYPE, "phases", String(index + 1));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "phase.md"), `# Phase ${index + 1}\n\nDo it.\n`);
    await writeFile(join(folder, "gate-definition.yaml"), gate(verify));
  }
  await writeFile(join(root, "workflows", TYPE, "metadata.json"), JSON.stringify(metadata));
}

/** One process of the server, on a port that it keeps when it starts again. */
class Server {
  #child;
  starts = 0;
  /** How many warnings name the bad clients. */
  warnings = 0;

  constructor(root, state, port, flags) {
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.args = [
      ...[
        `--max-old-space-size=${HEAP_MIB}`,
        BIN,
        "serve",
        "--listen",
        `127.0.0.1:${port}`,
        "--state",
        state,
        "--project",
        join(root, "project"),
      ],
      ...["--workflows", join(root, "workflows"), "--tokens", join(root, "tokens.json"), "--allow-command", "sleep"],
      ...["--max-sessions", "0", "--log-level", "warn", ...flags],
    ];
  }

  async start() {
    this.starts += 1;
    const child = spawn(process.execPath, this.args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    this.said = "";
    child.stderr.on("data", (chunk) => {
      this.warnings += String(chunk).split(BAD_NAME).length - 1;
      this.said = `${this.said}${chunk}`.slice(-4000);
    });
    for (const end = Date.now() + START_MS; Date.now() < end; await delay(50)) {
      if (child.exitCode !== null) throw new Error(`a server ended: ${this.said}`);
      // Whoever has no token is refused, which tells that the server listens.
      const answer = await fetch(this.url, { method: "POST" }).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.status === 401) return;
    }
    throw new Error(`a server did not start in ${START_MS / 1000} s: ${this.said}`);
  }

  async end(signal) {
    const ended = once(this.#child, "close");
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill(signal);
      await ended;
    }
  }

  /** What the process uses; nothing while it is down. */
  async uses() {
    try {
      const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
      const files = await readdir(`/proc/${this.#child.pid}/fd`);
      return { mib: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024), files: files.length };
    } catch {
      return undefined;
    }
  }
}

/** What all clients have seen. */
class Findings {
  /** Milliseconds of each call that was answered at once, by its action. */
  times = new Map();
  /** The sessions that were acknowledged: their owner, and the phases that were. */
  sessions = new Map();
  /** The calls that were begun: each may have been carried out, acknowledged or not. */
  starts = new Set();
  faults = [];
  repeated = 0;
  foreign = 0;

  took(action, milliseconds) {
    const times = this.times.get(action) ?? [];
    times.push(milliseconds);
    this.times.set(action, times);
  }

  fault(what) {
    this.faults.push(what);
    console.error(`FAULT ${what}`);
  }
}

/** A client with a token of its own. It changes the server when its own one is gone. */
class Agent {
  #client;
  #at;

  constructor(name, token, urls, index) {
    this.name = name;
    this.token = token;
    this.urls = urls;
    this.home = index;
    this.#at = index;
    this.options = index % 2 === 0 ? { versionNegotiation: { mode: "auto" } } : {};
  }

  async #connected() {
    if (this.#client !== undefined) return this.#client;
    const client = new Client({ name: this.name, version: "1.0.0" }, this.options);
    const url = new URL(this.urls[this.#at % this.urls.length]);
    const requestInit = { headers: { authorization: `Bearer ${this.token}` } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    this.#client = client;
    return client;
  }

  /** Goes back to its own server, if that was down: the others would have all clients in the end. */
  async goHome() {
    if (this.#at === this.home) return;
    await this.leave();
    this.#at = this.home;
  }

  async leave() {
    const client = this.#client;
    this.#client = undefined;
    // The server may be gone.
    await client?.close().catch(() => {});
  }

  /** Calls the tool until it has an answer, from any server. */
  async ask(findings, input) {
    const until = Date.now() + ANSWER_MS;
    for (let tries = 1; ; tries += 1) {
      const begun = performance.now();
      try {
        const client = await this.#connected();
        const { content } = await client.callTool({ name: "pos_workflow", arguments: input });
        const [{ text }] = content;
        const answer = JSON.parse(text.slice(text.indexOf("{")));
        if (answer.code === "BUSY" || answer.code === "STORAGE_FAILED") throw answer;
        if (tries === 1) findings.took(input.action, performance.now() - begun);
        else findings.repeated += 1;
        return answer;
      } catch (error) {
        if (Date.now() > until) throw new Error(`${this.name} got no answer to ${input.action}`, { cause: error });
        await this.leave();
        this.#at += 1;
        await delay(Math.min(50 * tries, 1000));
      }
    }
  }
}

/** Works through sessions until the time is over; every change has a key of its own. */
async function work(agent, findings, isOver) {
  for (let nth = 1; !isOver(); nth += 1) {
    await agent.goHome();
    const key = `${agent.name}-${nth}`;
    findings.starts.add(key);
    const start = { action: "start", workflow_type: TYPE, target_file: TARGET, idempotency_key: key };
    const { session_id: id, ...started } = await agent.ask(findings, start);
    if (typeof id !== "string") return findings.fault(`${agent.name} could not start: ${JSON.stringify(started)}`);
    const acknowledged = { owner: agent.name, phases: 0 };
    if (findings.sessions.has(id)) findings.fault(`${id} was given to two starts`);
    findings.sessions.set(id, acknowledged);
    for (let phase = 1; phase <= PHASES && !isOver(); phase += 1) {
      const evidence = { summary: `${key}, phase ${phase}` };
      const complete = { action: "complete_phase", session_id: id, phase, evidence };
      const answer = await agent.ask(findings, { ...complete, idempotency_key: `${key}-${phase}` });
      if (answer.checkpoint_passed !== true) return findings.fault(`${id} did not pass: ${JSON.stringify(answer)}`);
      acknowledged.phases = phase;
      const state = await agent.ask(findings, { action: "get_state", session_id: id, brief: true });
      if (state.status !== "success") findings.fault(`${id} is not there for its owner: ${JSON.stringify(state)}`);
      await delay(Math.random() * 2 * given.think);
    }
    const again = await agent.ask(findings, start);
    if (again.session_id !== id) findings.fault(`the key ${key} has started ${id} and ${again.session_id}`);
    if (nth % FOREIGN_EVERY === 0) await pry(agent, findings);
  }
}

/** Tries to see the sessions of others. */
async function pry(agent, findings) {
  findings.foreign += 1;
  const others = [...findings.sessions].filter(([, { owner }]) => owner !== agent.name);
  const [id] = others[Math.floor(Math.random() * others.length)] ?? [];
  if (id !== undefined) {
    const seen = await agent.ask(findings, { action: "get_state", session_id: id });
    if (seen.code !== "SESSION_NOT_FOUND") findings.fault(`${agent.name} sees ${id}: ${JSON.stringify(seen)}`);
  }
  const { sessions = [] } = await agent.ask(findings, { action: "list_sessions" });
  for (const { session_id } of sessions) {
    const { owner } = findings.sessions.get(session_id) ?? { owner: agent.name };
    if (owner !== agent.name) findings.fault(`${agent.name} has ${session_id} of ${owner} in its list`);
  }
}

/** Compares the logs with what was acknowledged. */
async function audit(state, findings) {
  const storage = await PostgresStorage.open({ url: state });
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [] }) });
  const [ids, owners] = [new Set(), new Map()];
  for (let cursor; ; ) {
    const page = await storage.list({ kind: "phased", limit: 500, ...(cursor && { cursor }) });
    for (const { sessionId, owner } of page.items) {
      ids.add(sessionId);
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
    }
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  for (const [id, { owner, phases }] of findings.sessions) {
    if (!ids.has(id)) findings.fault(`${id} of ${owner} was acknowledged and is lost`);
    const { intact } = await engine.session(id).audit();
    if (!intact) findings.fault(`the log of ${id} is damaged`);
    const commits = await engine.session(id).commits({ limit: 100 });
    const events = commits.flatMap((commit) => commit.events);
    if (commits[0]?.summary.owner !== owner) findings.fault(`${id} of ${owner} is of ${commits[0]?.summary.owner}`);
    for (let phase = 1; phase <= PHASES; phase += 1) {
      const passed = events.filter((event) => event.type === "gate_passed" && event.phase === phase).length;
      if (passed > 1) findings.fault(`phase ${phase} of ${id} was passed ${passed} times`);
      if (passed === 0 && phase <= phases) findings.fault(`phase ${phase} of ${id} was acknowledged and is lost`);
    }
  }
  // A start that was never answered may have been carried out, once.
  if (ids.size > findings.starts.size) findings.fault(`${findings.starts.size} starts made ${ids.size} sessions`);
  await storage.close();
  return ids.size;
}

function quantiles(times) {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Clients that work while servers are killed; what the servers use at the beginning, in the middle and at the end. */
async function soak(state, agents, servers, badToken) {
  const findings = new Findings();
  const milliseconds = given.minutes * 60_000;
  const end = Date.now() + milliseconds;
  const isOver = () => Date.now() >= end;
  const uses = [];
  const measure = async (when) => {
    const found = await Promise.all(servers.map((server) => server.uses()));
    uses.push(`| ${when} | ${found.map((one) => (one ? `${one.mib} MiB, ${one.files}` : "down")).join(" | ")} |`);
    return found[0]?.mib ?? 0;
  };
  const killing = (async () => {
    // The first one is never killed: what it uses must not grow.
    for (let round = 0; ; round += 1) {
      await delay(Math.min(given["kill-every"] * 1000, Math.max(0, end - Date.now())));
      if (isOver()) return;
      const server = servers[1 + (round % Math.max(1, servers.length - 1))] ?? servers[0];
      await server.end("SIGKILL");
      await delay(1000);
      await server.start();
    }
  })();
  const measuring = (async () => {
    await delay(milliseconds * 0.15);
    const begin = await measure("begin");
    await delay(milliseconds * 0.4);
    await measure("middle");
    await delay(milliseconds * 0.4);
    const end = await measure("end");
    if (end > begin * GROWTH) findings.fault(`the memory of server 1 has grown from ${begin} to ${end} MiB`);
  })();
  const bad = fork(BAD, [badToken, ...servers.map(({ url }) => url)]);
  const crashed = once(bad, "exit").then(([code]) => {
    throw new Error(`the bad clients ended with code ${code} and have told nothing`);
  });
  const told = Promise.race([once(bad, "message"), crashed]);
  const working = agents.map((agent) => work(agent, findings, isOver));
  await Promise.race([Promise.all([killing, measuring, ...working]), told]);
  bad.send("end");
  const [{ outcomes, faults }] = await told;
  for (const fault of faults) findings.fault(`bad clients: ${fault}`);
  if (servers[0].warnings === 0) findings.fault("the log of server 1 has nothing of the bad clients");
  await measure("after");
  for (const agent of agents) await agent.leave();
  const sessions = await audit(state, findings);
  const all = [...findings.times.values()].flat();
  console.log(`\n## A team: ${agents.length} clients, ${given.minutes} minutes, ${servers.length} servers\n`);
  console.log("| action | calls | p50 | p95 | p99 |\n|---|---|---|---|---|");
  for (const [action, times] of [...findings.times, ["all", all]]) {
    const { p50, p95, p99 } = quantiles(times);
    console.log(`| ${action} | ${times.length} | ${p50} ms | ${p95} ms | ${p99} ms |`);
  }
  console.log(`\n| memory, files | ${servers.map((_, index) => `server ${index + 1}`).join(" | ")} |`);
  console.log(`|---|${servers.map(() => "---|").join("")}\n${uses.join("\n")}`);
  console.log("\n| bad clients | outcomes |\n|---|---|");
  for (const [kind, counts] of Object.entries(outcomes)) {
    const text = Object.entries(counts).map(([outcome, count]) => `${outcome}: ${count}`);
    console.log(`| ${kind} | ${text.join(", ")} |`);
  }
  console.log(`\nThe log of server 1 has ${servers[0].warnings} warnings about them.`);
  const kills = servers.reduce((sum, { starts }) => sum + starts - 1, 0);
  console.log(`\n${sessions} sessions, ${kills} kills, ${findings.repeated} calls that were repeated until they were`);
  console.log(`answered, ${findings.foreign} attempts at sessions of others, ${findings.faults.length} faults.`);
  return findings.faults.length;
}

/** How much a greedy client, over its quota, slows honest ones: both ways in turn, since machines change their speed. */
async function greed(root, state, tokens) {
  const seconds = Math.max(2, given.greedy / 6);
  const server = new Server(root, state, await freePort(), ["--quota", "calls=600"]);
  await server.start();
  const honest = tokens.slice(1, 6).map(([name, token], index) => new Agent(name, token, [server.url], index));
  const times = { alone: [], beside: [] };
  let refused = 0;
  for (let round = 0; round < 6; round += 1) {
    const isGreedy = round % 2 === 1;
    const greedy = isGreedy ? fork(GREEDY, [server.url, tokens[0][1]]) : undefined;
    // From when it is over its quota.
    if (greedy !== undefined) await once(greedy, "message");
    const findings = new Findings();
    const end = Date.now() + seconds * 1000;
    const one = async (agent) => {
      while (Date.now() < end) {
        await agent.ask(findings, { action: "list_sessions", limit: 5 });
        await delay(150);
      }
    };
    await Promise.all(honest.map(one));
    times[isGreedy ? "beside" : "alone"].push(...[...findings.times.values()].flat());
    if (greedy === undefined) continue;
    greedy.send("end");
    const [counts] = await once(greedy, "message");
    refused += counts.refused;
    await once(greedy, "exit");
  }
  for (const agent of honest) await agent.leave();
  await server.end("SIGTERM");
  const [alone, beside] = [quantiles(times.alone), quantiles(times.beside)];
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const ratio = mean(times.beside) / mean(times.alone);
  console.log("\n| honest clients | p50 | p95 | mean |\n|---|---|---|---|");
  console.log(`| alone | ${alone.p50} ms | ${alone.p95} ms | ${mean(times.alone).toFixed(1)} ms |`);
  console.log(
    `| beside a greedy one, refused ${refused} times | ${beside.p50} ms | ${beside.p95} ms | ${mean(times.beside).toFixed(1)} ms |`,
  );
  console.log(`\nThe greedy client makes calls of the others ${ratio.toFixed(2)} times as long.`);
}

const root = await mkdtemp(join(tmpdir(), "phasegate-team-"));
const postgres = await startPostgres(["max_connections=150", "shared_buffers=128MB", "unix_socket_directories="]);
const servers = [];
let faults = 1;
try {
  await writeProject(root);
  const agentNames = Array.from({ length: Math.max(6, given.clients) }, (_, index) => `agent-${index + 1}`);
  const names = [...agentNames, BAD_NAME];
  const made = names.map((name) => createToken({ name, roles: ["agent"] }));
  const tokens = made.map(({ token }, index) => [names[index], token]);
  await writeFile(join(root, "tokens.json"), tokensText(made.map(({ entry }) => entry)), { mode: 0o600 });
  for (let index = 0; index < given.servers; index += 1) {
    servers.push(new Server(root, postgres.url, await freePort(), []));
    await servers.at(-1).start();
  }
  const urls = servers.map(({ url }) => url);
  const agents = tokens.slice(0, given.clients).map(([name, token], index) => new Agent(name, token, urls, index));
  console.log(`${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)} before it`);
  faults = given.minutes === 0 ? 0 : await soak(postgres.url, agents, servers, tokens.at(-1)[1]);
  for (const server of servers) await server.end("SIGTERM");
  if (given.greedy > 0) await greed(root, postgres.url, tokens);
} finally {
  for (const server of servers) await server.end("SIGKILL");
  await postgres.remove();
  await rm(root, { recursive: true, force: true });
}
process.exitCode = faults === 0 ? 0 : 1;
