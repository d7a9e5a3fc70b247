import { chmod, lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { vi } from "vitest";
import { run } from "../cli/run-cli.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** Two starters of our own: one with options for commands, one without. */
const STARTERS = {
  "bug_fix/metadata.json": `{
  "workflow_type": "bug_fix",
  "name": "Fix a bug",
  "description": "Shows a bug with a test, then fixes it",
  "version": "1.0.0",
  "category": "code",
  "estimated_duration": "an hour",
  "options_schema": {
    "type": "object",
    "properties": {
      "test_command": { "type": "string", "description": "runs the tests" }
    },
    "required": ["test_command"]
  },
  "phases": [{ "phase_number": 1, "phase_name": "Fix" }]
}
`,
  "bug_fix/phases/1/phase.md": "# Phase 1: Fix\n\nFix it.\n",
  "bug_fix/phases/1/gate-definition.yaml": "evidence_schema:\n  fixed: {type: boolean}\n",
  "plan_execution/metadata.json": `{
  "workflow_type": "plan_execution",
  "name": "Carry out a plan",
  "description": "Carries out a plan",
  "version": "1.0.0",
  "category": "code",
  "estimated_duration": "a day",
  "phases": [{ "phase_number": 1, "phase_name": "Do" }]
}
`,
  "plan_execution/phases/1/phase.md": "# Phase 1: Do\n\nDo it.\n",
  "plan_execution/phases/1/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
};

/** Creates a project with some files, a home of its own, and starters. */
export async function aProject(files: Readonly<Record<string, string | Uint8Array>> = {}, name = "a project") {
  const folder = await temporaryFolder();
  const [root, home, starters] = [join(folder, name), join(folder, "home"), join(folder, "starters")];
  await writeFiles(root, { ".git/HEAD": "ref: refs/heads/main\n", ...files });
  await writeFiles(home, { ".keep": "" });
  await writeFiles(starters, STARTERS);
  vi.stubEnv("HOME", home);
  vi.stubEnv("USERPROFILE", home);
  // Where init keeps what this user has set up.
  const config = join(folder, "config");
  vi.stubEnv("XDG_CONFIG_HOME", config);
  return {
    ...{ root, home, starters, config },
    /** Runs `phasegate init` in the project. */
    init: (...args: string[]) => run("init", "--project", root, "--starters-from", starters, ...args),
    read: (path: string) => readFile(join(root, path), "utf8"),
    json: async (path: string): Promise<unknown> => JSON.parse(await readFile(join(root, path), "utf8")),
    write: (changed: Readonly<Record<string, string>>) => writeFiles(root, changed),
    protect: (path: string) => chmod(join(root, path), 0o444),
    /** Returns every file, folder and link of the project and the home, with their bytes. */
    everything: async () => ({ ...(await treeOf(root)), ...(await treeOf(home)) }),
  };
}

/** Returns everything in a folder: files with their bytes in base64, links with their targets, folders. */
export async function treeOf(folder: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join("/");
    if (entry.isSymbolicLink()) tree[name] = `link to ${await readlink(path)}`;
    else if (entry.isDirectory()) tree[name] = "a folder";
    else tree[name] = `${((await lstat(path)).mode & 0o777).toString(8)} ${(await readFile(path)).toString("base64")}`;
  }
  return tree;
}
