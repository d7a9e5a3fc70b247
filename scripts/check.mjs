/** `npm run check`: every check but the tests, the fast ones first. Stops at the first that fails. */
import { spawnSync } from "node:child_process";

const CHECKS = {
  "check:types": "types",
  "check:lint": "format and lint rules",
  "check:imports": "which module imports which",
  "check:unused": "unused files, exports and dependencies",
  "check:regexps": "expressions take time that grows with the text and no faster",
  build: "build",
  "api:check": "the public API is what etc/ says",
  "check:bundle": "runs without node:, and stays small",
  "check:snippets": "code in the docs is code that runs",
  examples: "examples run",
  docs: "API docs without warnings",
  "check:package": "the packed package installs and runs on every runtime",
};

for (const [script, what] of Object.entries(CHECKS)) {
  console.log(`\n── ${script}: ${what}`);
  const started = Date.now();
  // npm is a script with a shell's name on Windows.
  const { status } = spawnSync("npm", ["run", "--silent", script], {
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    console.error(`\n✗ ${script} failed (${what}). To see it alone: npm run ${script}`);
    process.exit(1);
  }
  console.log(`✓ ${script} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}
console.log(`\n✓ all ${Object.keys(CHECKS).length} checks passed`);
