/** A random source that repeats for the same seed. */
export interface Chance {
  /** Returns a random integer from 0 to `count` - 1. */
  of(count: number): number;
}

/** The generator mulberry32. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  return {
    of(count) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * count);
    },
  };
}
