import { RESERVED } from "../../definition/names.js";

/** What a TOML file says: tables, arrays, and single values, dates among them. */
export type TomlTable = { readonly [key: string]: unknown };

/** The fields that make the tables of an array entries of their own. */
const KEYS = ["code", "id"] as const;

/**
 * Lays one customization over another, as BMAD does: single values replace, tables are merged key by key, arrays of tables
 * that all have a `code` (or all an `id`) replace the entry of the same one and append the others, all other arrays append.
 */
export function mergeCustomization(base: TomlTable, over: TomlTable): TomlTable {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    merged.set(key, mergeValue(merged.get(key), value));
  }
  return Object.fromEntries([...merged].filter(([key]) => !RESERVED.has(key)));
}

function mergeValue(base: unknown, over: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(over)) return mergeArrays(base, over);
  return isTable(base) && isTable(over) ? mergeCustomization(base, over) : over;
}

function mergeArrays(base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  const all = [...base, ...over];
  const key = KEYS.find((name) => all.every((item) => isTable(item) && item[name] !== undefined));
  if (key === undefined) return all;
  // A map keeps the place of an entry that is replaced.
  return [...new Map(all.filter(isTable).map((item) => [item[key], item])).values()];
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
