/**
 * How people are shown what a host has noted on submissions: its label and its text. `show`, `stats` and the inspector's page have
 * both from here.
 */

import type { Noted } from "../phased/state/noted.js";
import type { NotedStatistics } from "../phased/sums.js";

/** Something that was noted, as people are shown it. */
export interface NotedText {
  readonly label: string;
  readonly text: string;
}

const numbers = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

/** Returns what was noted on one submission. */
export function notedTexts(noted: Noted = {}): readonly NotedText[] {
  return Object.entries(noted).map(([name, value]) => ({
    label: labelOf(name),
    text: typeof value === "number" ? numbers.format(value) : value,
  }));
}

/** Returns the sums of the numbers that were noted on all submissions at a phase. */
export function notedSumTexts(sums: readonly NotedStatistics[] = []): readonly NotedText[] {
  return sums.map(({ name, sum, median }) => ({
    label: labelOf(name),
    text: `${numbers.format(sum)} in all, median ${numbers.format(median)}`,
  }));
}

function labelOf(name: string): string {
  return name.replaceAll("_", " ").trim();
}
