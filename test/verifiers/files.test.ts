import { execFileSync } from "node:child_process";
import { link, mkdir, symlink, truncate } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aProject, refused } from "./a-project.js";

const HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

describe("file_exists", () => {
  it("accepts a file of its params, of the evidence, and a list of files", async () => {
    const { verify } = await aProject({ "docs/a.md": "hello", "b.md": "more" });
    expect(await verify("file_exists", { path: "docs/a.md" })).toEqual({
      ok: true,
      message: "docs/a.md: there, 5 bytes",
      ran: "docs/a.md",
      digest: HELLO,
    });
    expect(await verify("file_exists", {}, { value: "docs/a.md" })).toMatchObject({ ok: true });
    const both = await verify("file_exists", {}, { value: ["docs/a.md", "b.md"] });
    expect(both).toEqual({ ok: true, message: "docs/a.md, b.md: there, 5, 4 bytes", ran: "docs/a.md, b.md" });
    expect(refused(await verify("file_exists", {}, { value: ["docs/a.md", "c.md"] }))).toContain("no file c.md");
  });

  it("refuses an empty file, unless the author allows it", async () => {
    const { verify } = await aProject({ empty: "" });
    expect(refused(await verify("file_exists", { path: "empty" }))).toContain("the file is too small");
    expect(await verify("file_exists", { path: "empty", min_bytes: 0 })).toMatchObject({ ok: true });
    expect(refused(await verify("file_exists", { path: "empty", min_bytes: 2 }))).toContain("at least 2");
    expect(refused(await verify("file_exists", { path: "empty", min_bytes: 0, min_lines: 1 }))).toContain("no line 1");
    expect(await verify("file_exists", { path: ".", allow_folder: true })).toMatchObject({
      ok: true,
      message: ".: there",
    });
    expect(refused(await verify("file_exists", { path: "none", allow_folder: true }))).toContain(
      "there is no file none",
    );
  });

  it("counts bytes of large files without holes, and reads no more than needed", async () => {
    const { root, write, verify } = await aProject({ "large.txt": "x".repeat(3 * 2 ** 20) });
    const ask = (path: string, least: number) => verify("file_exists", { path, min_bytes: least });
    expect(await ask("large.txt", 3 * 2 ** 20)).toMatchObject({ ok: true, message: "large.txt: there, 3145728 bytes" });
    expect(refused(await ask("large.txt", 3 * 2 ** 20 + 1))).toContain("has 3145728 bytes");
    await write("holes", `begin${"\0".repeat(2 ** 21)}end`);
    expect(await ask("holes", 4000)).toMatchObject({ ok: true });
    expect(refused(await ask("holes", 20_000))).toContain("holes");
    await write("small", `begin${"\0".repeat(20)}`);
    expect(await ask("small", 25)).toMatchObject({ ok: true });
    await write("nothing", "\0".repeat(100));
    expect(refused(await ask("nothing", 1))).toContain("holes");
    await truncate(join(root, "holes"), 2 ** 40);
    expect(await ask("holes", 4000)).toMatchObject({ ok: true, message: "holes: there, 1099511627776 bytes" });
  });

  it("refuses the same folder under two names", async () => {
    const { root, verify } = await aProject({ "docs/a.md": "a", "src/a.md": "a" });
    await symlink("docs", join(root, "alias"));
    expect(await verify("directory_exists", {}, { value: ["docs", "src"] })).toMatchObject({ ok: true });
    for (const other of ["docs", "./docs", "docs/"])
      expect(refused(await verify("directory_exists", {}, { value: ["docs", other] }))).toContain(
        "docs is named twice",
      );
    const linked = verify("directory_exists", { allow_link: true }, { value: ["docs", "alias"] });
    expect(refused(await linked)).toContain("alias is the same folder as docs");
  });

  it("accepts a hard link as a file", async () => {
    const { root, write, verify } = await aProject({ "good.md": "good" });
    await write("../other.md", "other");
    await link(join(root, "../other.md"), join(root, "mine.md"));
    expect(await verify("file_exists", { path: "mine.md" })).toMatchObject({ ok: true });
  });

  it("accepts a path with a trailing slash only for a folder", async () => {
    const { verify } = await aProject({ "docs/a.md": "# A" });
    for (const path of ["docs/a.md/", "docs/a.md/.", "docs/a.md\\"]) {
      expect(refused(await verify("file_exists", { path }))).toContain("ends like the path of a folder");
      expect(refused(await verify("markdown_headings", { path }))).toContain("ends like the path of a folder");
    }
    expect(await verify("directory_exists", { path: "docs/" })).toMatchObject({ ok: true });
  });

  it("refuses a link to a file, inside or outside", async () => {
    const { base, root, write, verify } = await aProject({ "good.md": "good" });
    await write("../secret.md", "secret");
    await symlink("good.md", join(root, "inside.md"));
    await symlink(join(base, "secret.md"), join(root, "outside.md"));
    await symlink("nowhere", join(root, "dangling.md"));
    expect(refused(await verify("file_exists", { path: "inside.md" }))).toContain("it is a symbolic link");
    expect(await verify("file_exists", { path: "inside.md", allow_link: true })).toMatchObject({ ok: true });
    for (const path of ["outside.md", "dangling.md"]) {
      expect(refused(await verify("file_exists", { path }))).toContain("it is a symbolic link");
      expect(refused(await verify("file_exists", { path, allow_link: true }))).toContain("not lead to a place inside");
    }
  });

  it("follows a linked folder inside the project, and not to the outside", async () => {
    const { root, write, verify } = await aProject({ "real/a.md": "a" });
    await write("../out/a.md", "secret");
    await symlink("real", join(root, "alias"));
    await symlink("../out", join(root, "exit"));
    expect(await verify("file_exists", { path: "alias/a.md" })).toMatchObject({ ok: true });
    expect(refused(await verify("file_exists", { path: "exit/a.md" }))).toContain("refused");
  });

  it.each([["../secret.md"], ["/etc/passwd"], ["a\0b"], ["C:\\x"], [""], [5], [null], [{}], [[]], [["a", 1]], [true]])(
    "refuses %j as a path",
    async (value) => {
      const { verify } = await aProject();
      expect(refused(await verify("file_exists", {}, { value }))).not.toBe("");
      expect(refused(await verify("directory_exists", {}, { value }))).not.toBe("");
      expect(refused(await verify("file_matches", { pattern: "x" }, { value }))).not.toBe("");
    },
  );

  it("refuses another name that only looks the same", async () => {
    const { verify } = await aProject({ "rероrt.md": "with Cyrillic letters" });
    expect(refused(await verify("file_exists", { path: "report.md" }))).toContain("no file report.md");
    expect(refused(await verify("file_exists", {}, { value: "re\u200bport.md" }))).toContain("no file");
  });

  it("refuses a folder, a FIFO, a socket and a device, without waiting", async () => {
    const { root, verify } = await aProject({ "folder/a": "a" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(root, "socket"), resolve));
    for (const path of ["pipe", "socket", "folder", "."]) {
      expect(refused(await verify("file_exists", { path }))).toMatch(/not a regular file|a folder, not a file/);
      expect(refused(await verify("file_matches", { path, pattern: "." }))).toMatch(/not a regular|a folder, not/);
    }
    await new Promise((resolve) => server.close(resolve));
  });

  it("accepts a huge file without reading it", async () => {
    const { root, verify, write } = await aProject();
    await write("huge", "x");
    await truncate(join(root, "huge"), 2 ** 40);
    const found = await verify("file_exists", { path: "huge" });
    expect(found).toEqual({ ok: true, message: "huge: there, 1099511627776 bytes", ran: "huge" });
    for (const [name, params] of [
      ["file_matches", { pattern: "x" }],
      ["json_value", { pointer: "" }],
      ["markdown_headings", {}],
    ] as const) {
      expect(refused(await verify(name, { path: "huge", ...params }))).toMatch(/larger than \d+ bytes/);
    }
  });

  it("limits the number of paths in the evidence", async () => {
    const { verify } = await aProject();
    const value = Array.from({ length: 101 }, (_, index) => `f${index}`);
    expect(refused(await verify("file_exists", {}, { value }))).toContain("more than 100");
  });
});

