/**
 * Packs the package as npm would publish it, looks at the tarball, installs it into an empty folder,
 * and there type-checks it and runs it on every runtime that it promises. Needs a build.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

class CheckFailed extends Error {}

const PUBLISHED = /^((dist|docs|schemas|starters|templates)\/|(package\.json|README\.md|LICENSE|CHANGELOG\.md)$)/;
/** In bytes; the packages that are bundled are 470,000 of them. */
const MAX_UNPACKED = 5_100_000;

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const entries = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target !== "string")
  .map(([path]) => path.replace(".", manifest.name));
/** The oldest that knows all that the declarations of zod and of the package say. */
const OLDEST_TYPESCRIPT = "5.4";
const windows = process.platform === "win32";
const root = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "phasegate-package-"));

try {
  const tarball = pack();
  await lint(tarball);
  publishDryRun();
  install(tarball);
  compile();
  runEverywhere();
} catch (error) {
  console.error(error instanceof CheckFailed ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

function pack() {
  // The build has run; scripts of the package would only run it again.
  const { stdout } = run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder]);
  const [{ filename, size, unpackedSize, files }] = JSON.parse(stdout);
  const paths = files.map(({ path }) => path);
  for (const wanted of ["README.md", "LICENSE", "CHANGELOG.md", manifest.bin.phasegate.replace(/^\.\//, "")]) {
    if (!paths.includes(wanted)) fail(`${wanted} is not in the tarball`);
  }
  const stray = paths.filter((path) => !PUBLISHED.test(path) || path.endsWith(".map"));
  if (stray.length > 0) fail(`not meant to be published: ${stray.join(", ")}`);
  if (!readFileSync(manifest.bin.phasegate, "utf8").startsWith("#!/usr/bin/env node\n")) fail("the bin has no shebang");
  if (unpackedSize > MAX_UNPACKED) fail(`the package has ${unpackedSize} bytes unpacked, more than ${MAX_UNPACKED}`);
  const [packed, unpacked] = [size, unpackedSize].map((bytes) => `${(bytes / 1000).toFixed(0)} kB`);
  console.log(`packed ${filename}: ${paths.length} files, ${packed}, unpacked ${unpacked}`);
  return join(folder, filename);
}

async function lint(tarball) {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    strict: true,
  });
  const problems = messages.filter(({ type }) => type !== "suggestion").map((message) => formatMessage(message, pkg));
  if (problems.length > 0) fail(`publint:\n${problems.join("\n")}`);
  console.log("publint: no problems");

  // esm-only: there is no CommonJS build, on purpose (two builds are two copies of every class), so nothing is asked
  // of resolution from CommonJS or of `moduleResolution: node10`, which knows no exports.
  run(bin("@arethetypeswrong/cli"), [tarball, "--profile", "esm-only", "--no-definitely-typed", "--format", "ascii"]);
  console.log("are the types wrong: no");
}

function publishDryRun() {
  // npm "corrects" what it doesn't like, such as a bin that starts with "./", by leaving it out: a warning is a failure.
  // `npm run --silent` hands its silence down to every npm below it, so the level must be said.
  const { stderr } = run("npm", ["publish", "--dry-run", "--ignore-scripts", "--loglevel=warn"]);
  const warnings = stderr
    .split("\n")
    .filter((line) => /^npm (warn|error) publish/i.test(line) && !line.includes("requires you to be logged in"));
  if (warnings.length > 0) fail(`npm publish --dry-run:\n${warnings.join("\n")}`);
  console.log("npm publish --dry-run: clean");
}

/**
 * The package, its optional peers, and the runtimes. Those come as the packages that hold the binaries for this
 * platform, so that no package's install script has to run.
 */
