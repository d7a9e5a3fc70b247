/** Where `phasegate init` writes: nothing leads it to another file, also not a record that somebody else has made. */
import { isPlainPath } from "../workflow/names.js";
import { CLIENT_IDS, CLIENTS, type ClientId } from "./clients.js";

/** A project, and the user's own folder, for configurations that no project has. */
export interface Roots {
  /** The real path of the project. */
  readonly root: string;
  readonly home: string;
}

/** The folder for the workflows, and the one for the sessions. */
export const WORKFLOWS = "workflows";
export const STATE = ".phasegate";

export const INSTRUCTIONS = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] as const;

export function filesOfClients(clients: readonly ClientId[]): string[] {
  return clients.flatMap((id) => [...CLIENTS[id].configs, ...(CLIENTS[id].hook ? [CLIENTS[id].hook.path] : [])]);
}

/** The files outside of the folder of workflows. */
const FILES = new Set([...filesOfClients(CLIENT_IDS), ...INSTRUCTIONS, ".gitignore"]);

/** Checks whether a path is in the home folder, outside of the project. */
export function isOutside(path: string): boolean {
  return path.startsWith("~/");
}

export function mayWrite(path: string): boolean {
  return FILES.has(path) || isInWorkflows(path);
}

/** Returns true for a folder that init may make for such a file. */
export function mayMake(folder: string): boolean {
  const isAbove = folder !== "~" && [...FILES].some((path) => path.startsWith(`${folder}/`));
  return isAbove || folder === WORKFLOWS || isInWorkflows(folder);
}

function isInWorkflows(path: string): boolean {
  return isPlainPath(path) && path.startsWith(`${WORKFLOWS}/`);
}
