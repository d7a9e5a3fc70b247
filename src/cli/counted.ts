/** `1 session`, `2 sessions`. */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** A size in the unit that fits it: `812 bytes`, `1.4 kB`. A kB has 1,000 bytes. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  if (power === 0) return counted(bytes, "byte");
  return `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power] ?? ""}`;
}
