/** The memory of `phasegate serve` while 10,000 sessions are started and worked on, against that after the first 5,000. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../test/support/postgres-server.ts";
import { atOnce, ratio, row } from "./measure.mjs";

const SESSIONS = [5000, 10_000];
const AT_ONCE = 4;
const BIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const BAR = 1.2;

const GATE = "evidence_schema:\n  report:\n    type: string\n    required: true\n    description: what was done\n";

async function writeWorkflow(folder) {
  const phases = [1, 2].map((number) => ({ phase_number: number, phase_name: `Phase ${number}`, purpose: "Measure" }));
  const metadata = { workflow_type: "small", version: "1.0.0", name: "Small", description: "To measure with", phases };
  await mkdir(join(folder, "small"), { recursive: true });
  await writeFile(join(folder, "small/metadata.json"), JSON.stringify(metadata));
  for (const number of [1, 2]) {
    const phase = join(folder, "small/phases", String(number));
    await mkdir(phase, { recursive: true });
    await writeFile(join(phase, "phase.md"), `# Phase ${number}\n`);
    await writeFile(join(phase, "gate-definition.yaml"), GATE);
  }
}

/** Bytes of a process that are in memory. */
async function residentOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024;
}

/** Bytes of a process's heap that are in use once garbage is collected: what it keeps. */
async function keptBy(debugPort) {
  const [{ webSocketDebuggerUrl }] = await (await fetch(`http://127.0.0.1:${debugPort}/json/list`)).json();
  const socket = new WebSocket(webSocketDebuggerUrl);
  const heard = (name) => new Promise((resolve) => socket.addEventListener(name, resolve, { once: true }));
  await heard("open");
  const ask = async (method) => {
    socket.send(JSON.stringify({ id: 1, method }));
    return JSON.parse((await heard("message")).data).result;
  };
  await ask("Runtime.getHeapUsage");
  await ask("HeapProfiler.collectGarbage");
  const { usedSize } = await ask("Runtime.getHeapUsage");
  socket.close();
  return usedSize;
}

async function untilServed(url) {
  for (let tries = 0; tries < 200; tries += 1) {
    const answer = await fetch(`${url}/sessions/list_workflows`).catch(() => undefined);
    if (answer?.ok) return;
    await delay(100);
  }
  throw new Error("the server does not answer");
}

/** Starts sessions up to a number of them, completes a phase of each, and reads where it stands. */
async function work(url, from, to) {
  const post = async (action, body) => {
    const answer = await fetch(`${url}/sessions/${action}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${action}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  await atOnce(AT_ONCE, from, to, async (index) => {
    const target = { workflow_type: "small", target_file: `src/file-${index}.ts` };
    const { session_id } = await post("start", target);
    await post("complete_phase", { session_id, phase: 1, evidence: { report: `${index} ${"x".repeat(8000)}` } });
    await (await fetch(`${url}/sessions/get_state?session_id=${session_id}`)).text();
  });
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-serve-"));
  await writeWorkflow(folder);
  const port = await freePort();
  const flags = ["--workflows", folder, "--state", `sqlite:${join(folder, "state.db")}`, "--max-sessions", "0"];
  const debugPort = await freePort();
  const inspect = `--inspect=127.0.0.1:${debugPort}`;
  const server = spawn(process.execPath, [inspect, BIN, "serve", "--http", String(port), ...flags], {
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  const found = [];
  try {
    await untilServed(url);
    let done = 0;
    for (const count of SESSIONS) {
      await work(url, done, count);
      done = count;
      found.push({ kept: await keptBy(debugPort), resident: await residentOf(server.pid) });
    }
  } finally {
    server.kill();
    await once(server, "exit");
    await rm(folder, { recursive: true, force: true });
  }
  const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`;
  const [fewer, more] = SESSIONS.map((count) => count.toLocaleString("en"));
  const memory = (what, of) => {
    const [first, last] = found.map(of);
    return row(what, megabytes(last), `${fewer} sessions ${megabytes(first)}`, ratio(last, first), BAR);
  };
  return [
    memory(`memory of serve with ${more} sessions: the heap in use after a collection`, ({ kept }) => kept),
    memory(`memory of serve with ${more} sessions: the process`, ({ resident }) => resident),
  ];
}
