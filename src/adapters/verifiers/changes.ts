/** What has become of a file. */
export interface Change {
  readonly path: string;
  /** `renamed` is a new file with the contents of an old one: another name, and no other bytes. */
  readonly kind: "created" | "changed" | "renamed" | "deleted";
}

/** What differs between two states of files, by path and digest. */
export function changesBetween(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Change[] {
  const changes: Change[] = [];
  const known = new Set(before.values());
  for (const [path, digest] of now) {
    const was = before.get(path);
    if (was === digest) continue;
    if (was !== undefined) changes.push({ path, kind: "changed" });
    else changes.push({ path, kind: known.has(digest) ? "renamed" : "created" });
  }
  for (const path of before.keys()) if (!now.has(path)) changes.push({ path, kind: "deleted" });
  return changes;
}

/** Whether a path is another one or lies below it; `.` is above all. Both as `parseRelativePath` gives them. */
export function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}
