/** The packed package in a folder of its own, as a user has it: for scripts that install it beside other packages. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Packs the build. Returns a temporary folder, and the package in it. */
export function pack(name) {
  const root = mkdtempSync(join(tmpdir(), `phasegate-${name}-`));
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", root];
  const packed = spawnSync("npm", args, { cwd: resolve("."), encoding: "utf8", stdio: "pipe" });
  return { root, tarball: join(root, JSON.parse(packed.stdout)[0].filename) };
}

/** Runs a command. Resolves to whether it has succeeded, with all that it has printed. */
export function run(command, args, { cwd, env = process.env }) {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => done({ ok: code === 0, output }));
  });
}

/** Makes a folder in `root` and installs packages there. Resolves to the folder, and how that went. */
export async function install(root, packages) {
  const folder = mkdtempSync(join(root, "host-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "host", private: true, type: "module" }));
  const installed = await run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: folder });
  return { folder, ...installed };
}

/** Runs jobs, two at once. Prints what became of each; sets the exit code to 1 if one has failed. */
export async function runAll(jobs) {
  const waiting = [...jobs];
  async function next() {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const { ok, output } = await job.run();
      console.log(`${ok ? "ok    " : "failed"} ${job.name}`);
      if (ok) continue;
      process.exitCode = 1;
      console.error(output.slice(-3000));
    }
  }
  await Promise.all([next(), next()]);
}

/** Returns the names that were given to a script, or all that it knows. */
export function chosen(known) {
  const named = process.argv.slice(2);
  const unknown = named.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no ${unknown}: name some of ${known.join(", ")}`);
  return named.length === 0 ? known : named;
}