describe("directory_exists", () => {
  it("accepts folders with the required number of entries", async () => {
    const { verify } = await aProject({ "docs/a.md": "a", "docs/b.md": "b" });
    expect(await verify("directory_exists", { path: "docs" })).toEqual({
      ok: true,
      message: "docs: there",
      ran: "docs",
    });
    expect(await verify("directory_exists", { min_entries: 2 }, { value: "docs" })).toMatchObject({ ok: true });
    expect(refused(await verify("directory_exists", { path: "docs", min_entries: 3 }))).toContain("at least 3");
  });

  it("refuses a missing folder, a file and a link", async () => {
    const { root, verify } = await aProject({ "a.md": "a" });
    await mkdir(join(root, "real"));
    await symlink("real", join(root, "alias"));
    await symlink("..", join(root, "up"));
    expect(refused(await verify("directory_exists", { path: "none" }))).toContain("no folder none");
    expect(refused(await verify("directory_exists", { path: "a.md" }))).toContain("a file, not a folder");
    expect(refused(await verify("directory_exists", { path: "alias" }))).toContain("it is a symbolic link");
    expect(await verify("directory_exists", { path: "alias", allow_link: true })).toMatchObject({ ok: true });
    expect(refused(await verify("directory_exists", { path: "up", allow_link: true }))).toContain("not lead to");
  });
});

describe("params", () => {
  it("are checked when a definition is loaded", async () => {
    const { check } = await aProject();
    const thrown = async (params: Parameters<typeof check>[1]) => {
      try {
        await check("file_exists", params);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    expect(await thrown({ path: "a.md" })).toBeUndefined();
    expect(await thrown({})).toBeUndefined();
    expect(await thrown({ path: "{target_file}", min_bytes: 3 })).toBeUndefined();
    expect(await thrown({ path: "{evidence.report}" })).toBeUndefined();
    expect(await thrown({ pth: "a" })).toMatchObject({
      code: "INVALID_INPUT",
      message: "pth of file_exists: there is no such parameter; did you mean 'path'?",
      remedy: "file_exists has these parameters: path, allow_link, min_bytes, min_lines, allow_folder.",
    });
    expect(await thrown({ path: 5 })).toMatchObject({ code: "INVALID_INPUT", details: { field: "file_exists.path" } });
    expect(await thrown({ min_bytes: -1 })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await thrown({ path: "../a" })).toMatchObject({ code: "PATH_REFUSED" });
    expect(await thrown({ path: "{taget_file}" })).toMatchObject({
      code: "INVALID_INPUT",
      message: "there is no placeholder {taget_file}; did you mean {target_file}?",
    });
  });

  it("are checked again when they are filled in", async () => {
    const { verify } = await aProject();
    expect(refused(await verify("file_exists", { path: 5 }))).toContain("path of file_exists");
    expect(refused(await verify("file_exists", { nonsense: 5 }))).toContain("no such parameter");
  });
});
