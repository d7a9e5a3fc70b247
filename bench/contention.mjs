/** Processes that work on the same sessions at once, on each adapter: how much they get done, and how often they meet. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryContent } from "phasegate";
import { ADAPTERS } from "./adapters.mjs";
import { refusingWorkflow } from "./contention-workflow.mjs";
import { time } from "./measure.mjs";

const PROCESSES = 8;
const TRANSITIONS = 500;
const SESSIONS = [1, 100];

async function startSessions(adapter, place, count) {
  const storage = await adapter.open(place);
  const content = new MemoryContent({ workflows: [refusingWorkflow] });
  const engine = createEngine({ storage, content, limits: { maxActiveSessions: Infinity } });
  const ids = [];
  for (let index = 0; index < count; index += 1) {
    ids.push((await engine.start({ workflowType: "refusing", target: `${index}` })).sessionId);
  }
  await engine.close();
  return ids;
}

function startWorker(args) {
  const script = fileURLToPath(new URL("contention-worker.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  const ended = new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output.trim().split("\n").at(-1)));
      else reject(new Error(`a worker ended with ${code}`));
    });
  });
  return { child, ready: once(child.stdout, "data"), ended };
}

async function contend(name, count) {
  const adapter = ADAPTERS[name];
  const place = await adapter.newPlace();
  const ids = await startSessions(adapter, place, count);
  const workers = Array.from({ length: PROCESSES }, () => startWorker([name, place, String(TRANSITIONS), ...ids]));
  await Promise.all(workers.map(({ ready }) => ready));
  const begun = performance.now();
  for (const { child } of workers) child.stdin.end();
  const results = await Promise.all(workers.map(({ ended }) => ended));
  const seconds = (performance.now() - begun) / 1000;
  const conflicts = results.reduce((sum, one) => sum + one.conflicts, 0);
  const longest = Math.max(...results.map((one) => one.longest));
  await adapter.dropPlace(place);
  const total = PROCESSES * TRANSITIONS;
  return `| ${name} | ${count} | ${Math.round(total / seconds)} | ${(conflicts / total).toFixed(2)} | ${time(longest * 1000)} |`;
}

/** The section of the results. */
export async function section() {
  const lines = [];
  for (const name of Object.keys(ADAPTERS)) for (const count of SESSIONS) lines.push(await contend(name, count));
  return `## Contention

${PROCESSES} processes, ${TRANSITIONS} transitions each, all on the same sessions, through the engine, with 1 KiB of evidence each. A conflict
is a commit that came second and was decided anew. MemoryStorage belongs to one process, and has no line.

| adapter | sessions | transitions a second | conflicts per transition | longest transition |
|---|---|---|---|---|
${lines.join("\n")}
`;
}
