/** Returns how often, or with what, a test repeats something: a short form in `npm test`, the full one in `npm run test:long`. */
export function howOften<T>(short: T, long: T): T {
  return process.env.PHASEGATE_LONG === "1" ? long : short;
}
