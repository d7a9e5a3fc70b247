import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { makeWorkspace } from "./make-workspace.js";

describe("createWorkspace", () => {
  it("refuses invalid limits and names, and says what is valid", async () => {
    const { again, base } = await makeWorkspace();
    for (const [options, said] of [
      [{ limits: { readBytes: 0 } }, "limits.readBytes is not valid: expected a whole number, 1 or more"],
      [{ variables: { "bundle-root": "x" } }, "a name that is not the name of a root"],
      [{ variables: { "a b": "x" } }, "letters, digits"],
      [{ readRoots: { "core-root": base } }, "a name that is not the name of a root"],
      [{ readRoots: { docs: base }, variables: { docs: "x" } }, "a name that is not the name of a root"],
      [{ readRoots: { docs: join(base, "nowhere") } }, "the folder of {docs} can't be opened"],
    ] as const) {
      const call = again(options);
      await expect(call).rejects.toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
      await expect(call).rejects.toThrow(said);
    }
  });

  it("reads the roots that the host adds, and maps project paths to them", async () => {
    const { again, base } = await makeWorkspace();
    await writeFiles(base, { "project/docs/guide.md": "guide" });
    const workspace = await again({ readRoots: { docs: join(base, "project/docs") } });
    expect(workspace.variables).toEqual(["bundle-root", "core-root", "output-root", "docs", "project-root"]);
    for (const path of ["{docs}/guide.md", "{project-root}/docs/guide.md"]) {
      expect(await workspace.readFile({ path })).toMatchObject({ content: "guide", path: "{docs}/guide.md" });
    }
    const away = await again({ variables: { away: { root: "nowhere", path: "." } } });
    expect(await away.readFile({ path: "{away}/x" })).toMatchObject({
      error: expect.stringContaining("no root {nowhere}"),
    });
  });

  it("works without core and project, and then has no variables for them", async () => {
    const { createWorkspace } = await import("phasegate/workspace");
    const { bundle, base } = await makeWorkspace();
    await mkdir(join(base, "other"));
    const workspace = await createWorkspace({ bundleRoot: bundle, outputRoot: join(base, "other") });
    expect(await workspace.readFile({ path: "{core-root}/x" })).toMatchObject({
      remedy: expect.stringContaining("{bundle-root}, {output-root}"),
    });
    await workspace.close();
  });
});

describe("a failing storage", () => {
  it("is reported to the host, and to the agent without details", async () => {
    class Failing extends MemoryStorage {
      override async append(): Promise<void> {
        throw new Error("password=hunter2");
      }
    }
    const { workspace } = await makeWorkspace({ storage: new Failing() });
    const heard: unknown[] = [];
    workspace.on("internalError", ({ operation, error }) => heard.push([operation, String(error)]));
    expect(await workspace.createSession()).toEqual({
      success: false,
      error: "create_session failed: internal error",
      code: "INTERNAL",
      remedy: expect.stringContaining("tell the operator"),
    });
    expect(heard).toEqual([["create_session", "Error: password=hunter2"]]);
    // Calls that need no log still work.
    expect(await workspace.listFiles()).toMatchObject({ success: true });
  });
});
