import { countParam, wrongParam } from "./parse-params.js";

/** Params that say how often something must be there. */
export const howOftenParams = {
  min: countParam.optional(),
  max: countParam.optional(),
  /** Exactly so often. */
  count: countParam.optional(),
};

/** How often something must be there; 1 or more where nothing is said. */
export interface HowOften {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly count?: number | undefined;
}

/** Throws `INVALID_INPUT` where the numbers contradict each other. */
export function checkHowOften(verifier: string, { min, max, count }: HowOften): void {
  if (count !== undefined && (min !== undefined || max !== undefined)) {
    throw wrongParam(verifier, "count", "it says exactly how often, so min and max can't stand beside it");
  }
  if (min !== undefined && max !== undefined && min > max) throw wrongParam(verifier, "max", "it is less than min");
}

/** Whether a number is as often as is wanted, and the words for what is. */
export function isOftenEnough(found: number, { min, max, count }: HowOften): { ok: boolean; wanted: string } {
  if (count !== undefined) return { ok: found === count, wanted: `exactly ${count}` };
  const least = min ?? (max === undefined ? 1 : 0);
  const ok = found >= least && (max === undefined || found <= max);
  if (max === undefined) return { ok, wanted: `at least ${least}` };
  return { ok, wanted: least === 0 ? `at most ${max}` : `${least} to ${max}` };
}
