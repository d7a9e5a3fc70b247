import { execFileSync } from "node:child_process";
import { link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Workspace, WorkspaceConnection } from "phasegate/workspace";
import { beforeEach, describe, expect, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

let made: MadeWorkspace;
let workspace: Workspace;
let id: string;
let session: string;

beforeEach(async () => {
  made = await makeWorkspace({ variables: { self: "{self}", team: "$&{core-root}" } });
  workspace = made.workspace;
  id = await begin(workspace);
  session = join(made.output, id);
});

async function begin(on: WorkspaceConnection): Promise<string> {
  const opened = await on.createSession();
  if (!opened.success) throw new Error(opened.error);
  return opened.session_id;
}

/** Returns all files below the test's folder with their texts, without following links or including manifests. */
async function everything(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(made.base, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== "manifest.json") found[path] = await readFile(path, "utf8");
    else if (!entry.isFile()) found[path] = "";
  }
  return found;
}

/** Expects that each call refuses the path, with a remedy and without a path of the disk, and changes nothing. */
async function refuses(path: string, ...ways: readonly ("read" | "list" | "save")[]): Promise<void> {
  const before = await everything();
  const calls: Record<string, () => Promise<unknown>> = {
    read: () => workspace.readFile({ path }),
    list: () => workspace.listFiles({ path }),
    save: () => workspace.saveOutput({ path, content: "taken over" }),
  };
  for (const way of ways.length > 0 ? ways : ["read", "list", "save"]) {
    const answer = await calls[way]?.();
    expect(answer, `${way} ${JSON.stringify(path)}`).toEqual({
      success: false,
      error: expect.any(String),
      code: expect.any(String),
      remedy: expect.stringMatching(/\S/),
    });
    const text = JSON.stringify(answer);
    expect(text).not.toContain(made.base);
    expect(text).not.toContain("secret\\n");
    expect(text).not.toMatch(/ at .*:\d+:\d+/);
  }
  expect(await everything()).toEqual(before);
}

/** The same, and also below the connection's own session. */
async function refusesEverywhere(path: string): Promise<void> {
  await refuses(path);
  await refuses(`{bundle-root}/${path}`);
  await refuses(`${id}/${path}`);
}

describe("a path that leads out", () => {
  it("has .. at the beginning", async () => {
    await refusesEverywhere("../../etc/passwd");
    await refusesEverywhere("../secret.md");
  });
  it("has .. inside", async () => refusesEverywhere("a/../../b"));
  it("has .. between backslashes", async () => refusesEverywhere("..\\..\\x"));
  it("is absolute", async () => {
    await refuses("/etc/passwd");
    await refuses("/dev/null");
    await refuses(`/data/outputs/${id}/x.md`);
  });
  it("leads out behind what workflows write for the session's folder", async () => {
    await refuses(`/data/agent-outputs/${id}/../../x.md`);
    await refuses("/data/agent-outputs/../etc/passwd");
    await refuses("{session-folder}/../../secret.md");
    await refuses("/etc/{session-folder}/x.md");
    await refuses(`/data/agent-outputs/2020-01-02-030405/x.md`);
  });
  it("leads to a sibling whose name begins with the root's name", async () => {
    await refuses("../out-fake/secret.md");
    await refuses("{output-root}/../out-fake/secret.md");
    await refuses("{output-root}-fake/secret.md");
    await refuses("{project-root}/bundle-fake/x.md");
  });
  it("has percent-encoded dots", async () => {
    await refusesEverywhere("%2e%2e/secret.md");
    await refusesEverywhere("..%2fsecret.md");
  });
  it("is a URL", async () => {
    await refuses("file:///etc/passwd");
    await refuses("https://example.org/x");
  });
  it("begins at a home folder", async () => {
    await refuses("~/.ssh/id_rsa");
    await refuses("~root/x");
  });
  it("begins with a drive letter", async () => {
    await refuses("C:\\x");
    await refuses("C:x");
  });
  it("begins with a network share", async () => refuses("\\\\host\\share"));
  it("is a device path of Windows", async () => {
    await refuses("\\\\?\\C:\\x");
    await refuses("\\\\.\\pipe\\x");
  });
  it("leads to the project outside of the roots", async () => {
    await refuses("{project-root}/src/index.ts");
    await refuses("{project-root}");
  });
});

