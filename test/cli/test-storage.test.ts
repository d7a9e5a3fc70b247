import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { howOften } from "../support/how-often.js";
import { run } from "./run-cli.js";

const FILES = join(import.meta.dirname, "../testing/storages/files.ts");
const MEMORY = pathToFileURL(join(import.meta.dirname, "../testing/storages/memory.ts")).href;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "phasegate-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Writes a module of an adapter's author. */
async function moduleOf(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

describe("phasegate test-storage", () => {
  it("prints the result of each case, and a count at the end", { timeout: 120_000 }, async () => {
    // The short form runs some of the cases: other tests run all of them on the same storage.
    const selections = howOften(
      [
        ["--only", "append:"],
        ["--only", "kills: acknowledged"],
      ],
      [[]],
    );
    let said = "";
    for (const only of selections) {
      const { code, stdout, stderr } = await run("test-storage", FILES, "--kills", "3", ...only);
      expect(stderr).toBe("");
      expect(stdout).toMatch(/\n\d+ kept, 0 broken, \d+ not tried\n$/);
      expect(code).toBe(0);
      said += stdout;
    }
    expect(said).toMatch(/^kept {5} append: stores the first commit and those that follow it$/m);
    expect(said).toMatch(/^kept {5} kills: acknowledged commits are complete/m);
  });

  it("prints which cases fail and why, and which could not run", async () => {
    const file = await moduleOf(
      "broken.mjs",
      `import { open as sound } from ${JSON.stringify(MEMORY)};
       export async function open() {
         const storage = await sound();
         storage.countActive = async () => 7;
         return storage;
       }
       export async function finish() { globalThis.finished = true; }`,
    );
    const { code, stdout } = await run("test-storage", file);
    expect(stdout).toMatch(
      /^broken {3} countActive: counts no further.*\n {12}expected \[ 0, 1, 3, 4, 4, 4 \], and got \[ 7, .*\(after countActive\(1000\)\)$/m,
    );
    expect(stdout).toMatch(/^not tried compact: .* \(the adapter has no `compact`\)$/m);
    expect(stdout).toMatch(/\n\d+ kept, \d+ broken, \d+ not tried\n$/);
    expect(code).toBe(1);
    expect(Reflect.get(globalThis, "finished")).toBe(true);
    const json = await run("test-storage", file, "--only", "countActive", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      broken: 1,
      results: [{ outcome: "broken", error: expect.stringContaining("and got [ 7, 7, 7, 7, 7, 7 ]") }],
    });
    expect(json.code).toBe(1);
  });

  it("refuses a name that no case has, and lists the prefixes", async () => {
    const file = await moduleOf("sound.mjs", `export { open } from ${JSON.stringify(MEMORY)};`);
    const { code, stdout, stderr } = await run("test-storage", file, "--only", "no such case");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain('no case has "no such case" in its name');
    expect(stderr).toContain("append:, read:");
  });

  it("refuses a file that is not such a module", async () => {
    const wrong = await moduleOf("wrong.mjs", "export const open = 1;");
    expect(await run("test-storage", wrong)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("does not export"),
    });
    const half = await moduleOf("half.mjs", "export function open() {} export const spawn = {};");
    expect(await run("test-storage", half)).toMatchObject({ code: 2 });
    const throws = await moduleOf("throws.mjs", 'throw new Error("no database");');
    expect(await run("test-storage", throws)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no database"),
    });
    expect(await run("test-storage", join(folder, "none.mjs"))).toMatchObject({ code: 3 });
    expect(await run("test-storage", folder)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("is not a file"),
    });
    expect(await run("test-storage", wrong, "--kills", "0")).toMatchObject({ code: 2 });
  });
});
