import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { howOften } from "../support/how-often.js";
import { mutated, PIECES } from "./mutated.js";
import { READERS, type Reader } from "./readers.js";

/** How long all readers together are tried, in minutes; 0 for a number of texts instead. */
const MINUTES = Number(process.env.PHASEGATE_FUZZ_MINUTES ?? howOften(0, 10));

type Read = Awaited<ReturnType<Reader["open"]>>;

/**
 * Reads a text, and returns what came of it, and the milliseconds that the process has spent, whatever else the machine
 * does meanwhile. Throws if it took more than a second for each 100 kB, and one to begin with.
 */
async function timely(read: Read, text: string): Promise<{ readonly found: string; readonly spent: number }> {
  const before = process.cpuUsage();
  const found = await read(text);
  const { user, system } = process.cpuUsage(before);
  const spent = (user + system) / 1000;
  if (spent > 1000 + text.length / 100) throw new Error(`${text.length} characters took ${spent.toFixed(0)} ms`);
  return { found, spent };
}

describe("changed at random, a text is read or refused with a known code, in time:", () => {
  it.each(READERS.map((reader) => [reader.name, reader] as const))("%s", async (_, reader) => {
    const seeds = await reader.seeds();
    const read = await reader.open();
    // What is loaded with the first text does not count.
    const found = await Promise.all(seeds.map(read));
    expect(found).toContain(reader.good ?? "read");
    const time = { interruptAfterTimeLimit: (MINUTES * 60_000) / READERS.length, markInterruptAsFailure: false };
    const limit = MINUTES === 0 ? { numRuns: reader.runs } : { numRuns: Number.MAX_SAFE_INTEGER, ...time };
    let texts = 0;
    await fc.assert(
      fc.asyncProperty(mutated(seeds, reader.tokens), async (text) => {
        texts += 1;
        await timely(read, text);
      }),
      limit,
    );
    if (MINUTES > 0) console.info(`${reader.name}: ${texts} texts`);
  });
});

/** The times of one run differ: it is only measured where nothing else runs. */
const REASON = MINUTES === 0 ? " (only in npm run fuzz and test:long)" : "";

describe.skipIf(REASON !== "")(`a text that is twice as long takes twice as long to read${REASON}:`, () => {
  const SIZE = 25_000;
  /** Shorter times say nothing. */
  const LEAST_MS = 100;
  /** Four times the text may take this many times as long. */
  const FACTOR_MAX = 7;

  it.each(READERS.map((reader) => [reader.name, reader] as const))("%s", async (_, reader) => {
    const seeds = await reader.seeds();
    const read = await reader.open();
    await Promise.all(seeds.map(read));
    const repeated = (text: string) => (size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
    const nested = (open: string, close: string) => (size: number) => {
      const depth = Math.floor(size / (open.length + close.length));
      return open.repeat(depth) + close.repeat(depth);
    };
    const inside = (piece: string) => (size: number) => {
      const [seed = ""] = seeds;
      const at = Math.floor(seed.length / 2);
      return seed.slice(0, at) + repeated(piece)(size) + seed.slice(at);
    };
    const pieces = [...PIECES, ...reader.tokens];
    const shapes = [
      ...seeds.map(repeated),
      ...pieces.flatMap((piece) => [repeated(piece), repeated(`${piece}\n`), inside(piece), inside(`${piece}\n`)]),
      ...["[]", "{}", "()", "**", "``", "<>"].map(([open = "", close = ""]) => nested(open, close)),
    ];
    const slow: string[] = [];
    for (const shape of shapes) {
      const large = await timely(read, shape(4 * SIZE));
      if (large.spent < LEAST_MS) continue;
      // The smaller of two times has the least of what else the process did.
      const spent = async (size: number) =>
        Math.min((await timely(read, shape(size))).spent, (await timely(read, shape(size))).spent);
      const factor = Math.min(large.spent, await spent(4 * SIZE)) / (await spent(SIZE));
      if (factor > FACTOR_MAX) slow.push(`${factor.toFixed(1)} times: ${JSON.stringify(shape(60))}`);
    }
    expect(slow).toEqual([]);
  });
});
