import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";

/** A version that a process was told is on the disk. */
export interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

/** A worker under way. */
export interface Worker {
  readonly process: ChildProcess;
  /** All that it acknowledged, once it has ended. */
  readonly ended: Promise<{ acknowledged: Acknowledged[]; exitCode: number | null; errors: string }>;
}

/** Bundles `append-worker.ts` before the tests of a file; gives what starts it. */
export function appendWorkers(): (root: string, appends: number, ids: readonly string[]) => Worker {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "phasegate-worker-"));
    await build({
      entryPoints: [join(import.meta.dirname, "append-worker.ts")],
      outfile: join(folder, "worker.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return (root, appends, ids) => start(join(folder, "worker.mjs"), [root, String(appends), ...ids]);
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
    child.on("close", (exitCode) => resolve({ acknowledged: parse(output), exitCode, errors }));
  });
  return { process: child, ended };
}

/** Whole lines only: a process may be killed while it writes one. */
function parse(output: string): Acknowledged[] {
  const lines = output.split("\n").slice(0, -1);
  return lines.map((line) => {
    const [id = "", version = "", hash = ""] = line.split(" ");
    return { id, version: Number(version), hash };
  });
}
