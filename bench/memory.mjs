/** The heap that 100 active sessions in memory take, and further figures with a limit. */
import { median, row, time } from "./measure.mjs";
import { benchTool, completePhase, evidenceOf, startSession } from "./workflow.mjs";

/** Bytes of heap in use when everything that can go is gone. */
function heap() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(2)} MB`;

async function sessionsHeap(count, phasesDone) {
  const host = benchTool(8);
  await startSession(host);
  const before = heap();
  const ids = [];
  for (let index = 0; index < count; index += 1) {
    const sessionId = await startSession(host);
    ids.push(sessionId);
    for (let phase = 1; phase <= phasesDone; phase += 1) await completePhase(host, sessionId, phase, evidenceOf(1024));
  }
  const used = heap() - before;
  if (ids.length !== count) throw new Error("sessions are missing");
  return used;
}

async function timed(rounds, work) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const begun = performance.now();
    await work(round);
    times.push((performance.now() - begun) * 1000);
  }
  return median(times);
}

export async function run() {
  const hundred = await sessionsHeap(100, 3);
  const fifty = await sessionsHeap(50, 1);
  const host = benchTool(8);
  const cold = await timed(1, () => benchTool(8).tool.dispatch({ action: "list_workflows" }));
  const cached = await timed(200, () => host.tool.dispatch({ action: "list_workflows" }));
  const start = await timed(200, () => startSession(host));
  const ids = [];
  for (let index = 0; index < 9; index += 1) ids.push(await startSession(host));
  const large = evidenceOf(8 * 1024 * 1024);
  const eight = await timed(9, (round) => completePhase(host, ids[round], 1, large));
  return [
    row(
      "heap of 100 active sessions in memory, 3 phases done each",
      megabytes(hundred),
      "bar 20 MB",
      hundred / 20 / 1024 / 1024,
      1,
    ),
    row("heap of 50 sessions, 1 phase done each", megabytes(fifty), "limit 50 MB", fifty / 50 / 1024 / 1024, 1),
    row("list_workflows, cold", time(cold), "limit 100 ms", cold / 100_000, 1),
    row("list_workflows, cached", time(cached), "limit 10 ms", cached / 10_000, 1),
    row("start", time(start), "limit 500 ms", start / 500_000, 1),
    row("complete_phase with 8 MB of evidence", time(eight), "limit 2 s", eight / 2_000_000, 1),
  ].map((entry) => ({ ...entry, ratio: Number(entry.ratio.toFixed(4)) }));
}
