import { link, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { FileRead, ToolFailure, Workspace } from "phasegate/workspace";
import { beforeEach, describe, expect, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

let made: MadeWorkspace;
let workspace: Workspace;

beforeEach(async () => {
  made = await makeWorkspace({ limits: { readBytes: 64, listEntries: 3 } });
  workspace = made.workspace;
});

const done = (answer: FileRead | ToolFailure): FileRead => {
  if (!answer.success) throw new Error(`${answer.error} ${answer.remedy}`);
  return answer;
};

describe("read_file", () => {
  it("returns a text with its path below its root, and its size", async () => {
    const answer = await workspace.readFile({ path: "{project-root}/core/tasks/workflow.md" });
    const path = "{core-root}/tasks/workflow.md";
    expect(answer).toEqual({ success: true, content: "Follow the steps.\n", path, size: 18 });
  });

  it("returns a long text in parts that together are the text, and splits no character", async () => {
    const text = "aé漢🌱\r\n".repeat(50);
    await writeFiles(made.bundle, { "long.md": text });
    for (const limit of [1, 4, 5, 6, 7, 63, 64, 1000]) {
      let whole = "";
      let offset: number | undefined = 0;
      let calls = 0;
      while (offset !== undefined) {
        const part: FileRead = done(await workspace.readFile({ path: "long.md", offset, limit }));
        expect(Buffer.byteLength(part.content)).toBeLessThanOrEqual(Math.max(4, Math.min(64, limit)));
        whole += part.content;
        offset = part.next_offset;
        calls += 1;
        expect(calls).toBeLessThan(1000);
      }
      expect(whole, `limit ${limit}`).toBe(text);
    }
  });

  it("starts with the character that contains the offset, and returns where it starts", async () => {
    await writeFiles(made.bundle, { "seedling.md": "a🌱b" });
    for (const offset of [1, 2, 3, 4]) {
      expect(await workspace.readFile({ path: "seedling.md", offset })).toMatchObject({ content: "🌱b", offset: 1 });
    }
    expect(await workspace.readFile({ path: "seedling.md", offset: 5 })).toMatchObject({ content: "b", offset: 5 });
    expect(await workspace.readFile({ path: "seedling.md", offset: 6 })).toMatchObject({ content: "" });
    expect(await workspace.readFile({ path: "seedling.md", offset: 7 })).toMatchObject({
      success: false,
      error: "offset 7 is behind the end of the file, which has 6 bytes",
    });
  });

  it("reports files that are binary or not UTF-8", async () => {
    await writeFiles(made.bundle, {
      "a.bin": Uint8Array.of(65, 0, 66),
      "latin.md": Uint8Array.of(0x63, 0xe9, 0x0a, 0x0a),
    });
    expect(await workspace.readFile({ path: "a.bin" })).toMatchObject({
      error: "{bundle-root}/a.bin is a binary file: only text files can be read",
    });
    expect(await workspace.readFile({ path: "latin.md" })).toMatchObject({
      error: "{bundle-root}/latin.md is not valid UTF-8: only text files can be read",
    });
  });

  it("suggests similar names for a missing file", async () => {
    expect(await workspace.readFile({ path: "workflows/intake/instruction.md" })).toEqual({
      success: false,
      error: "there is no {bundle-root}/workflows/intake/instruction.md",
      code: "FILE_NOT_FOUND",
      remedy: "There are {bundle-root}/workflows/intake/instructions.md, {bundle-root}/workflows/intake/workflow.yaml.",
    });
    expect(await workspace.readFile({ path: "workflow/intak/x.md" })).toMatchObject({
      remedy: "There are {bundle-root}/workflows.",
    });
    const empty = await workspace.readFile({ path: "{output-root}/x.md" });
    expect(empty).toMatchObject({ remedy: "Call list_files to see what there is." });
  });

  it("reads unusual names, files with several hard links, and links inside a root", async () => {
    await writeFiles(made.bundle, { "a..b.md": "dots", "naïve – plan (2).md": "signs", "…more.md": "ellipsis" });
    await link(join(made.bundle, "a..b.md"), join(made.bundle, "linked.md"));
    await symlink("a..b.md", join(made.bundle, "soft.md"));
    for (const path of ["a..b.md", "naïve – plan (2).md", "…more.md", "linked.md", "soft.md"]) {
      expect(await workspace.readFile({ path }), path).toMatchObject({ success: true });
    }
  });

  it("explains the parameters to an invalid call", async () => {
    const call = (input: unknown) => workspace.call("read_file", input);
    expect(await call({ file: "x" })).toEqual({
      success: false,
      error: expect.stringMatching(/^read_file was called wrongly: path: .*"file" is unknown$/),
      code: "INVALID_INPUT",
      remedy: "It takes path, offset?, limit?.",
    });
    expect(await call({ path: "x", offest: 1 })).toMatchObject({
      error: expect.stringContaining("did you mean 'offset'?"),
    });
    expect(await call(undefined)).toMatchObject({ success: false });
    expect(await workspace.call("readfile", {})).toMatchObject({ remedy: "Did you mean read_file?" });
    expect(await workspace.call("x", {})).toMatchObject({ remedy: expect.stringContaining("read_file, list_files") });
  });
});

describe("list_files", () => {
  it("lists a folder in pages, without withheld files", async () => {
    await writeFiles(made.bundle, { ".env": "x", "key.pem": "x", "a/x": "x", "a-b.md": "x", "c.md": "x", "d.md": "x" });
    const first = await workspace.listFiles();
    expect(first).toEqual({
      success: true,
      path: "{bundle-root}",
      entries: ["a-b.md", "a/", "c.md"],
      more: 2,
      after: "c.md",
    });
    const rest = await workspace.listFiles({ path: "{bundle-root}", after: "c.md" });
    expect(rest).toEqual({ success: true, path: "{bundle-root}", entries: ["d.md", "workflows/"] });
    expect(await workspace.listFiles({ path: "nowhere" })).toMatchObject({ success: false });
    expect(await workspace.listFiles({ path: "c.md" })).toMatchObject({ success: false });
  });
});