describe("a deceptive name", () => {
  it("is a device name of Windows", async () => {
    for (const name of ["CON", "con", "PRN", "AUX", "COM1", "lpt9", "a/NUL/b"]) await refusesEverywhere(name);
  });
  it("is a device name of Windows with an extension", async () => refusesEverywhere("nul.txt"));
  it("ends with a dot or a space", async () => {
    for (const name of ["x.md.", "x.md ", "x.md\u00a0", "a./b.md", "a /b.md"]) await refusesEverywhere(name);
  });
  it("names an alternate data stream", async () => {
    await refusesEverywhere("x.md:stream");
    await refusesEverywhere("x.md::$DATA");
  });
  it("contains a NUL", async () => refusesEverywhere("x.md\0.txt"));
  it("contains a line break or a terminal's escape sequence", async () => {
    await refusesEverywhere("x\n.md");
    await refusesEverywhere("\u001b[2Jx.md");
    await refusesEverywhere("\u009b2Jx.md");
  });
  it("reverses the direction of writing", async () => {
    await refusesEverywhere("x\u202Edm.exe");
    const known = ["\u200b", "\u200d", "\u00ad", "\u061c", "\u180e", "\u{e0041}", "\u{e007f}"];
    for (const unseen of [...known, "\ufe0f", "\ufe00", "\u{e0100}", "\u17b4", "\u2800", "\u3164"]) {
      await refusesEverywhere(`x${unseen}.md`);
    }
  });
  it("has full-width dots", async () => {
    await refusesEverywhere("\uff0e\uff0e/secret.md");
    await refusesEverywhere("\u2025/secret.md");
    await refusesEverywhere("a\uff0fb.md");
  });
  it("is a short name of Windows for another file", async () => {
    await refusesEverywhere("MANIFE~1.JSO");
    await refusesEverywhere("GIT~1/config");
  });
  it("is too long", async () => {
    await refusesEverywhere("x".repeat(300));
    await refusesEverywhere("é".repeat(128));
    await refusesEverywhere(`${"x/".repeat(600)}x`);
  });
  it("contains a lone surrogate", async () => refusesEverywhere("x\ud800.md"));
  it("differs from an existing name only in Unicode normalization", async () => {
    const save = (name: string) => workspace.saveOutput({ path: `${id}/${name}`, content: "x" });
    await writeFile(join(session, "cafe\u0301.md"), "old");
    expect(await save("caf\u00e9.md")).toMatchObject({ success: false });
    expect(await save("nai\u0308ve.md")).toMatchObject({ success: true });
    expect((await readdir(session)).includes("na\u00efve.md")).toBe(true);
  });
  it("differs from an existing name only in case", async () => {
    await workspace.saveOutput({ path: `${id}/Report.md`, content: "x" });
    await refuses(`${id}/REPORT.md`, "save");
    await refuses(`${id}/report.md/x`, "save");
  });
  it("differs from an existing name only in the form of ß, which some file systems take for ss", async () => {
    await workspace.saveOutput({ path: `${id}/\u00df.md`, content: "x" });
    for (const name of ["ss.md", "\u1e9e.md", "SS.md"]) await refuses(`${id}/${name}`, "save");
  });
  it("is unusual but harmless, and works", async () => {
    for (const name of [
      "a..b.md",
      "…x.md",
      "(1) naïve – plan.md",
      "漢字.md",
      "a'b.md",
      "👩‍💻.md",
      "می‌خواهم.md",
      "a~b.md",
    ]) {
      expect(await workspace.saveOutput({ path: `${id}/${name}`, content: "x" }), name).toMatchObject({
        success: true,
      });
      expect(await workspace.readFile({ path: `${id}/${name}` }), name).toMatchObject({ content: "x" });
    }
  });
});