function install(tarball) {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const node = `node${process.platform === "darwin" && process.arch === "arm64" ? "-bin" : ""}-${platform}-${process.arch}`;
  const oldest = manifest.engines.node.replace(">=", "");
  const dependencies = {
    [manifest.name]: `file:${tarball}`,
    zod: manifest.dependencies.zod,
    "node-oldest": `npm:${node}@${oldest.split(".").length === 3 ? oldest : `${oldest}.0`}`,
    "node-newest": `npm:${node}@${manifest.devDependencies.node}`,
    "typescript-oldest": `npm:typescript@~${OLDEST_TYPESCRIPT}.0`,
    bun: "1.4.5",
    deno: "2.9.6",
    "@types/node": manifest.devDependencies["@types/node"],
  };
  for (const peer of Object.keys(manifest.peerDependencies ?? {})) dependencies[peer] = manifest.devDependencies[peer];
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder], folder);
  for (const file of ["package-smoke.mjs", "package-consumer.mts"]) copyFileSync(`scripts/${file}`, join(folder, file));
}

/** A user's compiler reads every declaration file, ours and those that ours need, and infers what it should. */
function compile() {
  const imports = entries.map((entry, index) => `export * as entry${index} from "${entry}";\n`);
  writeFileSync(join(folder, "entries.mts"), imports.join(""));
  const target = ["--target", "es2022", "--lib", "es2022", "--types", "node"];
  const options = ["--noEmit", "--strict", "--module", "nodenext", ...target, "--skipLibCheck", "false"];
  const compilers = [bin("typescript", "tsc"), join(folder, "node_modules", "typescript-oldest", "bin", "tsc")];
  for (const tsc of compilers) {
    run(tsc, [...options, "entries.mts", "package-consumer.mts"], folder);
    console.log(`types: a user's strict compiler takes them, ${run(tsc, ["--version"], folder).stdout.trim()}`);
  }
}

function runEverywhere() {
  const modules = join(folder, "node_modules");
  const exe = windows ? ".exe" : "";
  const runtimes = {
    [`node ${manifest.engines.node} (oldest)`]: [join(modules, "node-oldest", "bin", `node${exe}`)],
    [`node ${manifest.devDependencies.node}`]: [join(modules, "node-newest", "bin", `node${exe}`)],
    bun: [binary(join(modules, "@oven"), join("bin", `bun${exe}`)), "run"],
    deno: [binary(join(modules, "@deno"), `deno${exe}`), "run", "--allow-all", "--node-modules-dir=manual"],
  };
  for (const [name, [command, ...args]] of Object.entries(runtimes)) {
    run(command, [...args, "package-smoke.mjs", ...entries], folder);
    console.log(
      `${name}: ${run(command, ["--version"], folder).stdout.split("\n")[0]}: ${entries.length} entry points, one session`,
    );
  }
  const cli = join(modules, manifest.name, manifest.bin.phasegate);
  const { stdout } = run(join(modules, "node-oldest", "bin", `node${exe}`), [cli, "--version"], folder);
  if (stdout.trim() !== manifest.version) fail(`phasegate --version says ${stdout}, not ${manifest.version}`);
  console.log(`phasegate --version: ${stdout.trim()}`);
}

/** The binary among a runtime's platform packages that runs here: with more than one libc there is more than one. */
function binary(scope, path) {
  const candidates = (existsSync(scope) ? readdirSync(scope) : [])
    .map((name) => join(scope, name, path))
    .filter(existsSync);
  const found = candidates.find((file) => spawnSync(file, ["--version"]).status === 0);
  return found ?? fail(`no binary of ${scope.split(/[\\/]/).at(-1)} runs on this platform`);
}

/** A development tool's command, as a file for Node: no shell between, on no platform. */
function bin(name, command) {
  const { bin } = JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8"));
  return resolve("node_modules", name, typeof bin === "string" ? bin : (bin[command] ?? Object.values(bin)[0]));
}

/** Runs a command, or a JavaScript file; fails, with all that it said, unless it exits with 0. */
function run(command, args, cwd = root) {
  const script = /\.[cm]?js$|[\\/]tsc$/.test(command);
  const result = spawnSync(script ? process.execPath : command, script ? [command, ...args] : args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    shell: windows && command === "npm",
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return result;
  const reason = result.error?.message ?? `exit code ${result.status ?? result.signal}`;
  return fail(`${[command, ...args].join(" ")}: ${reason}\n${result.stdout}${result.stderr}`);
}

function fail(message) {
  throw new CheckFailed(message);
}
