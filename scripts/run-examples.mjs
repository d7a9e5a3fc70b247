/**
 * Runs every examples/*.ts as a user would, against the build: `phasegate` in them is this package,
 * through its own exports. Each gets an empty folder to work in, a minute, and nothing on stdin; it
 * must exit with 0. An example that reads DATABASE_URL gets a PostgreSQL server, started for it. Needs a build.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startPostgres } from "../test/support/postgres-server.ts";

const examples = (existsSync("examples") ? readdirSync("examples") : []).filter((file) => file.endsWith(".ts")).sort();
const failed = [];

for (const example of examples) {
  const folder = mkdtempSync(join(tmpdir(), "phasegate-example-"));
  const needsServer = readFileSync(resolve("examples", example), "utf8").includes("process.env.DATABASE_URL");
  const server = needsServer && process.env.DATABASE_URL === undefined ? await startPostgres() : undefined;
  const run = spawnSync(process.execPath, [resolve("examples", example)], {
    cwd: folder,
    env: { ...process.env, ...(server === undefined ? {} : { DATABASE_URL: server.url }) },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
  const ok = run.status === 0;
  console.log(`${ok ? "ok    " : "failed"} examples/${example}`);
  if (ok) continue;
  failed.push(example);
  console.error(run.error?.message ?? `exit code ${run.status ?? run.signal}`);
  console.error(run.stdout + run.stderr);
}

console.log(`${examples.length - failed.length} examples ran, ${failed.length} failed`);
if (failed.length > 0) process.exitCode = 1;
