/**
 * Returns how often a test repeats something: a short form in `npm test`, the full one in `npm run test:long`.
 */
export function howOften(short: number, long: number): number {
  return process.env.PHASEGATE_LONG === "1" ? long : short;
}
