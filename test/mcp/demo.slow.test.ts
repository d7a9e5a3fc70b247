import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
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
    // The lines of it that README and the site show: a long one is cut here, and broken there.
    const words = (text: string) => text.replace(/\s+/g, " ").trim();
    const recorded = readFileSync("examples/demo/refusal.txt", "utf8").split(/\n(?! {12})/);
    expect(recorded.length).toBeGreaterThan(6);
    for (const line of recorded) expect(words(stdout)).toContain(words(line).slice(0, 90));
  }, 120_000);
});
