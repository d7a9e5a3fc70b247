/** Whether a reader's time grows faster than its text: measured as the processor's time, since others use the machine. */
import { PhasegateError } from "../../src/errors.js";

/** Something that reads a text. */
export interface Reader {
  readonly name: string;
  /** The words that texts for it are made of. */
  readonly words: readonly string[];
  /** What must stand around them for the reader to get that far. */
  readonly frames?: readonly (readonly [before: string, after: string])[];
  readonly read: (text: string) => unknown;
  /** How many seconds 100 KB may take. Default: 1. */
  readonly seconds?: number;
}

/** Texts of one kind, of any length. */
export interface Input {
  readonly name: string;
  readonly make: (size: number) => string;
}

/** So long is a text that everything is tried on first, in characters. */
const FIRST = 1000;
/** Milliseconds that say nothing: what grows with the square, and takes less for FIRST, takes less than a second for 100 KB. */
const SHORTEST = 0.1;
/** Four times the text takes less than this many times as long, if the time grows with the text: with its square, 16 times. */
const QUICK_RATIO_MAX = 6;
/** Milliseconds that are too short to be compared with twice the text. */
const LEAST = 20;
const RATIO_MAX = 2.6;
/** Milliseconds that `work` takes on the machine that the limits below are meant for, when it does nothing else. */
const WORK = 80;
/** A second of that machine, in milliseconds of this one as busy as it is now. */
export const SECOND = 1000 * Math.max(1, (await least(5, work)) / WORK);
/** How many milliseconds a text of which length may take. */
const barOf = ({ seconds = 1 }: Reader) => ({ length: 100_000, milliseconds: seconds * SECOND });

/** All texts for a reader: a word over and over, two in turn, and many of one behind many of the other. */
export function* inputsOf({ words, frames = [["", ""]] }: Reader): Generator<Input> {
  for (const [before, after] of frames) {
    for (const [index, one] of words.entries()) {
      for (const [place, other] of words.entries()) {
        const [a, b] = [JSON.stringify(one), JSON.stringify(other)];
        const within = (name: string, body: (size: number) => string): Input => ({
          name: `${before}${name}${after}`,
          make: (size) => before + body(size) + after,
        });
        if (one === other) yield within(`${a} × n`, (size) => repeated(one, size));
        else {
          if (index < place) yield within(`(${a} ${b}) × n`, (size) => repeated(one + other, size));
          yield within(`${a}, ${b} × n, ${a}`, (size) => one + repeated(other, size) + one);
        }
      }
    }
  }
}

/** Measures the milliseconds that a reader takes over a text: the least of some times. */
type Measure = (reader: Reader, text: string, times: number) => Promise<number>;

/** Why a reader takes too long over texts of a kind; undefined if it doesn't. */
export async function grows(
  reader: Reader,
  { make }: Input,
  measure: Measure = fastest,
  bar = barOf(reader),
): Promise<string | undefined> {
  let short = await measure(reader, make(FIRST), 1);
  if (short >= SHORTEST) short = Math.min(short, await measure(reader, make(FIRST), 1));
  if (short < SHORTEST) return undefined;
  const long = await measure(reader, make(4 * FIRST), 1);
  if (long < QUICK_RATIO_MAX * short) {
    // What grows with the text is looked at again only if it takes long for each character.
    if (long < (4 * FIRST * bar.milliseconds) / bar.length) return undefined;
    if ((await measure(reader, make(bar.length), 1)) < bar.milliseconds) return undefined;
  }
  // Before it is believed, it is measured more often, and over longer texts.
  let reason: string | undefined;
  for (const [unit, times] of [
    [bar.length / 4, 2],
    [bar.length / 4, 4],
    [bar.length / 2, 3],
  ] as const) {
    const compared: number[] = [];
    for (const factor of [1, 2, 4]) {
      compared.push(await measure(reader, make(unit * factor), times));
      // Longer texts would only keep the machine busy.
      if ((compared.at(-1) ?? 0) > 4 * bar.milliseconds) break;
    }
    reason = tooSlow(compared, unit, bar);
    if (reason === undefined) return undefined;
  }
  return reason;
}

/** Why these times are too long, for texts of which each is twice as long as the one before. */
function tooSlow(took: readonly number[], unit: number, bar: ReturnType<typeof barOf>): string | undefined {
  const size = unit * 2 ** (took.length - 1);
  const [last = 0] = took.slice(-1);
  const first = took.findIndex((time) => time >= LEAST);
  const doublings = took.length - 1 - first;
  const ratio = first === -1 || doublings === 0 ? 1 : (last / (took[first] ?? last)) ** (1 / doublings);
  if (ratio <= RATIO_MAX && (last * bar.length) / size <= bar.milliseconds) return undefined;
  return `${took.map(Math.round).join(", ")} ms, the last for ${size / 1000} KB`;
}

/** Measures milliseconds of the processor. What is refused is read, too. */
async function fastest({ read }: Reader, text: string, times: number): Promise<number> {
  return least(times, async () => {
    try {
      await read(text);
    } catch (error) {
      if (!(error instanceof PhasegateError)) throw error;
    }
  });
}

async function least(times: number, run: () => unknown): Promise<number> {
  const took: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / 1000);
  }
  return Math.min(...took);
}

/** Makes and reads many small objects, as parsers do. */
function work(): unknown {
  const made = Array.from({ length: 100_000 }, (_, index) => ({
    type: `a${index % 7}`,
    start: { line: index, offset: 2 * index },
  }));
  return JSON.parse(JSON.stringify(made));
}

function repeated(words: string, size: number): string {
  return words.repeat(Math.max(1, Math.floor(size / words.length)));
}
