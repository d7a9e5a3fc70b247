/** Commands that people wait for load no more than they need: the modules of a whole engine take longer than most lists. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { BIN } from "./bin.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";

/** Runs the bin, and returns the packages that it loads. */
function packagesOf(...args: string[]): readonly string[] {
  const script = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ load(url, context, next) { seen.add(url); return next(url, context); } });
    process.argv = [process.execPath, ...${JSON.stringify([BIN, ...args])}];
    process.on("exit", () => console.error(JSON.stringify([...seen])));
    await import(process.argv[1]);`;
  const { stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(status).toBe(0);
  const urls: readonly string[] = JSON.parse(stderr.trim().split("\n").at(-1) ?? "");
  return [...new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))].sort();
}

it("the help loads what parses arguments, and no command", () => {
  expect(packagesOf("--help")).toEqual(["commander"]);
});

it("a list of sessions loads no engine, nothing that reads Markdown, and no file of zod, of which there are 100", async () => {
  const state = join(await temporaryFolder(), "state");
  const { close } = await sessionsOfAllKinds(state);
  onTestFinished(close);
  const packages = packagesOf("sessions", "--state", state, "--workflow", "release_v1");
  expect(packages).toContain("@noble/hashes");
  expect(packages.filter((name) => /^(?:mdast|micromark|unist|zod)/.test(name))).toEqual([]);
});
