import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { aProject } from "./a-project.js";

const EXAMPLES = fileURLToPath(new URL("../../examples/packs/", import.meta.url));

/** A project that init has set up, and copies of the example packs next to it. */
async function aProjectForPacks() {
  const project = await aProject({ "package.json": '{"name": "app", "private": true}' });
  await project.init("--client", "claude", "--starters", "bug_fix");
  const packs = join(project.home, "packs");
  await cp(EXAMPLES, packs, { recursive: true });
  const pack = (name: string) => join(packs, name);
  return {
    ...project,
    pack,
    run: (...args: string[]) => run(...args, "--project", project.root),
    serve: (...args: string[]) =>
      connectToServe(["--state", join(project.root, ".phasegate"), "--project", project.root, ...args]),
  };
}

test("add installs a pack, pins it, and names it in the configuration; its gates are served with its verifiers", async () => {
  const project = await aProjectForPacks();
  const { code, stdout, stderr } = await project.run("add", project.pack("acme-commits"), "--yes");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("workflow commit_change: 1 phase");
  expect(stdout).toContain("code of its own, which runs with the rights of the server: verifiers.mjs");
  expect(await project.json("package.json")).toMatchObject({ devDependencies: { "acme-commits": expect.anything() } });
  expect(await project.json(".phasegate-init.json")).toMatchObject({
    packs: [{ name: "acme-commits", version: "1.0.0", commands: [], hosts: [] }],
  });
  expect(await project.read(".mcp.json")).toContain('"--pack",\n        "acme-commits"');

  const { ask } = await project.serve("--pack", "acme-commits");
  const { session_id } = await ask({ action: "start", workflow_type: "commit_change" });
  const submit = (subject: string) => ask({ action: "complete_phase", session_id, phase: 1, evidence: { subject } });
  expect(JSON.stringify(await submit("sorts the list"))).toContain("begin the subject with feat, fix");
  expect(await submit("fix: the list is sorted by name")).toMatchObject({ workflow_complete: true });
});
