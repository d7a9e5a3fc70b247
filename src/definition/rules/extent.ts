/**
 * How large what an expression gives can be, before it is worked out. Sizes are upper bounds: of a value that
 * is there they are its own, of a result what its operands allow.
 */

/** How many native steps over characters cost as much as one step of a rule. */
const CHARACTERS_A_STEP = 32;
/** How many values are looked into one by one; of more, only the whole is measured. */
const CANDIDATES_MAX = 10_000;

/** How large a value is. */
export interface Extent {
  /** Characters of a text, elements of a list, keys of an object; 0 of anything else. */
  readonly size: number;
  /** Steps that it takes to go through all of it. */
  readonly weight: number;
  /** The values that it may be, where they are known. */
  readonly values?: readonly unknown[];
}

/** Of a number, a boolean or nothing. */
export const SCALAR: Extent = { size: 0, weight: 1 };

/** Of any of these values. */
export function extentOf(values: readonly unknown[]): Extent {
  let size = 0;
  let weight = 1;
  for (const value of values) {
    size = Math.max(size, sizeOf(value));
    weight = Math.max(weight, weightOf(value));
  }
  return values.length > CANDIDATES_MAX ? { size, weight } : { size, weight, values };
}

/** Of what lies inside: under a key, or anywhere if none is given. */
export function inside({ values, weight }: Extent, key?: string): Extent {
  if (values === undefined) return { size: weight * CHARACTERS_A_STEP, weight };
  return extentOf(values.flatMap((value) => membersOf(value, key)));
}

/** Of one or the other. */
export function eitherOf(a: Extent, b: Extent): Extent {
  const bounds = { size: Math.max(a.size, b.size), weight: Math.max(a.weight, b.weight) };
  if (a.values === undefined || b.values === undefined) return bounds;
  // Each once: `test ? a : a` in a chain of names would double them at every link.
  const values = [...new Set([...a.values, ...b.values])];
  return values.length > CANDIDATES_MAX ? bounds : { ...bounds, values };
}

/** Of all of them in one. */
export function together(extents: readonly Extent[]): Extent {
  return {
    size: extents.reduce((sum, { size }) => sum + size, 0),
    weight: extents.reduce((sum, { weight }) => sum + weight, 1),
  };
}

/** Of a text of so many characters. */
export function textExtent(characters: number): Extent {
  return { size: characters, weight: 1 + characters / CHARACTERS_A_STEP };
}

function sizeOf(value: unknown): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

function weightOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_A_STEP;
  let weight = 1;
  if (typeof value === "object" && value !== null) for (const inner of membersOf(value)) weight += weightOf(inner);
  return weight;
}

function membersOf(value: unknown, key?: string): readonly unknown[] {
  if (value instanceof Map) return key === undefined ? [...value.values()] : [value.get(key)];
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return [];
  if (key === undefined) return Object.values(value);
  return Object.hasOwn(value, key) ? [Reflect.get(value, key)] : [];
}
