import type { Resolved, resolveInside } from "./resolve-inside.js";

/**
 * Follows a path once for all who ask for it before the event loop goes on: side by side they look at many files of a few
 * folders, and nothing that this process does comes between them. Whoever asks later is told what is there later.
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
