/**
 * `npm run test:peers -- [package…]`: installs the packed package beside the oldest and the newest version of each optional
 * package that it is said to work with, and some between, as a user would, and uses the entry point that needs it. Prints the
 * table that docs/design/dependencies.md has. Needs a build, and the registry.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startPostgres } from "../test/support/postgres-server.ts";

/** For each package, the versions, what else is installed, and the script in test/peers that uses it. */
const PEERS = {
  ai: { versions: ["5.0.0", "5", "6.0.0", "6", "7.0.100", "7"], script: "ai" },
  "@google/genai": { versions: ["1.0.0", "1", "2", "3"], script: "genai" },
  jose: { versions: ["6.0.8", "6"], also: ["@modelcontextprotocol/server@2"], script: "jose" },
  pg: { versions: ["8.11.0", "8"], script: "pg" },
  "@orama/orama": { versions: ["3.0.0", "3"], script: "orama" },
  "@modelcontextprotocol/server": { versions: ["2.0.0", "2.3.0", "2"], script: "server-2" },
  "@modelcontextprotocol/sdk": { versions: ["1.20.0", "1.22.0", "1.23.0", "1.25.3", "1"], script: "sdk-1" },
  "@simplewebauthn/server": { versions: ["13.0.0", "13", "14"], script: "simplewebauthn" },
  "@opentelemetry/sdk-metrics": {
    versions: ["2.0.0", "2", "3"],
    also: ["@opentelemetry/api@1", "@opentelemetry/exporter-prometheus"],
    script: "otel",
  },
  unified: { versions: ["10.0.0", "10", "11"], also: ["remark-parse"], script: "unified" },
};
/** Packages whose version must fit another one's, as `of` says for each version of it. */
const FITTING = {
  "remark-parse": (version) => (version.startsWith("10") ? "10" : "11"),
  "@opentelemetry/exporter-prometheus": (version) =>
    ({ "2.0.0": "0.200.0", 2: "<0.300.0", 3: ">=0.300.0" })[version] ?? "*",
};
const AT_ONCE = 2;

const named = process.argv.slice(2);
const unknown = named.find((name) => !Object.hasOwn(PEERS, name));
if (unknown !== undefined) throw new Error(`there is no ${unknown}: name some of ${Object.keys(PEERS).join(", ")}`);

const root = mkdtempSync(join(tmpdir(), "phasegate-peers-"));
const npm = (args, cwd) => spawnSync("npm", args, { cwd, encoding: "utf8", stdio: "pipe" });
const packed = npm(["pack", "--ignore-scripts", "--json", "--pack-destination", root], resolve("."));
const tarball = join(root, JSON.parse(packed.stdout)[0].filename);
const postgres = named.length === 0 || named.includes("pg") ? await startPostgres() : undefined;

function run(command, args, cwd) {
  return new Promise((done) => {
    const env = { ...process.env, DATABASE_URL: postgres?.url, PEER_SCHEMA: `s${Date.now()}` };
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => done({ ok: code === 0, output }));
  });
}

async function tryOut(name, version) {
  const { also = [], script } = PEERS[name];
  const folder = mkdtempSync(join(root, "host-"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "host", private: true, type: "module" }));
  const others = also.map((one) => (FITTING[one] === undefined ? one : `${one}@${FITTING[one](version)}`));
  const args = ["install", "--no-audit", "--no-fund", tarball, `${name}@${version}`, ...others];
  const installed = await run("npm", args, folder);
  if (!installed.ok) return { ok: false, output: installed.output };
  for (const file of [`${script}.mjs`, "mcp-session.mjs"]) cpSync(resolve("test/peers", file), join(folder, file));
  cpSync(resolve("test/support/authenticator.ts"), join(folder, "authenticator.ts"));
  const used = await run(process.execPath, [`${script}.mjs`], folder);
  rmSync(folder, { recursive: true, force: true });
  return used;
}

const work = Object.entries(PEERS)
  .filter(([name]) => named.length === 0 || named.includes(name))
  .flatMap(([name, { versions }]) => versions.map((version) => ({ name, version })));
let failed = 0;
async function next() {
  for (let one = work.shift(); one !== undefined; one = work.shift()) {
    const { ok, output } = await tryOut(one.name, one.version);
    console.log(`${ok ? "ok    " : "failed"} ${one.name}@${one.version}`);
    if (ok) continue;
    failed += 1;
    console.error(output.slice(-3000));
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, next));
await postgres?.remove();
rmSync(root, { recursive: true, force: true });
if (failed > 0) process.exitCode = 1;
