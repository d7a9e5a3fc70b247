import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { FileTexts } from "phasegate/fs";
import { RoutedFolders } from "phasegate/routed";
import { describe, expect, it } from "vitest";
import { GARDENS } from "../cli/routed-folders.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

async function texts() {
  const root = await temporaryFolder();
  await writeFiles(root, { ...GARDENS, "outside.md": "secret", "GARDEN/.hidden.md": "x" });
  const inside = join(root, "workflows");
  await writeFiles(inside, GARDENS);
  return { root, inside, source: new FileTexts({ root: inside }) };
}

describe("texts in a folder", () => {
  it("are listed below a folder, and read", async () => {
    const { source } = await texts();
    expect(await source.list("GARDEN")).toEqual(["GARDEN/index.md", "GARDEN/steps/dig.md", "GARDEN/steps/sow.md"]);
    expect(await source.list("")).toHaveLength(6);
    expect(await source.read("shared/wash.md")).toBe("Wash your hands.\n");
    expect(await source.read("shared/dry.md")).toBeUndefined();
    expect(await source.list("NONE")).toEqual([]);
  });

  it("follow a root that is a link, once it leads elsewhere", async () => {
    const { root, inside } = await texts();
    await writeFiles(join(root, "later"), { "shared/wash.md": "Wash again.\n" });
    const link = join(root, "current");
    await symlink(inside, link);
    const source = new FileTexts({ root: link });
    expect(await source.read("shared/wash.md")).toBe("Wash your hands.\n");
    await symlink(join(root, "later"), `${link}.new`);
    await rename(`${link}.new`, link);
    expect(await source.read("shared/wash.md")).toBe("Wash again.\n");
  });

  it("are never outside of it, by a path or a link", async () => {
    const { root, inside, source } = await texts();
    await symlink(join(root, "outside.md"), join(inside, "GARDEN/link.md"));
    await symlink(root, join(inside, "out"));
    for (const path of ["../outside.md", "/etc/passwd", "GARDEN/link.md", "out/outside.md"]) {
      expect(await source.read(path)).toBeUndefined();
    }
    expect(await source.list("../")).toEqual([]);
    expect(await source.list("out")).toEqual([]);
  });

  it("are never keys or secrets, by name or by an include", async () => {
    const { inside, source } = await texts();
    const secrets = ["GARDEN/.env", ".env", ".git/config", "GARDEN/x.pem.md", "shared/server.key~", "id_rsa.bak"];
    await writeFiles(inside, Object.fromEntries(secrets.map((path) => [path, "TOKEN=hush\n"])));
    await symlink("../.env", join(inside, "GARDEN/notes.md"));
    await symlink("../.git/config", join(inside, "GARDEN/more.md"));
    for (const path of [...secrets, "./.env", "GARDEN/notes.md", "GARDEN/more.md"]) {
      expect(await source.read(path), path).toBeUndefined();
    }
    expect(await source.list("")).toHaveLength(6);
    for (const path of ["../.env", "../../.env", "notes.md", "../notes.md", "../../shared/server.key~"]) {
      await writeFiles(inside, { "GARDEN/steps/dig.md": `# Dig\n\n{{file:${path}}}\n` });
      const folders = new RoutedFolders({ source, includeRoots: ["."] });
      const garden = (await folders.list()).find(({ name }) => name === "GARDEN");
      expect(garden).toMatchObject({ status: "broken" });
      expect(JSON.stringify(garden)).not.toContain("hush");
    }
  });

  it("may be behind links to folders with a dot, as Kubernetes creates them", async () => {
    const { inside, source } = await texts();
    await writeFiles(inside, { "..2026/steps/x.md": "x" });
    await symlink("..2026", join(inside, "..data"));
    await symlink("..data/steps", join(inside, "LINKED"));
    expect(await source.read("LINKED/x.md")).toBe("x");
  });

  it("that are not UTF-8 or too large count as missing", async () => {
    const { inside, source } = await texts();
    await writeFiles(inside, { "GARDEN/large.md": "x".repeat(1024 * 1024 + 1) });
    const { writeFile } = await import("node:fs/promises");
    await writeFile(join(inside, "GARDEN/latin.md"), new Uint8Array([0xff, 0xfe]));
    expect(await source.read("GARDEN/large.md")).toBeUndefined();
    expect(await source.read("GARDEN/latin.md")).toBeUndefined();
  });

  it("are always current, even if the folder was replaced or removed", async () => {
    const { root, inside, source } = await texts();
    const folders = new RoutedFolders({ source, includeRoots: ["shared"] });
    expect((await folders.list()).map(({ name, status }) => [name, status])).toEqual([
      ["GARDEN", "ready"],
      ["SHARED", "ready"],
    ]);
    expect(await folders.definition("../workflows/GARDEN")).toBeUndefined();
    await rename(inside, join(root, "away"));
    await expect(folders.list()).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    await writeFiles(inside, { "OTHER/index.md": "# Goal\n\nNone.\n" });
    expect((await folders.list()).map(({ name }) => name)).toEqual(["OTHER"]);
  });
});
