/** The workflows in the folders that a command is given. */
import { basename } from "node:path";
import { combineContent } from "../content/combine.js";
import { FileContent } from "../content/files.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { shown } from "../workflow/names.js";

/** Of two workflows of the same type, that in the first folder counts. Agents see the warnings, so no path is in them. */
export function contentIn(folders: readonly string[]): ContentProvider {
  const names = folders.map((folder, index) => `folder ${index + 1} (${shown(basename(folder))})`);
  return combineContent(
    folders.map((folder) => new FileContent({ roots: [folder] })),
    { names },
  );
}
