import { howOften } from "../../support/how-often.js";

/** Number of attempts that run concurrently: while one waits, the others run. */
const AT_ONCE = 4;
/** After the first instants, the short form tries every sixth one, and each run starts at another of the six. */
const EVERY = howOften(6, 1);
let walks = 0;

/**
 * Runs an attempt at the first instant, the second, and so on. An instant is a call to the file system; an attempt
 * returns false if it ended before its instant. Returns the approximate number of instants. Each attempt needs a folder
 * of its own.
 */
export async function eachInstant(attempt: (nth: number) => Promise<boolean>): Promise<number> {
  const skipped = walks++ % EVERY;
  for (let done = 0, step = 1; ; step = EVERY) {
    const from = done + 1;
    const instants = Array.from({ length: AT_ONCE }, (_, index) => from + index * step);
    const reached = await Promise.all(instants.map(attempt));
    if (reached.includes(false)) return (instants[reached.indexOf(false)] ?? from) - 1;
    done = (instants.at(-1) ?? from) + (step === EVERY ? EVERY - 1 : skipped);
  }
}
