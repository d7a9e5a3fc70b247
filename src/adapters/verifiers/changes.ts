/** What has become of a file. */
export interface Change {
  readonly path: string;
  /**
   * `renamed` is a new file, and `swapped` an old one, with contents that a file had before: another name for
   * them, and no new bytes. `restored` is a file that is again as it was when the phase was entered before.
   */
  readonly kind: "created" | "changed" | "renamed" | "swapped" | "restored" | "deleted";
}

type Digests = ReadonlyMap<string, string>;

/** What differs between two states of files, by path and digest; `earlier` are states from before the first of the two. */
export function changesBetween(before: Digests, now: Digests, earlier: readonly Digests[] = []): Change[] {
  const changes: Change[] = [];
  const known = new Set([before, ...earlier].flatMap((state) => [...state.values()]));
  const wasSo = (path: string) => earlier.some((state) => state.get(path) === now.get(path));
  for (const [path, digest] of now) {
    const was = before.get(path);
    if (was === digest) continue;
    if (!known.has(digest)) changes.push({ path, kind: was === undefined ? "created" : "changed" });
    else if (wasSo(path)) changes.push({ path, kind: "restored" });
    else changes.push({ path, kind: was === undefined ? "renamed" : "swapped" });
  }
  for (const path of before.keys()) {
    if (!now.has(path)) changes.push({ path, kind: wasSo(path) ? "restored" : "deleted" });
  }
  return changes;
}

/** Whether a path is another one or lies below it; `.` is above all. Both as `parseRelativePath` gives them. */
export function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}
