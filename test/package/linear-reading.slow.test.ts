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
import { howOften } from "../support/how-often.js";
import { grows, inputsOf, type Reader } from "./growth.js";
import { READERS } from "./readers.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** So many kinds of text each reader is given; all in the long form. */
const TEXTS = howOften(1, Number.POSITIVE_INFINITY);

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

describe("the measurement", () => {
  /** A reader that takes so many milliseconds over a text of so many characters, by a clock that nothing disturbs. */
  const found = (cost: (length: number) => number) => {
    const reader: Reader = { name: "", words: ["a", ":"], read: () => undefined };
    const [input] = inputsOf(reader);
    const bar = { length: 100_000, milliseconds: 1000 };
    return input && grows(reader, input, async (_, text) => cost(text.length), bar);
  };

  it("finds a reader whose time grows with the square of the text", async () => {
    expect(await found((length) => (length / 1000) ** 2)).toMatch(/^2500, 10000 ms, the last for 100 KB$/);
  });

  it("finds a reader that needs too long for each character", async () => {
    expect(await found((length) => length / 20)).toMatch(/^2500, 5000 ms, the last for 100 KB$/);
  });

  it("lets a reader pass whose time grows with the text, and one that a pause has made slow once", async () => {
    expect(await found((length) => length / 1000)).toBeUndefined();
    let calls = 0;
    expect(await found((length) => length / 1000 + (++calls === 3 ? 400 : 0))).toBeUndefined();
  });

  it("measures the time of the processor", async () => {
    const reader: Reader = { name: "", words: ["a", ":"], read: (text) => /:+$/.test(text) };
    const input = [...inputsOf(reader)].find(({ name }) => name.startsWith('"a", ":"'));
    expect(input && (await grows(reader, input, undefined, { length: 4000, milliseconds: 1 }))).toMatch(
      / ms, the last/,
    );
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
