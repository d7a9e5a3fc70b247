/** A stored time as people read it: `2026-01-31 12:00:00Z`. */
export function timeText(iso: string): string {
  return iso.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** A duration in its two largest units: `45s`, `3m 12s`, `2h 5m`, `4d 1h`. */
export function durationText(seconds: number): string {
  const units: readonly (readonly [string, number])[] = [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return "0s";
  const parts: string[] = [];
  let rest = seconds;
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * size;
  }
  return parts.join(" ");
}
