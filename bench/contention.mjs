/** Processes that work on the same sessions at once, on each adapter: how much they get done, and how often they meet. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryContent } from "phasegate";
import { ADAPTERS } from "./adapters.mjs";
import { refusingWorkflow } from "./contention-workflow.mjs";
import { ratio, time } from "./measure.mjs";

const PROCESSES = 8;
const TRANSITIONS = 500;
const SESSIONS = [1, 100];
/** The sessions of each process that has its own, and its transitions: with 500, most of the time is the compiler's. */
const OWN = 100;
const OWN_TRANSITIONS = 5000;

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

/** Has workers make transitions, each on its sessions, and gives how many a second they made, with conflicts and the longest. */
async function race(name, place, whose, sessions, transitions) {
  const workers = sessions.map((ids) => startWorker([name, place, String(transitions), whose, ...ids]));
  await Promise.all(workers.map(({ ready }) => ready));
  const begun = performance.now();
  for (const { child } of workers) child.stdin.end();
  const results = await Promise.all(workers.map(({ ended }) => ended));
  const seconds = (performance.now() - begun) / 1000;
  const total = sessions.length * transitions;
  return {
    perSecond: total / seconds,
    conflicts: results.reduce((sum, one) => sum + one.conflicts, 0) / total,
    refused: results.reduce((sum, one) => sum + one.refused, 0),
    longest: Math.max(...results.map((one) => one.longest)),
  };
}

async function inNewPlace(name, work) {
  const adapter = ADAPTERS[name];
  const place = await adapter.newPlace();
  const found = await work(adapter, place);
  await adapter.dropPlace(place);
  return found;
}

/** All processes on the same sessions. */
function onShared(name, count) {
  return inNewPlace(name, async (adapter, place) => {
    const ids = await startSessions(adapter, place, count);
    const sessions = Array(PROCESSES).fill(ids);
    const { perSecond, conflicts, refused, longest } = await race(name, place, "shared", sessions, TRANSITIONS);
    return `| ${name} | ${count} | ${Math.round(perSecond)} | ${conflicts.toFixed(2)} | ${refused} | ${time(longest * 1000)} |`;
  });
}

/** Each process on a hundred sessions of its own at the same time, against one process alone. */
function onOwn(name) {
  return inNewPlace(name, async (adapter, place) => {
    const ids = await startSessions(adapter, place, PROCESSES * OWN);
    const shares = Array.from({ length: PROCESSES }, (_, index) => ids.slice(index * OWN, (index + 1) * OWN));
    const alone = await race(name, place, "own", shares.slice(0, 1), OWN_TRANSITIONS);
    const all = await race(name, place, "own", shares, OWN_TRANSITIONS);
    const figures = [alone.perSecond, all.perSecond].map(Math.round);
    return `| ${name} | ${figures.join(" | ")} | ${ratio(alone.perSecond, all.perSecond)} | ${time(all.longest * 1000)} |`;
  });
}

/** The section of the results. */
export async function section() {
  const shared = [];
  for (const name of Object.keys(ADAPTERS)) for (const count of SESSIONS) shared.push(await onShared(name, count));
  const own = [];
  for (const name of Object.keys(ADAPTERS)) own.push(await onOwn(name));
  return `## Contention

${PROCESSES} processes, ${TRANSITIONS} transitions each, all on the same sessions, through the engine, with 1 KiB of evidence each. A conflict
is a commit that came second and was decided anew. After 400 of them the caller is refused, and calls again; "refused"
counts these. MemoryStorage belongs to one process, and has no line.

| adapter | sessions | transitions a second | conflicts per transition | refused | longest transition |
|---|---|---|---|---|---|
${shared.join("\n")}

Each process on ${OWN} sessions of its own, all at the same time, ${OWN_TRANSITIONS} transitions a process: one process alone, and
${PROCESSES} processes together.

| adapter | one process, transitions a second | ${PROCESSES} processes, transitions a second | ratio (bar 1) | longest transition |
|---|---|---|---|---|
${own.join("\n")}
`;
}
