import { execFileSync } from "node:child_process";
import { appendFile, mkdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { FileContent, workflowNames } from "../../src/content/files.js";
import { readFolder, readState, WorkflowFolder } from "../../src/content/workflow-folder.js";
import { isPhasegateError, PhasegateError } from "../../src/errors.js";
import { notFound, unreadable } from "../../src/sandbox/refusals.js";
import type { Sandbox } from "../../src/sandbox/sandbox.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { revisionOf } from "../../src/workflow/json.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { gateFile, metadata, phase, texts } from "../workflow/workflow-texts.js";

const TYPE = "garden_v1";
let base: string;
let root: string;
let content: FileContent;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "workflows");
  await place(root);
  content = new FileContent({ roots: [root] });
});

/** Writes the small workflow below a root; `changes` replaces some of its files. */
async function place(into: string, type = TYPE, changes: Record<string, string | undefined> = {}): Promise<void> {
  const named = { "metadata.json": metadata({ workflow_type: type }), ...changes };
  for (const { path, text } of texts(named)) await write(join(into, type, path), text);
}

async function write(path: string, text: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Sets the times of all files to long ago. */
async function settle(): Promise<void> {
  for (const { path } of texts()) await utimes(join(root, TYPE, path), 1, 1);
}

async function failure(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => expect.fail("did not throw"),
    (reason: unknown) => reason,
  );
  if (!isPhasegateError(error)) throw error;
  expect(`${error.message} ${JSON.stringify(error.details)}`).not.toContain(base);
  return error;
}

const codesOf = async (type = TYPE) => {
  const listing = (await content.list()).find((item) => item.type === type);
  return listing?.diagnostics.map(({ code, file }) => `${code} ${file}`);
};

