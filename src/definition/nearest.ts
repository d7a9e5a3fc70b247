import { distance } from "fastest-levenshtein";

/** The candidate that is most like a name, if one is near enough to have been meant; by Levenshtein distance. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const steps = distance(normal(name), normal(candidate));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** `srdCreated`, `srd-created` and `SRD_CREATED` are the same word to whoever typed them. */
function normal(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
