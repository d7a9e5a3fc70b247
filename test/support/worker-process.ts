import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";

/** A worker under way. */
export interface Worker {
  readonly process: ChildProcess;
  /** The lines that it wrote, once it has ended: one for each thing that it was told is on the disk. */
  readonly ended: Promise<{ lines: readonly string[]; exitCode: number | null; errors: string }>;
}

/** Bundles a worker's source before the tests of a file; gives what starts it. */
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
      // Packages in CommonJS, `pg` for one, ask for Node's modules by `require`.
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
    // Whole lines only: a process may be killed while it writes one.
    child.on("close", (exitCode) => resolve({ lines: output.split("\n").slice(0, -1), exitCode, errors }));
  });
  return { process: child, ended };
}
