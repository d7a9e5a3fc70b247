import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Path of the built bin. Needs `npm run build`. */
export const BIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
if (!existsSync(BIN)) throw new Error("dist/cli/main.js is missing: run `npm run build` first");

/** The exit code and the output of a process. */
export interface BinRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface BinOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly script?: string;
}

/** Runs the bin as a child process. */
export function runBin(args: readonly string[], options: BinOptions = {}): Promise<BinRun> {
  const { env = {}, stdin = "", script = BIN } = options;
  const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, ...env } });
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    written.stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    written.stderr += String(chunk);
  });
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, ...written })));
}
