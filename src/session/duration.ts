/** Whole seconds between two ISO 8601 times; 0 where a clock was set back in between. */
export function secondsBetween(from: string, to: string): number {
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}
