import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

const DEMO = fileURLToPath(new URL("../../examples/demo/run.ts", import.meta.url));

/** The demo asserts what it shows; this test checks how its output looks. */
describe("the demo", () => {
  it("runs to its end, prints plain text, and leaves no files behind", async () => {
    const folder = await temporaryFolder();
    const { FORCE_COLOR: _, ...inherited } = process.env;
    const env = { ...inherited, TMPDIR: folder, TMP: folder, TEMP: folder };
    const { status, stdout, stderr } = spawnSync(process.execPath, [DEMO], { encoding: "utf8", env, timeout: 110_000 });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const shown of [/is locked/, /there is no file NOTES\.md/, /SIGKILL/, /exit code 1, expected 0/, /Done/]) {
      expect(stdout).toMatch(shown);
    }
    expect(stdout).not.toContain("\u001b");
    expect(stdout.split("\n").every((line) => line.length <= 140)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  }, 120_000);
});
