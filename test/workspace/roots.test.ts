import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openFolders, placesOf, showLocation } from "../../src/workspace/roots/paths.js";
import { createRoots, type Roots } from "../../src/workspace/roots/roots.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

const SESSION = "2025-10-11-143022";
let base: string;
let roots: Roots;

beforeEach(async () => {
  base = await temporaryFolder();
  for (const folder of ["project/bundle/workflows/x", "project/core/tasks", "project/src", "out"]) {
    await mkdir(join(base, folder), { recursive: true });
  }
  await writeFile(join(base, "project/bundle/workflows/x/workflow.yaml"), "name: x\n");
  await writeFile(join(base, "project/bundle/workflows/x/.env"), "KEY=1\n");
  roots = await open();
});

async function open(variables = {}): Promise<Roots> {
  const folders = {
    bundleRoot: join(base, "project/bundle"),
    coreRoot: join(base, "project/core"),
    outputRoot: join(base, "out"),
  };
  const project = await placesOf(join(base, "project"));
  return createRoots({ roots: await openFolders(folders), project, variables });
}

describe("resolve", () => {
  it.each([
    ["{bundle-root}/workflows/x/workflow.yaml", "{bundle-root}/workflows/x/workflow.yaml"],
    ["{core-root}\\tasks\\workflow.md", "{core-root}/tasks/workflow.md"],
    ["{bundle-root}", "{bundle-root}"],
    ["workflows/x/workflow.yaml", "{bundle-root}/workflows/x/workflow.yaml"],
    [`${SESSION}/a..b.md`, `{output-root}/${SESSION}/a..b.md`],
    ["{project-root}/core/tasks/workflow.md", "{core-root}/tasks/workflow.md"],
  ])("resolves %s to %s", (path, place) => {
    expect(showLocation(roots.resolve(path))).toBe(place);
  });

  it("resolves a path relative to the file that contains it", () => {
    const from = { root: "bundle-root", path: "workflows/x/workflow.yaml" };
    expect(roots.resolve("./instructions.md", from).path).toBe("workflows/x/instructions.md");
    expect(roots.resolve("../y/data.csv", from).path).toBe("workflows/y/data.csv");
    expect(() => roots.resolve("../../../secret.md", from)).toThrow("leaves its root");
    expect(() => roots.resolve("/etc/passwd", from)).toThrow("it is absolute");
  });

  it.each(["{constructor}/x", "{__proto__}/x", "{bundle_root}/x", "{date}.md", "a/{bundle-root}/b", "{bundle-root}x"])(
    "refuses %s",
    (path) => {
      expect(() => roots.resolve(path)).toThrow(expect.objectContaining({ code: "PATH_REFUSED" }));
    },
  );

  it("names the known variables, and the nearest one", () => {
    expect(() => roots.resolve("{bundle_root}/x")).toThrow("did you mean {bundle-root}?");
    expect(() => roots.resolve("{nothing}/x")).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining("{bundle-root}, {core-root}, {output-root}") }),
    );
  });

  it("refuses paths of the project outside the roots", () => {
    expect(() => roots.resolve("{project-root}/src/index.ts")).toThrow(
      "the project is readable only where it contains other roots",
    );
  });

  it("inserts the host's variables once, literally", async () => {
    const own = await open({ team: "$&", self: "{self}", docs: { root: "bundle-root", path: "workflows" } });
    expect(own.resolve("{docs}/x").path).toBe("workflows/x");
    expect(own.resolve("notes/{team}.md").path).toBe("notes/$&.md");
    expect(own.resolve("{self}/x").path).toBe("{self}/x");
    expect(own.expand("{team} {self} {docs} {date}")).toBe("$& {self} {docs} {date}");
  });
});

describe("files", () => {
  it("are read, listed without withheld ones, and suggested by similar names", async () => {
    const workflow = roots.resolve("workflows/x/workflow.yaml");
    expect(await roots.read(workflow)).toMatchObject({ text: "name: x\n", size: 8 });
    expect((await roots.list(roots.resolve("workflows/x"))).map(({ path }) => path)).toEqual([workflow.path]);
    expect(await roots.nearest(roots.resolve("workflows/y/workflw.yaml"))).toEqual([
      { root: "bundle-root", path: "workflows/x" },
    ]);
    await expect(roots.read(roots.resolve("workflows/x/.env"))).rejects.toThrow("kept back");
  });
});
