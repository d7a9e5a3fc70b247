/**
 * `npm run test:conformance`: MCP's conformance suite against test/conformance/server.ts, in each protocol version with all its
 * scenarios, and against `phasegate serve --listen` with those that need no tools of the suite's own. Needs a build, and the
 * registry when the suite is not installed yet.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const SUITE = resolve("test/conformance/suite");
const INSTALLED = join(SUITE, "node_modules/@modelcontextprotocol/conformance");
const EXPECTED = ["--expected-failures", resolve("test/conformance/expected-failures.yaml")];
const VERSIONS = ["2025-11-25", "2026-07-28"];
const OWN_TOOLS = {
  "2025-11-25": [
    ...["server-initialize", "server-session-lifecycle", "ping", "logging-set-level", "tools-list", "resources-list"],
    ...["server-sse-multiple-streams", "dns-rebinding-protection"],
  ],
  "2026-07-28": ["tools-list", "resources-list", "sep-2164-resource-not-found", "http-header-validation"],
};

const root = mkdtempSync(join(tmpdir(), "phasegate-conformance-"));
const servers = [];

/** Starts a server. Resolves with the URL that it prints. */
function start(...args) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const closed = new Promise((done) => child.on("close", done));
  servers.push({ child, closed });
  let said = "";
  return new Promise((found, failed) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        said += chunk;
        const url = /http:\/\/[\d.]+:\d+/.exec(said)?.[0];
        if (url !== undefined) found(`${url}/mcp`);
      });
    }
    closed.then((code) => failed(new Error(`${args.join(" ")} has ended with ${code}:\n${said}`)));
  });
}

/** Runs a command. Resolves with what it prints, and whether it succeeded. */
function run(command, args, cwd) {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  return new Promise((done) => child.on("close", (code) => done({ ok: code === 0, output })));
}

/** Runs all scenarios of a protocol version. */
async function conformance(url, version, ...more) {
  const folder = mkdtempSync(join(root, "results-"));
  const args = ["server", "--url", url, "--suite", "all", "--spec-version", version, "-o", folder, ...more];
  return run(process.execPath, [join(INSTALLED, "dist/index.js"), ...args], root);
}

async function all(version) {
  const { ok, output } = await conformance(await start("test/conformance/server.ts"), version, ...EXPECTED);
  const count = output.match(/^=== Running scenario/gm)?.length ?? 0;
  return report(`server.ts, ${version}, ${count} scenarios`, { ok: ok && count > 0, output });
}

async function own(url, version) {
  const { output } = await conformance(url, version);
  const failed = OWN_TOOLS[version].filter((name) => !output.includes(`\n✓ ${name}: `));
  const what = `serve --listen, ${version}, ${OWN_TOOLS[version].length} scenarios`;
  return report(failed.length === 0 ? what : `${what}: ${failed.join(", ")}`, { ok: failed.length === 0, output });
}

function report(what, { ok, output }) {
  console.log(`${ok ? "ok    " : "failed"} ${what}`);
  if (!ok) console.error(output);
  return ok;
}

const { version: wanted } = JSON.parse(readFileSync(join(SUITE, "package-lock.json"), "utf8")).packages[
  "node_modules/@modelcontextprotocol/conformance"
];
const manifest = join(INSTALLED, "package.json");
if (!existsSync(manifest) || JSON.parse(readFileSync(manifest, "utf8")).version !== wanted) {
  const { ok, output } = await run("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], SUITE);
  if (!ok) throw new Error(`the suite can't be installed:\n${output}`);
}
try {
  const serve = ["serve", "--listen", "127.0.0.1:0", "--starters", "--state", join(root, "state")];
  const url = await start("dist/cli/main.js", ...serve);
  const passed = await Promise.all([...VERSIONS.map(all), ...VERSIONS.map((version) => own(url, version))]);
  if (passed.includes(false)) process.exitCode = 1;
} finally {
  for (const { child } of servers) child.kill("SIGKILL");
  await Promise.all(servers.map(({ closed }) => closed));
  rmSync(root, { recursive: true, force: true });
}
