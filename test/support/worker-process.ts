import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { build } from "esbuild";
import { beforeAll } from "vitest";

/** A running worker. */
export interface Worker {
  readonly process: ChildProcess;
  /** The output lines, once it has ended: one for each acknowledged write. */
  readonly ended: Promise<{ lines: readonly string[]; exitCode: number | null; errors: string }>;
}

/**
 * Starts a worker; `together` starts several, which call `begin` and go on from there at the same moment, and `each`
 * does so with arguments of their own.
 */
export interface StartWorker {
  (...args: readonly string[]): Worker;
  each(args: readonly (readonly string[])[]): Promise<readonly Worker[]>;
  together(count: number, ...args: readonly string[]): Promise<readonly Worker[]>;
}

/** Bundles a worker's source before the tests of a file, once in a run; returns the functions that start it. */
export function workersOf(source: string): StartWorker {
  // The temporary files of a run are deleted at its end.
  const script = join(tmpdir(), `${relative(process.cwd(), source).replaceAll(sep, "-")}.mjs`);
  beforeAll(async () => {
    if (existsSync(script)) return;
    const own = `${script}-${process.pid}`;
    await build({
      entryPoints: [source],
      outfile: own,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node22",
      // Packages in CommonJS, such as `pg`, load Node's modules with `require`.
      banner: { js: `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);` },
    });
    await rename(own, script);
  });
  const each = async (all: readonly (readonly string[])[]) => {
    const workers = all.map((args) => start(script, args, ["ipc"]));
    await Promise.all(workers.map(isReady));
    for (const { process } of workers) if (process.connected) process.send("begin");
    return workers;
  };
  const together = (count: number, ...args: readonly string[]) => each(Array.from({ length: count }, () => args));
  return Object.assign((...args: readonly string[]) => start(script, args), { each, together });
}

/** Waits until a worker calls `begin`, or has ended before. */
async function isReady({ process }: Worker): Promise<void> {
  await new Promise<void>((resolve) => {
    process.once("message", () => resolve());
    process.once("close", () => resolve());
  });
}

function start(script: string, args: readonly string[], more: readonly "ipc"[] = []): Worker {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe", ...more] });
  if (child.stdout === null || child.stderr === null) throw new Error("the worker has no output");
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
