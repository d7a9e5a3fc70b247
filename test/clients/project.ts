/** The project that clients work on, with a bug, and the commands that show and mend it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LINE = "export const add = (a, b) => a - b;";
const IMPORTS = ['import assert from "node:assert/strict";', 'import { test } from "node:test";'];
const QUOTE = 'test("adds two numbers", () => assert.equal(add(1, 2), 3));';

/** The line with the bug. */
export const BUG = { file: "add.mjs", line: 1, quote: LINE };
/** The test that shows it: the line that {@link REPRODUCE} adds. */
export const TEST = { path: "test/add.test.mjs", line: 5, quote: QUOTE };
export const REPRODUCE = `echo '${QUOTE}' >> ${TEST.path}`;
export const MEND = `echo '${LINE.replace("-", "+")}' > ${BUG.file}`;

const FILES = {
  ".gitignore": "node_modules/\n",
  "package.json": JSON.stringify({ name: "adder", private: true, type: "module", scripts: { test: "node --test" } }),
  [BUG.file]: `${LINE}\n`,
  [TEST.path]: `${[...IMPORTS, 'import { add } from "../add.mjs";', 'test("adds zero", () => assert.equal(add(1, 0), 1));'].join("\n")}\n`,
};

/** Makes the project with phasegate installed from a package. */
export function makeProject(folder: string, tarball: string): void {
  mkdirSync(join(folder, "test"), { recursive: true });
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(folder, path), text);
  const packages = [tarball, "@modelcontextprotocol/server@2"];
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--save-dev", ...packages], { cwd: folder });
}

/** Commits everything in a folder, as the person whom the environment names. */
export function commitAll(folder: string, env: NodeJS.ProcessEnv): void {
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-q", "-m", "Add phasegate"],
  ]) {
    execFileSync("git", args, { cwd: folder, env });
  }
}