describe("a variable", () => {
  it("is a property of every object", async () => {
    await refuses("{constructor}/x");
    await refuses("{toString}/x");
  });
  it("is __proto__", async () => refuses("{__proto__}/x"));
  it("contains a variable, and is inserted once", async () => {
    expect(await workspace.readFile({ path: "{self}/x.md" })).toMatchObject({
      error: "there is no {bundle-root}/{self}/x.md",
    });
    expect(await workspace.readFile({ path: "x/{team}/tasks/workflow.md" })).toMatchObject({
      error: "there is no {bundle-root}/x/$&{core-root}/tasks/workflow.md",
    });
  });
  it("has a value that leads out", async () => {
    const away = await made.again({ variables: { up: "../..", abs: "/etc/passwd" } });
    expect(await away.readFile({ path: "a/{up}/secret.md" })).toMatchObject({ success: false });
    expect(await away.readFile({ path: "{abs}" })).toMatchObject({ success: false });
  });
});

describe("a link or a special file", () => {
  it("is a new file in a linked folder outside", async () => {
    await symlink(made.base, join(session, "away"));
    await refuses(`${id}/away/new.md`);
    await refuses(`${id}/away/a/b/new.md`);
    await refuses(`${id}/away/secret.md`);
  });
  it("is a link to source code", async () => {
    await symlink(join(made.base, "project/src/index.ts"), join(session, "report.md"));
    await refuses(`${id}/report.md`);
  });
  it("is a dangling link", async () => {
    await symlink(join(made.base, "nowhere.md"), join(session, "report.md"));
    await refuses(`${id}/report.md`);
  });
  it("is a link to another session", async () => {
    const other = await begin(workspace.connect());
    await symlink(join(made.output, other), join(session, "theirs"));
    await refuses(`${id}/theirs/new.md`, "save");
  });
  it("is a link in place of a session's folder", async () => {
    await rename(session, join(made.base, "moved"));
    await symlink(join(made.base, "project"), session);
    await refuses(`${id}/src/index.ts`);
    await refuses(`${id}/new.md`);
  });
  it("is a hard link to a file elsewhere", async () => {
    await link(join(made.base, "project/src/index.ts"), join(session, "report.md"));
    await refuses(`${id}/report.md`, "save");
  });
  it("is a FIFO", async ({ skip }) => {
    skip(process.platform === "win32", "Windows has no FIFOs");
    execFileSync("mkfifo", [join(session, "pipe")]);
    await refuses(`${id}/pipe`);
  });
  it("is a device", async () => {
    await symlink("/dev/zero", join(session, "zero"));
    await refuses(`${id}/zero`);
  });
  it("is a root that is a link, and works", async () => {
    await symlink(made.bundle, join(made.base, "linked"));
    const linked = await made.again({ bundleRoot: join(made.base, "linked") });
    expect(await linked.readFile({ path: "workflows/intake/workflow.yaml" })).toMatchObject({ success: true });
  });
});

