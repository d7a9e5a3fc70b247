import { distance } from "fastest-levenshtein";

/** How many candidates are compared with a name: what somebody hands in may hold a million. */
const COMPARED_MAX = 1000;
/** How many more characters a candidate may have than the name, signs that don't count among them. */
const LONGER_MAX = 1000;

/** The candidate that is most like a name, if one is near enough to have been meant; by Levenshtein distance. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = normal(name);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  let left = COMPARED_MAX;
  for (const candidate of candidates) {
    left -= 1;
    if (left < 0) break;
    if (candidate.length > name.length + LONGER_MAX) continue;
    const steps = distance(wanted, normal(candidate));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** `srdCreated`, `srd-created` and `SRD_CREATED` are the same word to whoever typed them. */
function normal(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
