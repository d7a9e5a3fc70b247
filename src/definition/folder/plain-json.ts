import type { KeyPath } from "./positions.js";
import { DEPTH_MAX } from "./scan-json.js";

/**
 * The way to the first part of a value that isn't JSON: a number that isn't finite, an object that
 * isn't plain, or one deeper than definitions go, which is where a value that holds itself ends.
 * Undefined if all of it is JSON.
 */
export function notJson(value: unknown, path: KeyPath = []): KeyPath | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : path;
  if (typeof value !== "object" || path.length >= DEPTH_MAX || !isPlain(value)) return path;
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const found = notJson(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
