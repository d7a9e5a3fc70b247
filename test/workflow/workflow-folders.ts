import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** The folders of the starters, and of the examples' workflows. */
export const FOLDERS = globSync(["starters/*/metadata.json", "examples/**/workflows/*/metadata.json"], {
  cwd: REPOSITORY,
})
  .map((file) => join(REPOSITORY, dirname(file)))
  .sort();
