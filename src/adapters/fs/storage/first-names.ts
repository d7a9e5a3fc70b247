/** A time in a marker's name, `HHMMSSmmm`. */
const TIME_LENGTH = 9;

/**
 * Gives the names of a day, newest first, then by id, that come after `after`. The first `count` are found in one pass;
 * who wants more has all of them sorted, once: with a pass for each page the time would grow with the square of their number.
 */
export function* inOrder(names: readonly string[], after: string | undefined, count: number): Generator<string> {
  const first = firstNames(names, after, count);
  yield* first;
  const last = first.at(-1);
  if (last === undefined || first.length < count) return;
  yield* names.filter((name) => compareNames(name, last) > 0).sort(compareNames);
}

/**
 * The first names of a day, newest first, then by id, that come after `after`. One pass and no sort of the whole: a
 * page is fifty of what may be ten thousand.
 */
export function firstNames(names: readonly string[], after: string | undefined, count: number): string[] {
  let first: string[] = [];
  let last: string | undefined;
  // Folders mostly come sorted: from the end, the newest come first and little is thrown away again.
  for (const name of names.toReversed()) {
    if (after !== undefined && compareNames(name, after) <= 0) continue;
    if (last !== undefined && compareNames(name, last) > 0) continue;
    first.push(name);
    if (first.length < 4 * count) continue;
    first = first.sort(compareNames).slice(0, count);
    last = first.at(-1);
  }
  return first.sort(compareNames).slice(0, count);
}

function compareNames(a: string, b: string): number {
  for (let index = 0; index < TIME_LENGTH; index++) {
    const difference = (b.charCodeAt(index) || 0) - (a.charCodeAt(index) || 0);
    if (difference !== 0) return difference;
  }
  const [idA, idB] = [idIn(a), idIn(b)];
  return idA < idB ? -1 : idA > idB ? 1 : 0;
}

function idIn(name: string): string {
  const end = name.indexOf("~", TIME_LENGTH + 1);
  return name.slice(TIME_LENGTH + 1, end < 0 ? undefined : end);
}
