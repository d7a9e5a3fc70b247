/** How much the words count beside the vectors. */
const WORDS = 0.5;

/** What two rankings say of a chunk. */
export interface Scores {
  readonly id: string;
  /** By its words, 0 or more: without a scale of its own. */
  readonly words: number;
  /** By its vector, from 0 to 1. */
  readonly likeness: number;
}

/** One score from two, from 0 to 1: that of the words is taken relative to the best one. Best first; equal ones stay in order. */
export function fuse(scores: readonly Scores[]): readonly (readonly [id: string, score: number])[] {
  const best = scores.reduce((most, { words }) => Math.max(most, words), 0);
  return scores
    .map(({ id, words, likeness }) => {
      const relative = best === 0 ? 0 : words / best;
      return [id, WORDS * relative + (1 - WORDS) * likeness] as const;
    })
    .sort(([, one], [, other]) => other - one);
}
