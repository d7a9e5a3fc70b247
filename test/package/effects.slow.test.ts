import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BIOME = join(ROOT, "node_modules/@biomejs/biome/bin/biome");

/** Returns how often the linter finds a use of the runtime's time, timers or random numbers, by file. */
function effectsIn(files: Readonly<Record<string, string>>): Record<string, number> {
  const folder = mkdtempSync(join(tmpdir(), "phasegate-effects-"));
  for (const path of ["biome.jsonc", "scripts/effects.grit"]) cpSync(join(ROOT, path), join(folder, path));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  const found = (path: string) => {
    const args = [BIOME, "lint", "--vcs-enabled=false", "--max-diagnostics=none", path];
    try {
      return execFileSync(process.execPath, args, { cwd: folder, stdio: "pipe", encoding: "utf8" });
    } catch (error) {
      return String((error as { stderr: string }).stderr);
    }
  };
  const count = (output: string) => output.split("Take time, timers and random numbers from the clock").length - 1;
  const counts = Object.keys(files).map((path) => [path, count(found(path))] as const);
  rmSync(folder, { recursive: true });
  return Object.fromEntries(counts);
}

const EFFECTS = [
  ...["Math.random()", "Date.now()", "new Date()", "performance.now()", "setTimeout(() => {}, 1)"],
  ...["setInterval(() => {}, 1)", "setImmediate(() => {})", "crypto.randomUUID()", "AbortSignal.timeout(1)"],
  ...["new Date", "Date()", "globalThis.Date.now()", "globalThis.Math.random()", "globalThis.performance.now()"],
  ...["globalThis.setTimeout(() => {}, 1)", "globalThis.setInterval(() => {}, 1)"],
  ...["globalThis.crypto.randomUUID()", "const { random } = Math", "const { now } = Date", "process.hrtime()"],
];

it("the linter refuses the runtime's time, timers and random numbers in the engines, but not in adapters", () => {
  const code = EFFECTS.map((effect) => `${effect};\n`).join("");
  const given = "export const at = (now: number) => new Date(now).toISOString();\n";
  const planted = {
    "src/log/planted.ts": code,
    "src/phased/verify/planted.ts": code,
    "src/workspace/session/planted.ts": code,
    "src/routed/given.ts": given,
  };
  const free = { "src/ports/clock.ts": code, "src/storage/files/planted.ts": code };
  expect(effectsIn({ ...planted, ...free })).toEqual({
    "src/log/planted.ts": EFFECTS.length,
    "src/phased/verify/planted.ts": EFFECTS.length,
    "src/workspace/session/planted.ts": EFFECTS.length,
    "src/routed/given.ts": 0,
    "src/ports/clock.ts": 0,
    "src/storage/files/planted.ts": 0,
  });
});
