import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { plant, runTool } from "./run-tool.js";

const SCRIPT = "scripts/check-bundle.mjs";
/** Noise that gzip can't make smaller. */
const heavy = `export const heavy = "${Array.from({ length: 100_000 }, (_, i) => Math.abs(Math.sin(i)).toString(36).slice(2, 5)).join("")}";`;

test("an import of node: is refused, in what loads later too", () => {
  const files = {
    "now.js": 'import "node:fs";',
    "later.js": 'await import("./chunk.js");',
    "chunk.js": 'import "node:os";',
  };
  const folder = plant(files);
  for (const [entry, module] of [
    ["now.js", "node:fs"],
    ["later.js", "node:os"],
  ] as const) {
    const { status, output } = runTool(SCRIPT, [entry], folder);
    expect(output).toContain(`Could not resolve "${module}"`);
    expect(status).toBe(1);
  }
});

test("90 kB that load at once are refused, the same as an import() are not", () => {
  const files = {
    "heavy.js": heavy,
    "now.js": 'export * from "./heavy.js";',
    "later.js": 'export const later = () => import("./heavy.js");',
  };
  const folder = plant(files);
  expect(runTool(SCRIPT, ["now.js"], folder)).toMatchObject({
    status: 1,
    output: expect.stringContaining("now.js weighs"),
  });
  expect(runTool(SCRIPT, ["later.js"], folder)).toMatchObject({
    status: 0,
    output: expect.stringContaining("not counted"),
  });
});

test("the core can be bundled by a host that has not installed the package for passkeys", async () => {
  const folder = await temporaryFolder();
  const [packages, own] = [join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules")];
  mkdirSync(own);
  cpSync(join(import.meta.dirname, "../../dist"), join(folder, "dist"), { recursive: true });
  for (const name of readdirSync(packages)) {
    if (name !== "@simplewebauthn") symlinkSync(join(packages, name), join(own, name));
  }
  const { warnings } = await build({
    ...{ entryPoints: [join(folder, "dist/index.js")], bundle: true, platform: "browser", format: "esm" },
    ...{ splitting: true, write: false, outdir: join(folder, "out"), logLevel: "silent" },
  });
  expect(warnings).toEqual([]);
});