describe("list and definition", () => {
  it("return the workflows of all folders with metadata.json, by type", async () => {
    await place(root, "a_v1");
    await write(join(root, "no-workflow", "readme.md"), "x");
    await write(join(root, ".git", "metadata.json"), "{}");
    await write(join(root, "loose.md"), "x");
    const listings = await content.list();
    expect(listings.map(({ type, status }) => [type, status])).toEqual([
      ["a_v1", "ready"],
      [TYPE, "ready"],
    ]);
    expect((await content.definition(TYPE))?.structure.phases).toHaveLength(2);
    for (const type of ["no-workflow", "loose.md", "none", "../workflows", "Garden_v1", "__proto__", ".git"]) {
      expect(await content.definition(type)).toBeUndefined();
    }
  });

  it("return a revision only while it is the newest", async () => {
    const revision = (await content.definition(TYPE))?.structure.revision;
    expect(await content.definition(TYPE, revision)).toBeDefined();
    await appendFile(join(root, TYPE, "phases/1/phase.md"), "more");
    expect(await content.definition(TYPE, revision)).toBeUndefined();
    expect((await content.definition(TYPE))?.structure.revision).not.toBe(revision);
  });

  it("report a folder with phases but without metadata.json as broken", async () => {
    await place(root, "half_v1", { "metadata.json": undefined });
    expect(await codesOf("half_v1")).toContain("METADATA_MISSING metadata.json");
    expect((await failure(content.definition("half_v1"))).code).toBe("DEFINITION_INVALID");
  });

  it("list a broken workflow, and throw when it is requested", async () => {
    await write(join(root, TYPE, "phases/1/gate-definition.yaml"), gateFile("a: {type: bolean}"));
    expect(await content.list()).toMatchObject([{ status: "broken", type: TYPE }]);
    expect(await codesOf()).toEqual(expect.arrayContaining([`FIELD_TYPE_UNKNOWN phases/1/gate-definition.yaml`]));
    await rm(join(root, TYPE, "phases/2/phase.md"));
    const error = await failure(content.definition(TYPE));
    expect(error).toMatchObject({ code: "DEFINITION_INVALID", details: { workflowType: TYPE } });
    expect(error.message).toContain(", and 1 more");
    expect((await failure(content.text(TYPE, { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
  });

  it("follow edits, additions and deletions", async () => {
    await settle();
    const first = await content.definition(TYPE);
    await write(join(root, TYPE, "metadata.json"), metadata({ name: "Another name" }));
    expect((await content.definition(TYPE))?.structure.name).toBe("Another name");
    await place(root, "late_v1");
    expect(await content.list()).toHaveLength(2);
    await rm(join(root, TYPE), { recursive: true });
    expect(await content.definition(TYPE)).toBeUndefined();
    expect((await content.list()).map(({ type }) => type)).toEqual(["late_v1"]);
    expect(first?.structure.name).toBe("Plant a garden");
  });

  it("use the first of two roots with a workflow, and report that the other is hidden", async () => {
    const later = join(base, "later");
    await place(later, TYPE, { "metadata.json": metadata({ name: "Hidden" }) });
    await place(later, "only_here");
    content = new FileContent({ roots: [join(base, "not-there"), root, later] });
    expect((await content.definition(TYPE))?.structure.name).toBe("Plant a garden");
    expect(await codesOf()).toEqual(["WORKFLOW_HIDDEN metadata.json"]);
    expect(await codesOf("only_here")).toEqual([]);
    expect((await content.text("only_here", { phase: 1 })).text).toBe("# Phase 1: Dig\n");
  });

  it("continue with the other root when one is removed, and follow the current target of a linked root", async () => {
    const [one, two, current] = [join(base, "one"), join(base, "two"), join(base, "current")];
    await place(one, "a_v1");
    await place(two, "b_v1");
    await symlink(one, current);
    content = new FileContent({ roots: [current, root] });
    expect((await content.list()).map(({ type }) => type)).toEqual(["a_v1", TYPE]);
    await rm(current);
    expect((await content.list()).map(({ type }) => type)).toEqual([TYPE]);
    await symlink(two, current);
    expect((await content.list()).map(({ type }) => type)).toEqual(["b_v1", TYPE]);
  });

  it("ignore a FIFO with a workflow's name", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    expect(await content.definition("pipe")).toBeUndefined();
  });

  it("need at least one root, and use it once it exists", async () => {
    content = new FileContent({ roots: [join(base, "soon")] });
    expect((await failure(content.list())).code).toBe("FILE_NOT_FOUND");
    await place(join(base, "soon"));
    expect(await content.list()).toHaveLength(1);
    content = new FileContent({ roots: [join(root, TYPE, "metadata.json")] });
    expect((await failure(content.list())).code).toBe("PATH_REFUSED");
  });
});

describe("files that cannot be read", () => {
  const gate = `${TYPE}/phases/1/gate-definition.yaml`;

  it("never open a gate", async () => {
    await write(join(base, "outside.yaml"), gateFile("a: {type: bool}"));
    await symlink(join(base, "outside.yaml"), join(root, gate));
    expect(await codesOf()).toEqual(["FILE_UNREADABLE phases/1/gate-definition.yaml"]);
    await rm(join(root, gate));
    await write(join(root, gate), Uint8Array.of(0xff, 0xfe));
    expect(await codesOf()).toEqual(["NOT_UTF8 phases/1/gate-definition.yaml"]);
    await write(join(root, gate), "x".repeat(1024 * 1024 + 1));
    expect(await codesOf()).toEqual(["FILE_TOO_LARGE phases/1/gate-definition.yaml"]);
  });

  it("never open a gate if they are folders, or anything else with a name like a gate file", async () => {
    const open = { phases: [phase(1, { required_evidence: undefined }), phase(2, { required_evidence: undefined })] };
    await write(join(root, TYPE, "metadata.json"), metadata(open));
    const phases = join(root, TYPE, "phases");
    expect(await codesOf()).toEqual(["GATE_OPEN metadata.json", "GATE_OPEN metadata.json"]);
    await mkdir(join(phases, "1/gate-definition.yaml"));
    await write(join(phases, "2/gate-definition.json"), "{}");
    const misnamed = "GATE_FILE_MISNAMED phases/2/gate-definition.json";
    expect(await codesOf()).toEqual(["FILE_UNREADABLE phases/1/gate-definition.yaml", misnamed]);
    await write(join(phases, "1/gate-definition.yaml/inner.yaml"), "a: 1");
    expect(await codesOf()).toEqual(["FILE_UNREADABLE phases/1/gate-definition.yaml", misnamed]);
    await rename(join(phases, "1/gate-definition.yaml"), join(phases, "1/Gate-Definition"));
    expect(await codesOf()).toEqual([
      "FILE_UNREADABLE phases/1/Gate-Definition",
      "GATE_FILE_MISNAMED phases/1/Gate-Definition",
      misnamed,
    ]);
    await write(join(phases, "1/gate-definition.yml"), gateFile("a: {type: bool}"));
    await rename(join(phases, "2/gate-definition.json"), join(phases, "2/gate-definition.yaml.bak"));
    expect(await codesOf()).toEqual(["GATE_FILE_MISNAMED phases/2/gate-definition.yaml.bak"]);
    await write(join(phases, "2/gate-definition.yaml"), gateFile("a: {type: bool}"));
    await write(join(phases, "2/gate-definition.yaml.bak"), Uint8Array.of(0xff));
    expect(await codesOf()).toEqual([]);
    await write(join(root, TYPE, "gate-definition.yaml"), gateFile("a: {type: bool}"));
    expect(await codesOf()).toEqual(["GATE_FILE_MISNAMED gate-definition.yaml"]);
  });

  it("never open the gate of a phase whose text is in another place", async () => {
    const elsewhere = { phases: [phase(1, { phase_file: "texts/one.md", required_evidence: undefined }), phase(2)] };
    await write(join(root, TYPE, "metadata.json"), metadata(elsewhere));
    await write(join(root, TYPE, "texts/one.md"), "# One");
    await rm(join(root, TYPE, "phases/1/phase.md"));
    await write(join(root, TYPE, "texts/gate-definition.yaml"), gateFile("a: {type: bool}"));
    const gate = (await content.definition(TYPE))?.structure.phases[0]?.gate;
    expect(gate).toMatchObject({ kind: "fields", fields: [{ name: "a" }] });
    await rm(join(root, TYPE, "texts/gate-definition.yaml"));
    await mkdir(join(root, TYPE, "texts/gate-definition.yaml"));
    expect(await codesOf()).toEqual(["FILE_UNREADABLE texts/gate-definition.yaml"]);
    await rm(join(root, TYPE, "texts/gate-definition.yaml"), { recursive: true });
    await write(join(root, TYPE, "texts/gate.json"), "{}");
    expect(await codesOf()).toEqual(["GATE_FILE_MISNAMED texts/gate.json"]);
    await rm(join(root, TYPE, "texts/gate.json"));
    await rm(join(root, TYPE, "phases/1"), { recursive: true });
    await mkdir(join(root, TYPE, "phases/1/gate-definition.yaml"), { recursive: true });
    expect(await codesOf()).toContain("FILE_UNREADABLE phases/1/gate-definition.yaml");
  });

  it("are errors if the folder of a phase is a link that leads outside", async () => {
    await rename(join(root, TYPE, "phases", "2"), join(base, "two"));
    await symlink(join(base, "two"), join(root, TYPE, "phases", "2"));
    expect(await codesOf()).toContain("FILE_UNREADABLE phases/2");
  });

  it("are read through a link inside the root", async () => {
    await rename(join(root, TYPE, "phases", "2"), join(root, "shared"));
    await symlink("../../shared", join(root, TYPE, "phases", "2"));
    expect(await codesOf()).toEqual([]);
    expect((await content.text(TYPE, { phase: 2, task: 1 })).text).toBe("# Task 1: Rake\n");
  });

  it("are ignored if they are not needed", async () => {
    await symlink(base, join(root, TYPE, "elsewhere"));
    await write(join(root, TYPE, "core/huge.bin"), "x".repeat(1024 * 1024 + 1));
    expect(await codesOf()).toEqual([]);
  });

  it("make a linked folder that leads outside, or nowhere, a broken workflow, not a missing one", async () => {
    await rename(join(root, TYPE), join(base, TYPE));
    await symlink(join(base, TYPE), join(root, TYPE));
    await symlink(join(base, "nowhere"), join(root, "lost_v1"));
    await symlink(base, join(root, ".hidden"));
    await symlink(base, join(root, "back\\slash"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    expect((await content.list()).map(({ type, status }) => [type, status])).toEqual([
      [TYPE, "broken"],
      ["lost_v1", "broken"],
    ]);
    for (const type of [TYPE, "lost_v1"]) {
      expect(await codesOf(type)).toEqual(["FILE_UNREADABLE metadata.json"]);
      expect((await failure(content.definition(type))).code).toBe("DEFINITION_INVALID");
      expect((await failure(content.text(type, { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    }
    expect((await content.list())[0]?.diagnostics[0]).toMatchObject({
      message: expect.stringContaining("does not lead to a place inside its root"),
      hint: expect.stringContaining("Put the folder itself there"),
    });
  });

  it("make texts unavailable if metadata.json leads outside", async () => {
    await rename(join(root, TYPE, "metadata.json"), join(base, "metadata.json"));
    await symlink(join(base, "metadata.json"), join(root, TYPE, "metadata.json"));
    expect(await codesOf()).toEqual(["FILE_UNREADABLE metadata.json"]);
    expect((await failure(content.text(TYPE, { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
  });

  it("hide a folder of the same type in a later root, as readable ones do", async () => {
    const first = join(base, "first");
    await mkdir(first);
    await symlink(join(root, TYPE), join(first, TYPE));
    content = new FileContent({ roots: [first, root] });
    expect(await codesOf()).toEqual(["FILE_UNREADABLE metadata.json", "WORKFLOW_HIDDEN metadata.json"]);
    content = new FileContent({ roots: [root, first] });
    expect(await codesOf()).toEqual(["WORKFLOW_HIDDEN metadata.json"]);
  });

  it("make a workflow broken if all of its phases lead outside, even without metadata.json", async () => {
    await mkdir(join(root, "half_v1"));
    await symlink(base, join(root, "half_v1", "phases"));
    expect(await codesOf("half_v1")).toContain("FILE_UNREADABLE phases");
  });

  it("are reported if there are too many, or they are too large together", async () => {
    let deep = join(root, TYPE);
    for (let depth = 0; depth < 20; depth += 1) deep = join(deep, "d");
    await write(join(deep, "x.md"), "x");
    expect(await codesOf()).toContain("FOLDER_TOO_LARGE metadata.json");
    await rm(join(root, TYPE, "d"), { recursive: true });
    const half = "x".repeat(1024 * 1024);
    await Promise.all(Array.from({ length: 33 }, (_, index) => write(join(root, TYPE, `core/${index}.md`), half)));
    expect(await codesOf()).toEqual(["FOLDER_TOO_LARGE metadata.json"]);
  });

  it("do not hide an internal error of the sandbox", async () => {
    const sandbox = await openSandbox(root);
    const state = await readState(sandbox, TYPE);
    if (state === undefined) return expect.fail("no folder");
    const fault = () => Promise.reject(new TypeError("a fault"));
    await expect(readFolder({ ...sandbox, read: fault }, TYPE, state)).rejects.toThrow(TypeError);
    await expect(readState({ ...sandbox, walk: fault }, TYPE)).rejects.toThrow(TypeError);
    await expect(readState({ ...sandbox, list: fault }, TYPE)).rejects.toThrow(TypeError);
    await expect(new WorkflowFolder({ ...sandbox, walk: fault }, TYPE).read()).rejects.toThrow(TypeError);
    await expect(new WorkflowFolder({ ...sandbox, signature: fault }, TYPE).forTexts()).rejects.toThrow(TypeError);
    await symlink(base, join(root, "out"));
    await expect(workflowNames({ ...sandbox, check: fault })).rejects.toThrow(TypeError);
  });

  it("of one folder do not affect other workflows", async () => {
    const sandbox = await openSandbox(root);
    const walk = () => Promise.reject(unreadable(TYPE, Object.assign(new Error("no"), { code: "EACCES" })));
    expect(await new WorkflowFolder({ ...sandbox, walk }, TYPE).read()).toMatchObject({
      diagnostics: [{ code: "FILE_UNREADABLE", severity: "error", hint: expect.stringContaining("may read the file") }],
    });
  });

  it("may be missing by the time gate files are searched", async () => {
    const sandbox = await openSandbox(root);
    const list = async () => Promise.reject(notFound(TYPE));
    expect((await readState({ ...sandbox, list }, TYPE))?.entries).toHaveLength(5);
  });

  it("may disappear while the folder is read", async () => {
    const sandbox = await openSandbox(root);
    const state = await readState(sandbox, TYPE);
    if (state === undefined) return expect.fail("no folder");
    await rm(join(root, TYPE, "phases/1/phase.md"));
    const { files, unreadable } = await readFolder(sandbox, TYPE, state);
    expect(files).toHaveLength(4);
    expect(unreadable).toEqual([]);
  });
});

describe("text", () => {
  it("returns current phases and tasks", async () => {
    await settle();
    const path = "phases/1/phase.md";
    const text = "# Phase 1: Dig\n";
    const expected = { text, revision: revisionOf(text), sources: [path], tokens: 4 };
    expect(await content.text(TYPE, { phase: 1 })).toEqual(expected);
    await write(join(root, TYPE, path), "\uFEFF# Changed");
    const changed = await content.text(TYPE, { phase: 1 });
    expect(changed.text).toBe("# Changed");
    expect((await content.definition(TYPE))?.structure.phases[0]?.textRevision).toBe(changed.revision);
    expect((await content.text(TYPE, { phase: 2, task: 1 })).sources).toEqual(["phases/2/task-1-dig.md"]);
  });

  it("still returns the previous texts while an edit has broken the definition", async () => {
    await content.text(TYPE, { phase: 1 });
    await write(join(root, TYPE, "metadata.json"), "{ half an edit");
    expect((await failure(content.definition(TYPE))).code).toBe("DEFINITION_INVALID");
    expect((await content.text(TYPE, { phase: 1 })).text).toBe("# Phase 1: Dig\n");
    const fresh = new FileContent({ roots: [root] });
    expect((await failure(fresh.text(TYPE, { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
  });

  it("never returns a key or a secret, and the workflow reports it", async () => {
    await write(join(root, ".env"), "TOKEN=hush\n");
    const text = join(root, TYPE, "phases/1/phase.md");
    await rm(text);
    await symlink("../../../.env", text);
    await write(join(root, TYPE, "core/x.pem.md"), "hush\n");
    await write(join(root, TYPE, "phases/1/tls.key"), "hush\n");
    expect((await failure(content.text(TYPE, { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    expect(JSON.stringify([await content.list(), await codesOf()])).not.toContain("hush");
    expect(await codesOf()).toEqual(expect.arrayContaining(["FILE_UNREADABLE phases/1/phase.md"]));
    expect(await codesOf()).not.toContain("FILE_UNREADABLE phases/1/tls.key");
  });

  it("returns a template, and names its path if it is missing", async () => {
    const template = (kind: "phase" | "task") => content.text(TYPE, { template: kind });
    const none = await failure(template("phase"));
    expect(none).toMatchObject({ code: "TEMPLATE", details: { workflowType: TYPE } });
    await write(
      join(root, TYPE, "metadata.json"),
      metadata({ dynamic_phases: true, dynamic_config: { templates: { task: "t.md" } } }),
    );
    await write(join(root, TYPE, "phases/dynamic/phase-template.md"), "# [PHASE_NAME]");
    await write(join(root, TYPE, "t.md"), "\uFEFF# [TASK_NAME]");
    expect(await template("phase")).toMatchObject({
      text: "# [PHASE_NAME]",
      sources: ["phases/dynamic/phase-template.md"],
    });
    expect(await template("task")).toMatchObject({ text: "# [TASK_NAME]", sources: ["t.md"] });
    await rm(join(root, TYPE, "t.md"));
    expect(await failure(template("task"))).toMatchObject({
      code: "TEMPLATE",
      details: { file: "t.md", workflowType: TYPE },
    });
  });

  it("finds an added file that metadata.json does not mention", async () => {
    const open = metadata({ phases: 2, total_phases: undefined });
    await write(join(root, TYPE, "metadata.json"), open);
    await settle();
    await content.text(TYPE, { phase: 1 });
    await write(join(root, TYPE, "phases/1/task-2-water.md"), "# Task 2: Water\n");
    expect((await content.text(TYPE, { phase: 1, task: 2 })).text).toBe("# Task 2: Water\n");
  });

  it("throws CONTENT_UNAVAILABLE if there is none", async () => {
    for (const part of [{ phase: 9 }, { phase: 1, task: 9 }, { phase: 9, task: 1 }]) {
      const error = await failure(content.text(TYPE, part));
      expect(error).toMatchObject({ code: "CONTENT_UNAVAILABLE", details: { workflowType: TYPE, ...part } });
    }
    expect((await failure(content.text("none", { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    expect((await failure(content.text("../x", { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
  });
});

it("text distinguishes a file that has just disappeared from an internal error", async () => {
  const gone = new PhasegateError("FILE_NOT_FOUND", "there is no such file", { remedy: "", details: { file: "x" } });
  const reading = vi.spyOn(WorkflowFolder.prototype, "text");
  reading.mockRejectedValueOnce(gone);
  expect(await failure(content.text(TYPE, { phase: 1 }))).toMatchObject({ code: "CONTENT_UNAVAILABLE", cause: gone });
  reading.mockRejectedValueOnce(new TypeError("a fault"));
  await expect(content.text(TYPE, { phase: 1 })).rejects.toThrow(TypeError);
  reading.mockRestore();
});

/** A sandbox that counts its reads, and may run a function between two of them. */
function watched(sandbox: Sandbox, between: () => Promise<void> = async () => {}): Sandbox & { reads: number } {
  const counting = {
    ...sandbox,
    reads: 0,
    read: async (...call: Parameters<Sandbox["read"]>) => {
      counting.reads += 1;
      const result = await sandbox.read(...call);
      await between();
      return result;
    },
  };
  return counting;
}

describe("the cache of a workflow folder", () => {
  /** Far enough in the future that all files count as unchanged for long. */
  const later = () => Date.now() + 60_000;

  it("is used while nothing changes", async () => {
    const sandbox = watched(await openSandbox(root));
    const folder = new WorkflowFolder(sandbox, TYPE, later);
    const first = await folder.read();
    await folder.text("phases/1/phase.md");
    const reads = sandbox.reads;
    expect(await folder.read()).toBe(first);
    expect(await folder.text("phases/1/phase.md")).toBe("# Phase 1: Dig\n");
    expect(sandbox.reads).toBe(reads);
    await write(join(root, TYPE, "phases/1/phase.md"), "# Other");
    expect(await folder.text("phases/1/phase.md")).toBe("# Other");
    expect(await folder.read()).not.toBe(first);
  });

  it("is not used for recent changes, as file times may not show a second change", async () => {
    const sandbox = watched(await openSandbox(root));
    const folder = new WorkflowFolder(sandbox, TYPE);
    await folder.read();
    await folder.text("phases/1/phase.md");
    const reads = sandbox.reads;
    await folder.read();
    await folder.text("phases/1/phase.md");
    expect(sandbox.reads).toBe(reads * 2);
  });

  it("never mixes states: a folder that changes meanwhile is read again, up to a limit", async () => {
    let changes = 0;
    const change = (limit: number) => async () => {
      changes += 1;
      if (changes <= limit) await appendFile(join(root, TYPE, "phases/2/phase.md"), "x");
    };
    const once = new WorkflowFolder(watched(await openSandbox(root), change(1)), TYPE, later);
    expect((await once.read())?.definition?.structure.phases[1]?.textRevision).toBe(revisionOf("# Phase 2: Sow\nx"));
    changes = 0;
    const always = watched(await openSandbox(root), change(1000));
    const restless = new WorkflowFolder(always, TYPE, later);
    const read = await restless.read();
    expect([read?.definition, read?.diagnostics[0]?.message]).toEqual([
      undefined,
      expect.stringContaining("changes while"),
    ]);
    expect(always.reads).toBe(15);
    changes = 2000;
    expect((await restless.read())?.definition, "nothing of it was kept").toBeDefined();
  });

  it("contains nothing of a folder that disappears while it is read", async () => {
    const remove = () => rm(join(root, TYPE), { recursive: true, force: true });
    const folder = new WorkflowFolder(watched(await openSandbox(root), remove), TYPE, later);
    expect(await folder.read()).toBeUndefined();
  });
});