describe("a withheld file", () => {
  it("is .env in any folder, by name or by a link", async () => {
    await writeFiles(made.bundle, { ".env": "secret\n", "a/.env.local": "secret\n", "prod.env": "secret\n" });
    await symlink(".env", join(made.bundle, "notes.md"));
    for (const path of [".env", ".ENV", "a/.env.local", "prod.env", "notes.md", "{bundle-root}/./.env"]) {
      await refuses(path);
    }
  });
  it("is .git or any other name that begins with a dot", async () => {
    await writeFiles(made.bundle, { ".git/config": "secret\n", ".npmrc": "secret\n", ".ssh/config": "secret\n" });
    for (const path of [".git/config", ".git", ".npmrc", ".ssh/config", `${id}/.hidden/x`]) await refuses(path);
  });
  it("is a key", async () => {
    const keys = ["server.pem", "tls.key", "id_rsa", "id_ed25519.pub", "a/store.p12", "ID_RSA", "credentials.json"];
    await writeFiles(made.bundle, Object.fromEntries(keys.map((name) => [name, "secret\n"])));
    for (const name of keys) await refuses(name);
    expect(await workspace.listFiles()).toMatchObject({ entries: ["a/", "workflows/"] });
    for (const name of [...keys, ".env", ".notes.md.aa.phasegate.tmp"]) await refuses(`${id}/${name}`, "save");
  });
  it("is a name for which a slow check would take hours", async () => {
    for (const end of ["#", "~", ".bak"]) await refuses(`secret${end.repeat(60)}x`, "read");
  });
  it("has the name of a copy of a key or of secrets", async () => {
    const copies = ["server.key~", "x.pem.md", "id_rsa.bak", "tls.pem.old", "prod.env.md", "my_id_rsa", "store.p12.1"];
    const more = [
      "secrets.yaml.bak",
      "prod.secrets.json",
      "credentials~",
      "server.pem_old",
      "#server.key#",
      "a.keybak",
    ];
    await writeFiles(made.bundle, Object.fromEntries([...copies, ...more].map((name) => [name, "secret\n"])));
    await writeFiles(made.bundle, { "x.\uff4bey": "secret\n", "x.KEY.md": "secret\n" });
    for (const name of [...copies, ...more, "x.\uff4bey", "x.KEY.md"]) await refuses(name);
    expect(await workspace.listFiles()).toMatchObject({ entries: ["workflows/"] });
    for (const name of copies) await refuses(`${id}/${name}`, "save");
    const innocent = [
      "keynote.md",
      "x.keyboard.md",
      "hybrid_rsa.md",
      "secrets-of-tea.md",
      "key.md",
      "pem.md",
      "env.md",
      "a.environment.md",
      "secrets.md",
    ];
    await writeFiles(made.bundle, Object.fromEntries(innocent.map((name) => [name, "tea\n"])));
    for (const path of innocent) expect(await workspace.readFile({ path }), path).toMatchObject({ success: true });
  });
});

describe("a path that can't be written", () => {
  it("is anything but an output", async () => {
    await refuses("{bundle-root}/workflows/intake/workflow.yaml", "save");
    await refuses("{core-root}/tasks/workflow.md", "save");
    await refuses("{project-root}/bundle/new.md", "save");
    await refuses("{output-root}/new.md", "save");
    await refuses("{output-root}", "save");
  });
  it("is another connection's session", async () => {
    const other = await begin(workspace.connect());
    await refuses(`${other}/new.md`, "save");
    await refuses(`${id}/../${other}/new.md`, "save");
  });
  it("is a manifest", async () => {
    await refuses(`${id}/manifest.json`, "save");
    await refuses(`${id}/MANIFEST.json`, "save");
    await refuses(`${id}/./manifest.json`, "save");
    // On macOS these are the same name.
    await refuses(`${id}/manife\u017ft.json`, "save");
    await refuses(`${id}/manife\ufb06.json`, "save");
  });
  it("is a folder of workflows, by mistake of the host", async () => {
    await mkdir(join(made.output, "bundle"));
    await expect(made.again({ bundleRoot: join(made.output, "bundle") })).rejects.toThrow("is inside {output-root}");
    await expect(made.again({ outputRoot: made.bundle })).rejects.toThrow("is inside {output-root}");
    await rm(join(made.output, "bundle"), { recursive: true });
    await expect(made.again({ bundleRoot: join(made.output, "bundle") })).rejects.toThrow(
      expect.objectContaining({ message: "the folder of {bundle-root} can't be opened" }),
    );
  });
});
