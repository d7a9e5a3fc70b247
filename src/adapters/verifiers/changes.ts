/** What has become of a file. */
export interface Change {
  readonly path: string;
  /**
   * `renamed` is a new file, and `swapped` an old one, with contents that a file had before: another name for
   * them, and no new bytes.
   */
  readonly kind: "created" | "changed" | "renamed" | "swapped" | "deleted";
}

/** What differs between two states of files, by path and digest. */
export function changesBetween(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Change[] {
  const changes: Change[] = [];
  const known = new Set(before.values());
  for (const [path, digest] of now) {
    const was = before.get(path);
    if (was === digest) continue;
    const isNew = !known.has(digest);
    if (was === undefined) changes.push({ path, kind: isNew ? "created" : "renamed" });
    else changes.push({ path, kind: isNew ? "changed" : "swapped" });
  }
  for (const path of before.keys()) if (!now.has(path)) changes.push({ path, kind: "deleted" });
  return changes;
}

/** Whether a path is another one or lies below it; `.` is above all. Both as `parseRelativePath` gives them. */
export function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}
