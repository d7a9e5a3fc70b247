/**
 * Everything that reads what others have written takes time that grows with the text and no faster, whatever the text is:
 * each reader is given texts that repeat the words of its own language, alone, in turn, and side by side.
 */
import { spawnSync } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { grows, inputsOf } from "./growth.js";
import { READERS } from "./readers.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** So many texts each reader is given; all in the long form. */
const TEXTS = process.env.PHASEGATE_LONG === "1" ? Number.POSITIVE_INFINITY : 20;

describe("reading", () => {
  const found = new Map<string, readonly string[]>();

  beforeAll(async () => {
    // A process of its own: where coverage is measured, each call takes several times as long.
    const program = join(ROOT, "node_modules/.cache/phasegate", `read-all-${process.pid}.mjs`);
    await mkdir(dirname(program), { recursive: true });
    const entryPoints = [join(ROOT, "test/package/read-all.ts")];
    await build({ entryPoints, outfile: program, bundle: true, platform: "node", format: "esm", packages: "external" });
    const run = spawnSync(process.execPath, [program, String(TEXTS)], { encoding: "utf8", cwd: ROOT });
    await rm(program);
    expect(run.stderr).toBe("");
    for (const line of run.stdout.trim().split("\n")) {
      const { reader, slow } = JSON.parse(line);
      found.set(reader, slow);
    }
  }, 3_600_000);

  it.each(READERS)("$name takes time that grows with the text", ({ name }) => {
    expect(found.get(name)).toEqual([]);
  });
});

describe("the measurement", { timeout: 120_000 }, () => {
  const words = ["a", ":"];

  it("finds a reader whose time grows with the square of the text", async () => {
    const reader = { name: "", words, read: (text: string) => /:+$/.test(text) };
    const found = [...inputsOf(reader)].find(({ name }) => name.startsWith('"a", ":"'));
    const bar = { length: 10_000, milliseconds: 1000 };
    expect(found && (await grows(reader, found, bar))).toMatch(/ ms, the last for \d+ KB$/);
  });

  it("finds a reader that needs too long for each character", async () => {
    const wait = (milliseconds: number): void => {
      const before = process.cpuUsage();
      while (process.cpuUsage(before).user < 1000 * milliseconds);
    };
    const reader = { name: "", words, read: (text: string) => wait(text.length / 50) };
    const [input] = inputsOf(reader);
    const bar = { length: 10_000, milliseconds: 100 };
    expect(input && (await grows(reader, input, bar))).toMatch(/ ms, the last for \d+ KB$/);
  });
});

describe("check:regexps", { timeout: 120_000 }, () => {
  it("names an expression that takes longer, and one that is made where it can't be seen", () => {
    const file = "test/package/fixtures/slow-expressions.ts";
    const { status, stderr } = spawnSync(process.execPath, ["scripts/check-regexps.mjs", file], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toContain(`${file}:2: /[:\\s]+$/\n    2nd degree polynomial, for example on `);
    expect(stderr).toContain(`${file}:6: make it once, as the module loads`);
    expect(stderr).not.toContain(`${file}:3`);
  });
});
