/** The package as npm publishes it, installed in a folder. */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this repository. */
export const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/** Packs the package and installs it, with some of its peers: what it needs is linked to what this repository has. Returns its bin. */
export async function installPacked(root: string, peers: readonly string[]): Promise<string> {
  const to = join(root, "node_modules");
  await mkdir(to, { recursive: true });
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const packing = ["pack", "--ignore-scripts", "--json", "--pack-destination", to];
  const [{ filename }] = JSON.parse(execFileSync(npm, packing, { cwd: PACKAGE, encoding: "utf8", stdio: "pipe" }));
  execFileSync("tar", ["-xzf", filename], { cwd: to });
  await rename(join(to, "package"), join(to, "phasegate"));
  const { dependencies } = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), ...peers]) {
    await mkdir(dirname(join(to, name)), { recursive: true });
    await symlink(join(PACKAGE, "node_modules", name), join(to, name), "junction");
  }
  return join(to, "phasegate/dist/cli/main.js");
}
