/**
 * `npm run test:hosts -- [name…]`: installs the packed package beside web frameworks and frameworks for MCP, in the versions of
 * test/hosts/package.json, and runs each recipe of test/hosts: agents complete sessions over MCP, programs over HTTP, and the
 * page is loaded and follows them. Then what is often done wrong must say what to do. Prints the table of docs/frameworks.md.
 * Needs a build, and the registry.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const ALL = ["mcp", "api", "page"];
/** For each host: its package, what runs it, and what of it is used. */
const HOSTS = {
  "node:http": { run: ["node.mjs"], parts: ALL },
  "Express 5": { package: "express", run: ["express.mjs"], parts: ALL },
  "Express 4": { package: "express-4", run: ["express-4.mjs"], parts: ALL },
  Fastify: { package: "fastify", run: ["fastify.mjs"], parts: ALL },
  Hono: { package: "hono", run: ["hono.mjs"], parts: ALL },
  "Hono, mounted": { package: "hono", run: ["hono-mount.mjs"], parts: ALL },
  Nest: { package: "@nestjs/core", run: ["nest.mjs"], parts: ALL },
  "Nest on Fastify": { package: "@nestjs/platform-fastify", run: ["nest-fastify.mjs"], parts: ALL },
  "Next.js": {
    package: "next",
    built: true,
    run: ["node_modules/next/dist/bin/next", "start", "next", "-p"],
    parts: ALL,
  },
  FastMCP: { package: "fastmcp", run: ["fastmcp.mjs"], parts: ["mcp"] },
  "mcp-handler": { package: "mcp-handler", run: ["mcp-handler.mjs"], parts: ["mcp"] },
  "Agents SDK": { package: "agents", run: ["worker.mjs", "agents.mjs"], parts: ["mcp", "api"] },
  "Agents SDK, McpAgent": { package: "agents", run: ["worker.mjs", "agents-stateful.mjs"], parts: ["mcp"] },
};
const READY_MS = 60_000;

const named = process.argv.slice(2);
const unknown = named.find((name) => !Object.hasOwn(HOSTS, name));
if (unknown !== undefined) throw new Error(`there is no ${unknown}: name some of ${Object.keys(HOSTS).join(", ")}`);

const root = mkdtempSync(join(tmpdir(), "phasegate-hosts-"));
const host = join(root, "host");
cpSync(resolve("test/hosts"), host, { recursive: true });
// One recipe for both: the older version is installed under another name.
const express = readFileSync(join(host, "express.mjs"), "utf8");
writeFileSync(join(host, "express-4.mjs"), express.replace('from "express"', 'from "express-4"'));
const env = {
  ...process.env,
  CI: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  PHASEGATE_INSPECTOR_TOKEN: "for-the-tests-alone-0123456789abcdef",
};

function run(command, args, cwd = host) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 600_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} has failed:\n${stdout}\n${stderr}`);
  return stdout;
}

/** Returns a port that is free. */
function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Resolves when something listens. Rejects if the server ends before, or takes too long. */
async function listening(url, server) {
  const until = Date.now() + READY_MS;
  while (Date.now() < until) {
    if (server.exitCode !== null) throw new Error("the server has ended");
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return;
    await delay(100);
  }
  throw new Error("the server does not answer");
}

async function tryOut({ run: args, built = false, parts }) {
  if (built) run(process.execPath, ["node_modules/next/dist/bin/next", "build", "next"]);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const given = args.at(-1) === "-p" ? [...args, String(port)] : args;
  const server = spawn(process.execPath, given, { cwd: host, env: { ...env, PORT: String(port) }, stdio: "pipe" });
  const ended = new Promise((done) => server.once("close", done));
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => (said += chunk));
  try {
    await listening(url, server);
    run(process.execPath, ["check.mjs", url, ...parts]);
    return { ok: true };
  } catch (error) {
    return { ok: false, output: `${error.message}\n${said}` };
  } finally {
    server.kill();
    await ended;
  }
}

const [{ filename }] = JSON.parse(
  run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", root], resolve(".")),
);
run("npm", ["install", "--no-audit", "--no-fund", join(root, filename)]);
const versionOf = (name) => JSON.parse(readFileSync(join(host, "node_modules", name, "package.json"), "utf8")).version;

let failed = 0;
function report(ok, line, output) {
  console.log(`${ok ? "ok    " : "failed"} ${line}`);
  if (ok) return;
  failed += 1;
  console.error(output.slice(-3000));
}
for (const [name, one] of Object.entries(HOSTS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const version = one.package === undefined ? process.versions.node : versionOf(one.package);
  const { ok, output } = await tryOut(one);
  report(ok, `${name} ${version}: ${one.parts.join(", ")}`, output);
}
if (named.length === 0) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["mistakes.mjs"], {
    cwd: host,
    env,
    encoding: "utf8",
  });
  report(status === 0, `what is often done wrong: ${stdout.trim()}`, stderr);
}
rmSync(root, { recursive: true, force: true });
if (failed > 0) process.exitCode = 1;
