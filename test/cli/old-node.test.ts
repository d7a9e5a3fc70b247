import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { EXIT } from "../../src/cli/exit-codes.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { runBin } from "./bin.js";

/** Runs the bin on a Node that says that it has this version. */
async function runOn(version: string, ...args: string[]) {
  const file = join(await temporaryFolder(), "version.cjs");
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  await writeFile(file, `Object.defineProperty(process, "versions", { value: ${versions} });`);
  return runBin(args, { env: { NODE_OPTIONS: `--require ${file}` } });
}

describe("the bin", () => {
  it.each([["20.20.2", "--version"], ["22.12.0", "serve", "--no-such-option"], ["18.0.0"]])(
    "on Node %s says which one it needs, before anything else",
    async (version, ...args) => {
      const needed = manifest.engines.node.replace(">=", "");
      const { code, stdout, stderr } = await runOn(version, ...args);
      expect(stderr).toMatch(
        new RegExp(
          `^phasegate: error: phasegate needs Node ${needed} or later, and this is ${version}\n {2}hint: .*\n$`,
        ),
      );
      expect([code, stdout]).toEqual([EXIT.environment, ""]);
    },
  );

  it.each(["22.13.0", "22.13.0-rc.1", "24.0.0", "100.1.0"])("runs on Node %s", async (version) => {
    const { code, stdout, stderr } = await runOn(version, "--version");
    expect([code, stdout.trim(), stderr]).toEqual([EXIT.ok, manifest.version, ""]);
  });
});
