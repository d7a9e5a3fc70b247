/** Loads the operations on sessions with plans with the first of them. */

type Planned = typeof import("./planned.js");

let planned: Planned | undefined;

/**
 * Returns the operations; not a promise once they are loaded. They are cached here, since `import()` of a
 * loaded module costs as much as half a call.
 */
export function loadPlanned(): Planned | Promise<Planned> {
  return planned ?? load();
}

async function load(): Promise<Planned> {
  planned = await import("./planned.js");
  return planned;
}
