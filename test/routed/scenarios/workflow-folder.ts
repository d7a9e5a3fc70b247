import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FileTexts } from "phasegate/fs";
import { RoutedFolders } from "phasegate/routed";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { stepText } from "../definition/folder-of-texts.js";

/** A workflow that branches, and a broken one, as files. */
const FILES: Readonly<Record<string, string>> = {
  "DEPLOY/index.md": `# Workflow: DEPLOY

## Overall Goal

The change is live.

## High-Level Plan

1. [Build](steps/build.md)
2. [Test](steps/test.md)
3. [Repair](steps/repair.md)
4. [Release](steps/release.md)
`,
  "DEPLOY/steps/build.md": stepText('Go to "Test".', "Build it."),
  "DEPLOY/steps/test.md": stepText('If the tests fail, go to "Repair", else to "Release".', "Run the tests."),
  "DEPLOY/steps/repair.md": stepText('Go back to "Test".', "Fix it."),
  "DEPLOY/steps/release.md": stepText("Then FINISH.", "Release it."),
  "BROKEN/index.md": "# BROKEN\n\n- [Build](steps/build.md)\n- [Test](steps/test.md)\n",
  "BROKEN/steps/build.md": "# Client Instructions\n\nBuild it.\n",
};

/** Writes the workflows to a new folder. */
export async function workflowFolder() {
  const root = await temporaryFolder();
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { root, workflows: new RoutedFolders({ source: new FileTexts({ root }) }) };
}
