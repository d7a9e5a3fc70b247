import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { discoverBundles, readBundle } from "phasegate/workspace";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { writeFiles } from "../../support/write-files.js";

const OFFICE = fileURLToPath(new URL("../bundle", import.meta.url));
const AGENT = "  - {id: clerk, name: Clerk, file: clerk.md, entry_point: true}\n";

/** Returns the diagnostics of a bundle.yaml, as code and position. */
async function faultsOf(text: string): Promise<string[]> {
  const { diagnostics } = await readBundle("bundle.yaml", text);
  return diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`);
}

describe("a bundle.yaml", () => {
  it("with several agents contains their names and the entry point", async () => {
    const text = `type: bundle
name: office
version: 1.5
description: An office
author: Ada
agents:
  - {id: clerk, name: Clerk, title: Notes, description: Takes notes, file: agents/clerk.md, entry_point: true}
  - {id: other, file: "{bundle-root}/agents/other.md", entry_point: false}
workflows: [workflows/a, {bad: 1}]
resources: {workflows: workflows/, config: config.yaml}
core_dependencies: [tasks/workflow.md]
`;
    const { bundle, diagnostics } = await readBundle("bundle.yaml", text.replace(", {bad: 1}", ""));
    expect(diagnostics).toEqual([]);
    expect(bundle).toEqual({
      type: "bundle",
      name: "office",
      version: "1.5",
      description: "An office",
      agents: [
        {
          id: "clerk",
          name: "Clerk",
          title: "Notes",
          description: "Takes notes",
          file: "agents/clerk.md",
          entryPoint: true,
        },
        { id: "other", name: "other", file: "agents/other.md", entryPoint: false },
      ],
      workflows: [{ name: "a", path: "workflows/a" }],
      resources: { workflows: "workflows", config: "config.yaml" },
      coreDependencies: ["tasks/workflow.md"],
    });
  });

  it("with one agent needs no entry point", async () => {
    const text =
      "type: standalone\nname: one\nagent: {id: a, name: A, file: agent.md}\nworkflows: [{name: x, path: w/x}, {path: w/y}]\n";
    const { bundle } = await readBundle("bundle.yaml", text);
    expect(bundle?.agents).toEqual([{ id: "a", name: "A", file: "agent.md", entryPoint: true }]);
    expect(bundle?.workflows).toEqual([
      { name: "x", path: "w/x" },
      { name: "y", path: "w/y" },
    ]);
  });

  it.each([
    ["a file that is not YAML", "type: [\n", ["error YAML_SYNTAX 2:1"]],
    ["a list", "- type: bundle\n", ["error VALUE_WRONG 1:1"]],
    ["of another type", `type: team\nname: x\nagents:\n${AGENT}`, ["error VALUE_WRONG 1:1"]],
    ["without name and agents", "type: bundle\n", ["error KEY_MISSING 1:1", "error KEY_MISSING 1:1"]],
    ["without its one agent", "type: standalone\nname: x\n", ["error KEY_MISSING 1:1"]],
    [
      "with two agents of one id",
      `type: bundle\nname: x\nagents:\n${AGENT}${AGENT}`,
      ["error BUNDLE_PART_DUPLICATE 5:6"],
    ],
    [
      "with two workflows of one name",
      `type: bundle\nname: x\nagents:\n${AGENT}workflows:\n  - a/w\n  - b/W\n`,
      ["error BUNDLE_PART_DUPLICATE 7:5"],
    ],
    [
      "with a path up",
      `type: bundle\nname: x\nagents:\n${AGENT.replace("clerk.md", "../clerk.md")}`,
      ["error PATH_REFUSED 4:30"],
    ],
    [
      "with an absolute path",
      `type: bundle\nname: x\nagents:\n${AGENT}workflows: [/etc]\n`,
      ["error PATH_REFUSED 5:13"],
    ],
    [
      "with a resource outside",
      `type: bundle\nname: x\nagents:\n${AGENT}resources: {a: ../b}\n`,
      ["error PATH_REFUSED 5:13"],
    ],
    [
      "without an entry point",
      `type: bundle\nname: x\nagents:\n${AGENT.replace("true", "false")}`,
      ["error BUNDLE_ENTRY_MISSING 3:1"],
    ],
    [
      "with an agent without a file",
      "type: bundle\nname: x\nagents:\n  - {id: a, entry_point: true}\n",
      ["error KEY_MISSING 4:5"],
    ],
    ["with an unknown key", `type: bundle\nname: x\nagent_s: 1\nagents:\n${AGENT}`, ["warning KEY_UNKNOWN 3:1"]],
  ])("%s is reported with its line", async (_, text, faults) => {
    expect(await faultsOf(text)).toEqual(faults);
  });
});

describe("bundles below a folder", () => {
  it("are found, and broken ones are left out with diagnostics", async () => {
    const base = await temporaryFolder();
    await cp(OFFICE, join(base, "bundles/office"), { recursive: true });
    await writeFiles(base, {
      "bundles/broken/bundle.yaml": "type: bundle\nname: [\n",
      "bundles/group/deep/bundle.yaml": "type: standalone\nname: deep\nagent: {id: a, file: a.md}\nworkflows: [gone]\n",
      "bundles/group/deep/a.md": "# A",
      "bundles/empty/bundle.yaml": "type: standalone\nname: empty\nagent: {id: a, file: a.md}\n",
      "bundles/twin/bundle.yaml": "type: standalone\nname: office\nagent: {id: a, file: a.md}\n",
      "bundles/twin/a.md": "# A",
      "bundles/odd/bundle.yaml/not-a-file.md": "",
      "bundles/binary/bundle.yaml": new Uint8Array([0xff, 0xfe, 0xff]),
    });
    const { bundles, diagnostics } = await discoverBundles(join(base, "bundles"));
    expect(bundles.map(({ name, folder }) => [name, folder])).toEqual([
      ["deep", "group/deep"],
      ["office", "office"],
    ]);
    expect(diagnostics.map(({ severity, code, file }) => `${severity} ${code} ${file}`)).toEqual([
      "error FILE_UNREADABLE binary/bundle.yaml",
      "error YAML_SYNTAX broken/bundle.yaml",
      "error BUNDLE_PART_MISSING empty/bundle.yaml",
      "warning BUNDLE_PART_MISSING group/deep/bundle.yaml",
      "error BUNDLE_NAME_DUPLICATE twin/bundle.yaml",
    ]);
  });

  it.each([
    ["than 16 levels", async (base: string) => mkdir(join(base, "a", ...Array(17).fill("b")), { recursive: true })],
    [
      "than 10,000 files",
      async (base: string) =>
        writeFiles(base, Object.fromEntries([...Array(10_000).keys()].map((name) => [`a/${name}`, ""]))),
    ],
  ])("are incomplete, with an error, if the folder has more %s", { timeout: 60_000 }, async (_, fill) => {
    const base = await temporaryFolder();
    await cp(OFFICE, join(base, "office"), { recursive: true });
    await fill(base);
    const { bundles, diagnostics } = await discoverBundles(base);
    expect(bundles.length).toBeLessThanOrEqual(1);
    expect(diagnostics).toMatchObject([
      { severity: "error", code: "FOLDER_TOO_LARGE", file: ".", hint: expect.stringContaining("folder") },
    ]);
  });

  it("cannot be searched in a missing folder", async () => {
    await expect(discoverBundles(join(await temporaryFolder(), "none"))).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
    });
  });
});
