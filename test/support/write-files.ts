import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Writes files below a folder, with the folders that they need. */
export async function writeFiles(root: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}
