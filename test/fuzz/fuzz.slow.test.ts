import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grows, SECOND } from "../package/growth.js";
import { howOften } from "../support/how-often.js";
import { mutated } from "./mutated.js";
import { READERS, type Reader } from "./readers.js";

/** A text is read to its end within this time, whatever else the machine does. */
const END_MS = 60_000;
/** Texts up to so many characters are read again with a part that is repeated: longer ones would take most of the time. */
const GROWN_MAX = 4000;
/** How long all readers together are tried, in minutes. */
const MINUTES = Number(process.env.PHASEGATE_FUZZ_MINUTES ?? howOften(0.15, 10));

type Read = Awaited<ReturnType<Reader["open"]>>;

/**
 * Reads a text. Throws if that took the process more than a second for each 100 kB, and more than one, whatever else the
 * machine does meanwhile.
 */
async function timely(read: Read, text: string): Promise<void> {
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  const spent = (user + system) / 1000;
  if (spent > Math.max(1000, text.length / 100))
    throw new Error(`${text.length} characters took ${spent.toFixed(0)} ms`);
}

/** A part of a text, from its beginning (0) to its end (1). */
interface Part {
  readonly at: number;
  readonly length: number;
}

/**
 * Reads a text with one of its parts repeated in its place, more and more often. Throws if the time grows faster than the
 * text. `timely` has a limit for each character. Texts made for that are in test/package/linear-reading.slow.test.ts.
 */
async function linear(read: Read, text: string, { at, length }: Part): Promise<void> {
  const begin = Math.floor(at * text.length);
  const end = begin + Math.max(1, Math.ceil(length * (text.length - begin)));
  const part = text.slice(begin, end);
  if (part === "") return;
  // The shortest text is twice as long as the given one: what grows must be the part.
  const unit = Math.max(1, text.length / 500);
  const times = (size: number) => Math.ceil((size * unit - text.length) / part.length);
  const make = (size: number) => text.slice(0, begin) + part.repeat(Math.max(1, times(size))) + text.slice(end);
  const bar = { length: 20_000 / unit, milliseconds: 4 * SECOND };
  const slow = await grows({ name: "", words: [], read }, { name: "", make }, undefined, bar);
  if (slow !== undefined) throw new Error(`with ${JSON.stringify(part)} repeated, it takes ${slow}`);
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
/** A part of one text in eight. Most are short, as parts of one line or one value are. */
const grown: fc.Arbitrary<Part | undefined> = fc.oneof(
  { weight: 7, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.record({ at: share, length: share.map((value) => value ** 4) }) },
);

describe("changed at random, a text is read or refused with a known code, in time:", () => {
  it.each(READERS.map((reader) => [reader.name, reader] as const))("%s", async (_, reader) => {
    const seeds = await reader.seeds();
    const read = await reader.open();
    // What is loaded with the first text does not count.
    const found = await Promise.all(seeds.map(read));
    expect(found).toContain(reader.good ?? "read");
    const [shortest = ""] = seeds.toSorted((one, other) => one.length - other.length);
    await linear(read, shortest, { at: 0.5, length: 0.1 });
    const interruptAfterTimeLimit = (MINUTES * 60_000) / READERS.length;
    let texts = 0;
    let last = { text: "", reading: Promise.resolve() };
    const outcome = await fc.check(
      fc.asyncProperty(mutated(seeds, reader.tokens), grown, async (text, part) => {
        texts += 1;
        const isGrown = part !== undefined && text.length <= GROWN_MAX;
        last = { text, reading: timely(read, text).then(() => (isGrown ? linear(read, text, part) : undefined)) };
        await last.reading;
      }),
      { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit, markInterruptAsFailure: false },
    );
    // On a busy machine the limit may pass while the first text is read, which is waited for below.
    if (outcome.counterexample !== null) throw new Error(fc.defaultReportMessage(outcome));
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
