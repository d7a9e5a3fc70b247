/**
 * `npm run release:artifacts`: writes to dist-artifacts/ what registries and clients install phasegate by, packs the bundle,
 * and lets the clients' own programs check it. Needs a build; npx downloads the programs.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { Ajv } from "ajv";
import { artifacts, bundleName, readSource, SERVER_SCHEMA, serverJson } from "./artifacts.ts";

/** The programs that check and pack, in the versions that were tried. */
const MCPB = "@anthropic-ai/mcpb@2.1.2";
const CLAUDE = "@anthropic-ai/claude-code@2.1.332";
const GEMINI = "@google/gemini-cli@0.61.0";

const out = resolve("dist-artifacts");
/** Programs of clients write their settings here, not into the user's own. */
const home = mkdtempSync(join(tmpdir(), "phasegate-artifacts-"));
const env = { ...process.env, ...ownNpm(), HOME: home, USERPROFILE: home };

try {
  await release();
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}

async function release() {
  const source = await readSource(JSON.parse(readFileSync("package.json", "utf8")), "starters");
  rmSync(out, { recursive: true, force: true });
  for (const [path, text] of artifacts(source)) write(path, text);

  const bundle = packBundle(bundleName(source.manifest));
  const digest = createHash("sha256").update(readFileSync(bundle)).digest("hex");
  const described = serverJson(source, digest);
  write("server.json", described);

  npx(CLAUDE, "claude", "plugin", "validate", "--strict", join(out, "claude"));
  npx(CLAUDE, "claude", "plugin", "validate", "--strict", join(out, "claude", source.manifest.name));
  npx(GEMINI, "gemini", "extensions", "validate", join(out, "gemini"));
  await checkServerJson(JSON.parse(described));
  console.log(
    `\n${readdirSync(out)
      .map((name) => `dist-artifacts/${name}`)
      .join("\n")}`,
  );
}

function write(path: string, text: string): void {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Installs the packed package, with what the server needs, into the bundle's folder, and packs that. Returns its path. */
function packBundle(name: string): string {
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", home]));
  const folder = join(out, "mcpb");
  // It is not published yet: the tarball takes its place.
  run(
    "npm",
    ["install", "--omit=dev", "--no-save", "--no-audit", "--no-fund", "--install-links", join(home, filename)],
    env,
    folder,
  );
  npx(MCPB, "mcpb", "validate", join(folder, "manifest.json"));
  const bundle = join(out, name);
  npx(MCPB, "mcpb", "pack", folder, bundle);
  return bundle;
}

/** Checks server.json by the registry's schema. */
async function checkServerJson(value: unknown): Promise<void> {
  const schema = await fetch(SERVER_SCHEMA)
    .then((response) => (response.ok ? response.json() : Promise.reject(new Error(`status ${response.status}`))))
    .catch((error: unknown) => console.warn(`✗ server.json is not checked: ${SERVER_SCHEMA} can't be read: ${error}`));
  if (schema === undefined) return;
  // It is auto-generated, with keywords that describe only.
  const check = new Ajv({ strict: false, validateFormats: false }).compile(schema);
  if (!check(value)) throw new Error(`server.json: ${JSON.stringify(check.errors, null, 2)}`);
  console.log("✓ server.json is as its schema says");
}

function npx(spec: string, program: string, ...args: string[]): void {
  run("npx", ["-y", "-p", spec, program, ...args]);
  console.log(`✓ ${program} ${args.map((arg) => arg.replace(`${out}/`, "")).join(" ")}`);
}

/** Returns the variables by which npm finds the user's own settings and cache, in another home, too. */
function ownNpm() {
  const found = ["cache", "userconfig"].map((key) => [
    `npm_config_${key}`,
    run("npm", ["config", "get", key], process.env).trim(),
  ]);
  return Object.fromEntries(found);
}

/** Returns what a program has printed. Throws if it fails. */
function run(
  program: string,
  args: readonly string[],
  variables: NodeJS.ProcessEnv = env,
  cwd = process.cwd(),
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: variables,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(" ")} has failed: ${error ?? `${stdout}\n${stderr}`}`);
}
