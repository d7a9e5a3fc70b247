/** So many at once: what one waits for, as a store does before it writes a head again, the others use. */
const AT_ONCE = 4;

/**
 * Tries something at the first instant, the second, and so on, until one is not reached any more; says how many were.
 * Each needs a folder of its own.
 */
export async function eachInstant(attempt: (nth: number) => Promise<boolean>): Promise<number> {
  for (let done = 0; ; done += AT_ONCE) {
    const reached = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => attempt(done + index + 1)));
    if (reached.includes(false)) return done + reached.indexOf(false);
  }
}
