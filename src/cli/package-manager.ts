/**
 * Installs packages by the package manager of a project, without running their scripts: in a folder apart, to look at one, and in
 * the project itself.
 */
import { copyFile, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { parse, stringify } from "yaml";
import type { Roots } from "../setup/places.js";
import { exists, isFolder, readCheckFacts } from "../setup/project.js";
import { type PackageManager, packageManagerOf } from "../setup/wanted.js";
import { runProcess } from "../verifiers/run-process.js";
import { isJsonObject } from "../workflow/json.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { findProgram } from "./programs.js";
import { counted } from "./terminal.js";

/** Yarn 1 has other options than the later ones. */
type Program = PackageManager | "yarn1";

const TIME_MS = 300_000;
const OUTPUT_MAX = 4 * 1024 * 1024;

/** In a folder apart. Packages that the project has, as a peer needs, are not installed there. */
const APART: Readonly<Record<Program, readonly string[]>> = {
  npm: ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--legacy-peer-deps"],
  pnpm: [
    "install",
    "--ignore-scripts",
    "--no-frozen-lockfile",
    "--ignore-workspace",
    "--config.auto-install-peers=false",
  ],
  yarn: ["install", "--mode=skip-build"],
  yarn1: ["install", "--ignore-scripts", "--no-lockfile", "--non-interactive"],
  bun: ["install", "--ignore-scripts", "--no-save", "--omit=peer"],
};

/** As a development dependency of the project; the package follows. */
const ADDED: Readonly<Record<Program, readonly string[]>> = {
  npm: ["install", "--save-dev", "--ignore-scripts", "--no-audit", "--no-fund"],
  pnpm: ["add", "--save-dev", "--ignore-scripts", "--ignore-workspace-root-check"],
  yarn: ["add", "--dev", "--mode=skip-build"],
  yarn1: ["add", "--dev", "--ignore-scripts", "--non-interactive", "--ignore-workspace-root-check"],
  bun: ["add", "--dev", "--ignore-scripts"],
};

const REMOVED: Readonly<Record<Program, readonly string[]>> = {
  npm: ["uninstall", "--ignore-scripts", "--no-audit", "--no-fund"],
  pnpm: ["remove", "--config.ignore-scripts=true"],
  yarn: ["remove", "--mode=skip-build"],
  yarn1: ["remove", "--ignore-scripts", "--non-interactive", "--ignore-workspace-root-check"],
  bun: ["remove", "--ignore-scripts"],
};

/** Files that say where packages come from. */
const SETTINGS = [".npmrc", ".yarnrc", "bunfig.toml"];

/** The name that a package has in the folder apart, whatever its own one is. */
const APART_NAME = "pack";

/** A package that was asked for: what package.json would say of it. */
export type Spec = string;

/** Returns what package.json says of a package: of a tarball or a folder its place, else its name with its version or tag. */
export async function specOf(given: string): Promise<Spec> {
  const isPath = /^(?:\.{0,2}[\\/]|\.{1,2}$|[A-Za-z]:[\\/]|file:)/.test(given) || /\.t(?:ar\.)?gz$/.test(given);
  if (!isPath) return `npm:${given.lastIndexOf("@") > 0 ? given : `${given}@latest`}`;
  const path = resolve(given.replace(/^file:(?:\/\/)?/, ""));
  if (await exists(path)) return `file:${await realpath(path)}`;
  throw new CommandFailure(`there is no such tarball or folder: ${path}`, EXIT.environment, "Check the path.");
}

/** Installs a package in a folder apart, and returns the package's folder. The caller removes what `close` removes. */
export async function installApart(
  roots: Roots,
  spec: Spec,
): Promise<{ readonly folder: string; close(): Promise<void> }> {
  const at = await mkdtemp(join(await realpath(tmpdir()), "phasegate-pack-"));
  const close = () => rm(at, { recursive: true, force: true });
  try {
    const manifest = { name: "apart", private: true, dependencies: { [APART_NAME]: spec } };
    await writeFile(join(at, "package.json"), JSON.stringify(manifest));
    for (const name of SETTINGS) {
      const found = await nearest(roots.root, name);
      if (found !== undefined) await copyFile(found, join(at, name));
    }
    await writeYarnSettings(roots, at);
    await run(roots, APART, [], at, `Nothing was installed. Check the name, and where packages come from: ${spec}`);
    return { folder: join(at, "node_modules", APART_NAME), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Installs a package in the project: one of a tarball or folder, or a version of one. */
export async function installIn(roots: Roots, name: string, version: string, spec: Spec): Promise<void> {
  await run(roots, ADDED, [`${name}@${spec.startsWith("file:") ? spec : version}`], roots.root);
}

export async function uninstallIn(roots: Roots, name: string): Promise<void> {
  await run(roots, REMOVED, [name], roots.root);
}

/** Without these, yarn would take its settings of the project, but for the paths in them, and wait for a lockfile. */
async function writeYarnSettings({ root }: Roots, at: string): Promise<void> {
  await writeFile(join(at, "yarn.lock"), "");
  const found = await nearest(root, ".yarnrc.yml");
  const settings: unknown = found === undefined ? {} : parse(await readFile(found, "utf8"));
  const { yarnPath: _, plugins: __, ...kept } = isJsonObject(settings) ? settings : {};
  const text = stringify({ ...kept, nodeLinker: "node-modules", enableImmutableInstalls: false });
  await writeFile(join(at, ".yarnrc.yml"), text);
}

/** Returns the nearest file of a name in a folder and those above it, up to the root of the repository. */
async function nearest(folder: string, name: string): Promise<string | undefined> {
  if (await exists(join(folder, name))) return join(folder, name);
  const isTop = dirname(folder) === folder || (await isFolder(join(folder, ".git")));
  return isTop ? undefined : nearest(dirname(folder), name);
}

async function run(
  roots: Roots,
  options: Readonly<Record<Program, readonly string[]>>,
  more: readonly string[],
  cwd: string,
  hint?: string,
): Promise<void> {
  const facts = await readCheckFacts(roots);
  const manager = packageManagerOf(facts);
  const executable = await findProgram(manager, roots.root);
  const shown = `${manager} ${options[manager].join(" ")} ${more.join(" ")}`.trim();
  if (executable === undefined) {
    throw new CommandFailure(`${manager} is not on the PATH outside of the project`, EXIT.environment, "Install it.");
  }
  const start = (args: readonly string[]) =>
    runProcess({
      ...{ executable, args, cwd, env: environment(), timeoutMs: TIME_MS, maxOutputBytes: OUTPUT_MAX },
      signal: new AbortController().signal,
    });
  const isYarn1 = manager === "yarn" && String((await start(["--version"])).stdout).startsWith("1.");
  const { exit, stopped, output } = await start([...options[isYarn1 ? "yarn1" : manager], ...more]);
  if (exit === 0) return;
  const how = stopped === "timeout" ? `took more than ${counted(TIME_MS / 60_000, "minute")}` : `ended with ${exit}`;
  const said = output.toString("utf8").trim().slice(-1500);
  const byHand = `Correct that, or run it by hand in ${roots.root}.`;
  throw new CommandFailure(`${shown} ${how}: ${said}`, EXIT.environment, hint ?? byHand);
}

/** Of a package manager that has started this process: where it works. Another one works in another folder. */
const OF_PARENT = /^npm_config_(?:local_prefix|workspaces?)$/i;

function environment(): Record<string, string> {
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || OF_PARENT.test(name) ? [] : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}
