/**
 * `npm run check`: every check but the tests, the fast ones first, as many at once as there are processors. After the
 * first that fails no other begins.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";

/** What each script checks. Those after `build` read what it makes. */
const CHECKS = {
  "check:lint": "format and lint rules",
  "check:imports": "which module imports which",
  "check:unused": "unused files, exports and dependencies",
  "check:snippets": "code in the docs is code that runs",
  "check:attacks": "docs/attacks.md lists the tests as they are",
  "check:schemas": "JSON Schemas for editors are up to date",
  "check:types": "types",
  "check:path": "a step passes through few files and calls",
  "check:regexps": "expressions take time that grows with the text and no faster",
  build: "build",
  "check:bundle": "runs without node:, and stays small",
  "api:check": "the public API is what etc/ says",
  examples: "examples run",
  "check:package": "the packed package installs and runs on every runtime",
  site: "API docs without warnings, and the site without dead links",
};
const scripts = Object.keys(CHECKS);
const waiting = [...scripts];
let hasFailed = false;

/** Runs a check and prints what it said in one piece. */
async function run(script) {
  const started = Date.now();
  const said = [];
  // npm is a script with a shell's name on Windows.
  const child = spawn("npm", ["run", "--silent", script], {
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => said.push(chunk));
  const [status] = await once(child, "close");
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const verdict =
    status === 0
      ? `✓ ${script} (${seconds} s)`
      : `✗ ${script} failed (${CHECKS[script]}). To see it alone: npm run ${script}`;
  console.log(`\n── ${script}: ${CHECKS[script]}\n${Buffer.concat(said)}${verdict}`);
  hasFailed ||= status !== 0;
}

const needsBuild = (script) => scripts.indexOf(script) > scripts.indexOf("build");
let build;
async function lane() {
  for (let script = waiting.shift(); script !== undefined && !hasFailed; script = waiting.shift()) {
    if (needsBuild(script)) await build;
    if (hasFailed) return;
    const running = run(script);
    if (script === "build") build = running;
    await running;
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, lane));

if (hasFailed) process.exit(1);
console.log(`\n✓ all ${scripts.length} checks passed`);
