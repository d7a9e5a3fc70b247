/** How a phase or task of one revision of a workflow is found in another one. */

/** A phase or a task. */
interface Part {
  readonly number: number;
  readonly name: string;
}

/**
 * Finds a part of a definition in another one: by its name. Of parts that share a name the first is the first, as long as there
 * are as many of them; else nothing says which one it is. One that has another name is found where nothing else has changed.
 */
export function findAgain<T extends Part>(part: Part, before: readonly Part[], now: readonly T[]): T | undefined {
  const named = <P extends Part>(parts: readonly P[]) => parts.filter(({ name }) => name === part.name);
  const [then, same] = [named(before), named(now)];
  if (same.length > 0)
    return same.length === then.length ? same[then.findIndex(({ number }) => number === part.number)] : undefined;
  return isRenamed(before, now) ? now.find(({ number }) => number === part.number) : undefined;
}

/** Returns true if parts have new names and nothing else: as many, under the same numbers, and no name elsewhere. */
function isRenamed(before: readonly Part[], now: readonly Part[]): boolean {
  const names = new Map(before.map(({ number, name }) => [number, name]));
  const old = new Set(names.values());
  return (
    before.length === now.length &&
    now.every(({ number, name }) => names.has(number) && (names.get(number) === name || !old.has(name)))
  );
}
