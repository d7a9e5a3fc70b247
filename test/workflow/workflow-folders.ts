import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** The folders of the starters, and of the examples' workflows, relative to the repository. */
export const FOLDERS = globSync(["starters/*/metadata.json", "examples/**/workflows/*/metadata.json"], {
  cwd: REPOSITORY,
})
  .map(dirname)
  .sort();

/** Returns the path of such a folder. */
export function folderOf(path: string): string {
  return join(REPOSITORY, path);
}
