/** What has become of a file. */
export interface Change {
  readonly path: string;
  readonly kind: "created" | "changed" | "deleted";
}

/** What differs between two states of files, by path and digest. */
export function changesBetween(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): Change[] {
  const changes: Change[] = [];
  for (const [path, digest] of now) {
    const was = before.get(path);
    if (was !== digest) changes.push({ path, kind: was === undefined ? "created" : "changed" });
  }
  for (const path of before.keys()) if (!now.has(path)) changes.push({ path, kind: "deleted" });
  return changes;
}

/** Whether a path is another one or lies below it; `.` is above all. Both as `parseRelativePath` gives them. */
export function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}
