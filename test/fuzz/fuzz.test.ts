import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grows } from "../package/growth.js";
import { howOften } from "../support/how-often.js";
import { mutated } from "./mutated.js";
import { READERS, type Reader } from "./readers.js";

/** A text is read to its end within this time, whatever else the machine does. */
const END_MS = 60_000;
/** Of so many texts, one is read at several lengths. */
const GROWN_EVERY = 8;
/** How long all readers together are tried, in minutes. */
const MINUTES = Number(process.env.PHASEGATE_FUZZ_MINUTES ?? howOften(1, 10));

type Read = Awaited<ReturnType<Reader["open"]>>;

/**
 * Reads a text. Throws if that took the process more than a second for each 100 kB, and one to begin with, whatever else
 * the machine does meanwhile.
 */
async function timely(read: Read, text: string): Promise<void> {
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  const spent = (user + system) / 1000;
  if (spent > 1000 + text.length / 100) throw new Error(`${text.length} characters took ${spent.toFixed(0)} ms`);
}

/**
 * Reads a text over and over as one text of 1 kB, 4 kB and more. Throws if its time grows faster than its length. Texts made
 * for that are in test/package/linear-reading.test.ts.
 */
async function linear(read: Read, text: string): Promise<void> {
  const make = (size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const slow = await grows({ name: "", words: [], read }, { name: "", make });
  if (slow !== undefined) throw new Error(`repeated, it takes ${slow}`);
}

describe("changed at random, a text is read or refused with a known code, in time:", () => {
  it.each(READERS.map((reader) => [reader.name, reader] as const))("%s", async (_, reader) => {
    const seeds = await reader.seeds();
    const read = await reader.open();
    // What is loaded with the first text does not count.
    const found = await Promise.all(seeds.map(read));
    expect(found).toContain(reader.good ?? "read");
    const interruptAfterTimeLimit = (MINUTES * 60_000) / READERS.length;
    let texts = 0;
    let last = { text: "", reading: Promise.resolve() };
    await fc.assert(
      fc.asyncProperty(mutated(seeds, reader.tokens), async (text) => {
        texts += 1;
        const isGrown = texts % GROWN_EVERY === 0 && text !== "";
        last = { text, reading: timely(read, text).then(() => (isGrown ? linear(read, text) : undefined)) };
        await last.reading;
      }),
      { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit, markInterruptAsFailure: false },
    );
    // The time limit passes while a text is read. If that never ends, the limit only seems to have passed.
    const timer = new AbortController();
    const tooLong = delay(END_MS, undefined, { signal: timer.signal }).then(() =>
      expect.unreachable(`not read to its end: ${JSON.stringify(last.text)}`),
    );
    try {
      await Promise.race([last.reading, tooLong]);
    } finally {
      timer.abort();
      await tooLong.catch(() => {});
    }
    expect(texts).toBeGreaterThan(0);
    if (MINUTES > 1) console.info(`${reader.name}: ${texts} texts`);
  });
});
