import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";

/** A running worker. */
export interface Worker {
  readonly process: ChildProcess;
  /** The output lines, once it has ended: one for each acknowledged write. */
  readonly ended: Promise<{ lines: readonly string[]; exitCode: number | null; errors: string }>;
}

/** Bundles a worker's source before the tests of a file; returns a function that starts it. */
export function workersOf(source: string): (...args: readonly string[]) => Worker {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "phasegate-worker-"));
    await build({
      entryPoints: [source],
      outfile: join(folder, "worker.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
      // Packages in CommonJS, such as `pg`, load Node's modules with `require`.
      banner: { js: `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);` },
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return (...args) => start(join(folder, "worker.mjs"), args);
}

function start(script: string, args: readonly string[]): Worker {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = new Promise<Awaited<Worker["ended"]>>((resolve) => {
    // Only complete lines: a process may be killed while it writes one.
    child.on("close", (exitCode) => resolve({ lines: output.split("\n").slice(0, -1), exitCode, errors }));
  });
  return { process: child, ended };
}
