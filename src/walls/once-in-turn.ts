import type { Resolved, resolveInside } from "./resolve-inside.js";

/**
 * Follows a path once for all who ask for it in one go, without waiting in between: many files of a few folders are looked
 * at side by side. Whoever asks after a wait, however short, is told what is there then.
 */
export function onceInTurn(resolve: typeof resolveInside): typeof resolveInside {
  const asked = new Map<string, Promise<Resolved>>();
  return (root, path) => {
    if (asked.size === 0) queueMicrotask(() => asked.clear());
    const key = `${root}\0${path}`;
    const resolving = asked.get(key) ?? resolve(root, path);
    asked.set(key, resolving);
    return resolving;
  };
}
