/**
 * What a host notes on a submission beside its evidence: numbers and short texts by names of its own, such as what the attempt has
 * cost. No gate looks at it. It travels whole from the request to what people are shown: nothing on the way knows a name.
 */
import * as z from "zod/mini";

/** Checks what is stored of a submission. */
export const notedSchema = z.record(z.string(), z.union([z.number(), z.string()]));

/** What is noted on a submission: numbers and texts by their names. */
export type Noted = Readonly<z.infer<typeof notedSchema>>;

/** Limits what is noted on one submission: every attempt in the log has it. Sums of such numbers stay finite. */
const NAMES_MAX = 20;
const TEXT_MAX = 200;
const NUMBER_MAX = 1e15;
const NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,39}$/;

/** What {@link isNoted} accepts, in words. */
export const NOTED_WORDS = `up to ${NAMES_MAX} numbers, or texts of up to ${TEXT_MAX} characters, by names such as input_tokens`;

/** Returns true for what a host may note. */
export function isNoted(value: unknown): value is Noted {
  const parsed = notedSchema.safeParse(value);
  if (!parsed.success) return false;
  const noted = Object.entries(parsed.data);
  return noted.length <= NAMES_MAX && noted.every(([name, given]) => NAME.test(name) && isWithin(given));
}

function isWithin(given: number | string): boolean {
  return typeof given === "number" ? Math.abs(given) <= NUMBER_MAX : given.length <= TEXT_MAX;
}

/** The sums of numbers that were noted, by name. */
export type NotedSums = Record<string, number>;

/** Limits the names that one session's tally tells apart at a phase. */
const SUMS_MAX = 50;

/** Adds the numbers of a submission to sums, which it changes. Texts have no sum. */
export function addNoted(sums: NotedSums, noted: Noted): void {
  for (const [name, given] of Object.entries(noted)) {
    const before = Object.hasOwn(sums, name) ? sums[name] : undefined;
    const isFull = before === undefined && Object.keys(sums).length >= SUMS_MAX;
    if (typeof given === "number" && !isFull) sums[name] = (before ?? 0) + given;
  }
}
