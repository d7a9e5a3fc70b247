import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { onTestFinished } from "vitest";

/** A temporary folder with the given files, and with copies of the project's own; gone after the test. */
export function plant(files: Readonly<Record<string, string>>, copied: readonly string[] = []): string {
  const folder = mkdtempSync(join(tmpdir(), "phasegate-planted-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const file of copied) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(file, join(folder, file));
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  // A junction, since Windows lets only administrators make symbolic links.
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"), "junction");
  return folder;
}

/** Runs a JavaScript file of the project in a folder. */
export function runTool(file: string, args: readonly string[], cwd: string): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve(file), ...args], {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, output: stdout + stderr };
}
