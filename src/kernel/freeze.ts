/**
 * Freezes a value with all that is in it: heads are kept between calls and handed out, and whoever
 * changes one must not change what the next decision is made on.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inside of Object.values(value)) if (typeof inside === "object") freeze(inside);
  return value;
}
