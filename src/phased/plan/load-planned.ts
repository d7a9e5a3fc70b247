type Planned = typeof import("./planned.js");

let planned: Planned | undefined;

/**
 * What sessions on plans need, loaded with the first of them; no promise once it is there. Kept here, since
 * looking a loaded module up again costs as much as half a call.
 */
export function loadPlanned(): Planned | Promise<Planned> {
  return planned ?? load();
}

async function load(): Promise<Planned> {
  planned = await import("./planned.js");
  return planned;
}
