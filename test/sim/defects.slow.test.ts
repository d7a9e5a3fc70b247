import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { transformSync } from "esbuild";
import { describe, expect, it } from "vitest";
import { howOften } from "../support/how-often.js";
import { DEFECTS, plant } from "./defects.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the simulator on sources with a defect, which it must find. Returns what it prints. */
async function find(defect: string, ...args: string[]): Promise<string> {
  const node = ["--import", "./scripts/run-sources.mjs", "test/sim/main.ts", ...args];
  const env = { ...process.env, PHASEGATE_DEFECT: defect };
  const run = promisify(execFile)(process.execPath, node, { cwd: ROOT, env });
  const { code, stdout } = await run.then(
    () => expect.unreachable("the defect was not found"),
    (error: { readonly code: number; readonly stdout: string }) => error,
  );
  expect(code).toBe(1);
  return stdout;
}

describe("a planted defect", () => {
  it.each(DEFECTS)("has its place in the sources, which can be read with it: $name", (defect) => {
    const source = readFileSync(new URL(`../../src/${defect.file}`, import.meta.url), "utf8");
    const planted = plant(source, defect);
    expect(planted).not.toBe(source);
    expect(() => transformSync(planted, { loader: "ts" })).not.toThrow();
  });

  it("is found, and the command that is printed finds it again in a short trace", async () => {
    const stdout = await find("conflict-is-done", "--seeds", "100");
    const [, seed = "", kept = ""] =
      /This one: {7}npm run sim -- --seed (\d+) --keep "(.+)" --trace/.exec(stdout) ?? [];
    const problem = "an acknowledged commit is not in the log";
    expect(stdout).toContain(problem);
    const again = await find("conflict-is-done", "--seed", seed, "--keep", kept);
    expect(again).toContain(problem);
    const steps = (text: string) => Number(/fails after (\d+) steps/.exec(text)?.[1]);
    expect(steps(again)).toBeLessThan(steps(stdout));
  });

  const explored = [
    ["verdict-kept-too-long", "1", "a waiver", "the gate says no"],
    ["conflict-is-done", "1", "an approval, and other evidence", "an acknowledged commit is not in the log"],
    ["unknown-is-done", "4", "a waiver", "an acknowledged commit is not in the log"],
  ] as const;
  it.each(explored.slice(0, howOften(1, 3)))(
    "is found where orders are explored: %s",
    async (defect, depth, world, problem) => {
      const args = ["--explore", depth, "--world", world];
      const stdout = await find(defect, ...args);
      expect(stdout).toContain(problem);
      const [, faults = "", only = ""] = /--faults (\d) --only "(.*)"$/m.exec(stdout) ?? [];
      const again = await find(defect, ...args, "--faults", faults, "--only", only);
      expect(again).toContain(problem);
      expect(again).toContain(" 1 runs, ");
    },
  );

  it.each(howOften([], DEFECTS))("is found by its seed: $name", async ({ name, seed, world = [] }) => {
    expect(await find(name, "--unshrunk", "--seed", `${seed}`, ...world)).toContain(`seed ${seed} fails`);
  });
});
