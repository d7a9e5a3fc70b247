/** Medians of several tasks in one run, and ratios between them: with tinybench, or in batches for calls of microseconds. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Bench } from "tinybench";

/** Does something with each number from one up to another, so many at the same time. */
export async function atOnce(count, from, to, work) {
  let next = from;
  const lane = async () => {
    for (let index = next++; index < to; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: count }, lane));
}

/** Works with a new folder, which is gone afterwards. */
export async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A row of the table. One without a bar only says what is. */
export function row(what, figure, baseline, ratio, bar) {
  return { what, figure, baseline, ratio, bar };
}

/** Runs named tasks in turn and gives the median of each, in microseconds. */
export async function medians(tasks, options = {}) {
  const bench = new Bench({ time: 1000, warmupTime: 300, ...options });
  for (const [name, { fn, beforeEach }] of Object.entries(tasks)) {
    bench.add(name, fn, beforeEach === undefined ? {} : { beforeEach });
  }
  await bench.run();
  return Object.fromEntries(
    bench.tasks.map(({ name, result }) => {
      if (result.state === "errored") throw result.error;
      return [name, result.latency.p50 * 1000];
    }),
  );
}

/**
 * The same in many short rounds in turn: the speed of a disk and of a processor drifts within seconds, so what is
 * compared must be measured at the same time. Gives the median of each task over all rounds, and of its ratio to the
 * first one, round by round.
 */
export async function mediansInTurn(tasks, rounds = 9, options = {}) {
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    found.push(await medians(tasks, { time: 200, warmupTime: 30, ...options }));
  }
  return compared(found);
}

/** The median of each task over all rounds, and of its ratio to the first one, round by round. */
function compared(rounds) {
  const names = Object.keys(rounds[0]);
  const [baseline] = names;
  return Object.fromEntries(
    names.map((name) => {
      const ratios = rounds.map((one) => one[name] / one[baseline]);
      return [name, { median: median(rounds.map((one) => one[name])), ratio: ratio(median(ratios), 1) }];
    }),
  );
}

/** How many calls are timed at once. */
const CALLS = 64;
/** Calls of each task that are not counted. The compiler is still at work for some 15,000 calls of a whole transition. */
const WARM_UP_CALLS = 30_000;

/**
 * The same for calls of microseconds, 64 at a time: a timer around each of them would be a part of what it measures.
 * `prepare` makes what so many calls need, which is not timed. The first calls are for the compiler; they are a number and
 * not a time, since a slow machine needs more time for them. As with all medians here, a batch in which garbage is collected
 * counts like any other.
 */
export async function batchesInTurn(tasks, seconds = 6) {
  const round = async () => {
    const times = {};
    for (const [name, task] of Object.entries(tasks)) times[name] = await timeOfBatch(task);
    return times;
  };
  for (let calls = 0; calls < WARM_UP_CALLS; calls += CALLS) await round();
  const found = [];
  for (const begun = performance.now(); performance.now() - begun < seconds * 1000; ) found.push(await round());
  return compared(found);
}

/** The microseconds of a call, as the mean of a batch. */
async function timeOfBatch({ fn, prepare }) {
  await prepare?.(CALLS);
  const begun = performance.now();
  for (let call = 0; call < CALLS; call += 1) {
    const answer = fn();
    if (answer instanceof Promise) await answer;
  }
  return ((performance.now() - begun) / CALLS) * 1000;
}

/** As `mediansInTurn`, for two tasks: the median of each, and the ratio of the second to the first. */
export async function pairedMedians(tasks, rounds = 9, options = {}) {
  const [[baseline, first], [measured, second]] = Object.entries(await mediansInTurn(tasks, rounds, options));
  return { [baseline]: first.median, [measured]: second.median, ratio: second.ratio };
}

/**
 * Calls tasks that are not measured, so that their code is compiled: first one in memory, if it is given, as often as those that
 * are measured in memory, and then the durable one for some seconds. It waits for the disk most of the time: to call it that
 * often would take half a minute.
 */
export async function warmUp(durable, inMemory = { fn: () => {} }, seconds = 4) {
  for (let calls = 0; calls < WARM_UP_CALLS; calls += 1) await call(inMemory);
  for (const begun = performance.now(); performance.now() - begun < seconds * 1000; ) await call(durable);
}

async function call({ fn, beforeEach }) {
  await beforeEach?.();
  await fn();
}

/** The median of numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Microseconds as people read them. */
export function time(microseconds) {
  if (microseconds >= 1e6) return `${(microseconds / 1e6).toFixed(2)} s`;
  return microseconds >= 1000 ? `${(microseconds / 1000).toFixed(2)} ms` : `${microseconds.toFixed(1)} µs`;
}

/** Bytes as people read them. */
export function size(bytes) {
  return bytes >= 10_000 ? `${(bytes / 1024).toFixed(1)} KiB` : `${Math.round(bytes)} bytes`;
}

/** How many bytes there are in a value: those of its texts, names and byte arrays. */
export function sizeOf(value) {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return value.byteLength;
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + sizeOf(one), 0);
  if (typeof value !== "object" || value === null) return String(value).length;
  return Object.entries(value).reduce((sum, [key, one]) => sum + Buffer.byteLength(key) + sizeOf(one), 0);
}

/** A ratio to two digits. */
export function ratio(measured, baseline) {
  return Number((measured / baseline).toFixed(2));
}
