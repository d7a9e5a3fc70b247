import { link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, createWorkflowTool, MemoryStorage } from "phasegate";
import { FileContent } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** Text in every file that an agent in phase 1 must not see. */
const HIDDEN = "the treasure is under the oak";

const entry = (number: number, more: object = {}) => ({ phase_number: number, phase_name: `Phase ${number}`, ...more });
const METADATA = {
  ...{ workflow_type: "honest_v1", name: "Honest", description: HIDDEN, version: "1.0.0" },
  phases: [entry(1), entry(2), entry(3, { phase_file: "texts/third.md" })],
};

const FILES = {
  "honest_v1/metadata.json": JSON.stringify(METADATA),
  "honest_v1/core/guide.md": "A guide",
  "honest_v1/phases/1/phase.md": "# Phase 1\n\nSee [the guide](../../core/guide.md).\n",
  "honest_v1/phases/1/notes.md": "Notes of phase 1",
  "honest_v1/phases/1/gate-definition.yaml": `checkpoint: {reveal: none}\nevidence_schema:\n  done: {type: boolean, description: ${HIDDEN}}\n`,
  "honest_v1/phases/2/phase.md": `# Phase 2\n\n${HIDDEN}\n`,
  "honest_v1/phases/2/task-1-dig.md": `# Dig\n\n${HIDDEN}\n`,
  "honest_v1/phases/2/näher.md": HIDDEN,
  "honest_v1/phases/2/deep/notes.md": HIDDEN,
  "honest_v1/phases/9/phase.md": HIDDEN,
  "honest_v1/phases/loose.md": HIDDEN,
  "honest_v1/texts/third.md": `# Phase 3\n\n${HIDDEN}\n`,
  "other_v1/metadata.json": JSON.stringify({ ...METADATA, workflow_type: "other_v1" }),
  "other_v1/core/guide.md": HIDDEN,
};

/** Starts a session in phase 1 of a workflow on disk, whose folder contains the given files, too. */
async function inPhaseOne(files: Readonly<Record<string, string>> = {}) {
  const base = await temporaryFolder();
  const root = join(base, "workflows");
  await writeFiles(root, { ...FILES, ...files });
  await writeFiles(base, { "outside.md": HIDDEN });
  const engine = createEngine({ content: new FileContent({ roots: [root] }), storage: new MemoryStorage() });
  const tool = createWorkflowTool(engine);
  const started = await tool.dispatch({ action: "start", workflow_type: "honest_v1", target_file: "a.ts" });
  expect(started, JSON.stringify(started)).toMatchObject({ status: "success" });
  const session_id = started.session_id;
  const ask = (path: string) => tool.dispatch({ action: "get_document", session_id, path });
  return {
    ...{ base, workflow: join(root, "honest_v1"), ask },
    refuses: async (path: string, code?: string) => {
      const answer = await ask(path);
      expect(answer, path).toMatchObject({ status: "error", ...(code === undefined ? {} : { code }) });
      expect(JSON.stringify(answer), path).not.toContain(HIDDEN);
      expect(JSON.stringify(answer), path).not.toContain(base);
    },
    gives: async (path: string, content: string) =>
      expect(await ask(path), path).toMatchObject({ status: "success", document: { content } }),
    pass: () =>
      tool.dispatch({ action: "complete_phase", session_id, phase: 1, evidence: { done: true } }).then((answer) => {
        expect(answer).toMatchObject({ checkpoint_passed: true });
      }),
  };
}

describe("documents of a phase that is ahead", () => {
  it("are given to an honest agent that has reached it", async () => {
    const session = await inPhaseOne();
    await session.refuses("phases/2/deep/notes.md", "PHASE_LOCKED");
    await session.pass();
    await session.gives("phases/2/deep/notes.md", HIDDEN);
    await session.gives("deep/notes.md", HIDDEN);
    await session.gives("../1/notes.md", "Notes of phase 1");
    await session.gives("../../core/guide.md", "A guide");
    expect(await session.ask("texts/third.md")).toMatchObject({ status: "error", code: "PHASE_LOCKED" });
  });

  it.each([
    "phases/2/phase.md",
    "phases/2/task-1-dig.md",
    "phases/2/deep/notes.md",
    "../2/phase.md",
    "./../2/./phase.md",
    "core/../phases/2/phase.md",
    "core/../core/../phases//2/phase.md",
    "phases\\2\\phase.md",
    "..\\2\\phase.md",
    "phases/1/../2/phase.md",
    "texts/third.md",
    "../../texts/third.md",
  ])("are refused under a path with dots and other separators: %s", async (path) => {
    await (await inPhaseOne()).refuses(path, "PHASE_LOCKED");
  });

  it.each([
    "phases%2F2%2Fphase.md",
    "phases/%32/phase.md",
    "%70hases/2/phase.md",
    "..%2f2%2fphase.md",
    "%2e%2e/2/phase.md",
    "phases/2/phase.md#top",
    "phases%5C2%5Cphase.md",
    "phases/%252e%252e/2/phase.md",
    "phases/2/phase.md%00.txt",
    "phases/2/phase%ZZ.md",
  ])("are refused under an encoded path: %s", async (path) => {
    await (await inPhaseOne()).refuses(path);
  });

  it.each([
    "PHASES/2/PHASE.MD",
    "Phases/2/phase.md",
    "phases/2/PHASE.md",
    "phases./2/phase.md",
    "phases /2/phase.md",
    "phases/2/phase.md.",
    "phases/2/phase.md::$DATA",
    "phases/2./phase.md",
    "phases/02/phase.md",
    "phases/２/phase.md",
    "ｐhases/2/phase.md",
    "ph\u200bases/2/phase.md",
    "phases/2/na\u0308her.md",
    "phases/2/n\u00e4her.md",
    "Texts/Third.md",
  ])("are refused under a path that only some file systems accept: %j", async (path) => {
    await (await inPhaseOne()).refuses(path);
  });

  it("are refused through symbolic links to a file and to a folder", async () => {
    const session = await inPhaseOne();
    await symlink("../phases/2/phase.md", join(session.workflow, "core/link.md"));
    await symlink("phases/2", join(session.workflow, "second"));
    await symlink("../../texts/third.md", join(session.workflow, "phases/1/third.md"));
    await session.refuses("core/link.md", "PHASE_LOCKED");
    await session.refuses("second/phase.md", "PHASE_LOCKED");
    await session.refuses("second/deep/notes.md", "PHASE_LOCKED");
    await session.refuses("phases/1/third.md", "PHASE_LOCKED");
    await session.gives("core/guide.md", "A guide");
  });

  it("are refused at their real path if the phase's folder is a link", async () => {
    const session = await inPhaseOne();
    await rename(join(session.workflow, "phases/2"), join(session.workflow, "texts/second"));
    await symlink("../texts/second", join(session.workflow, "phases/2"));
    await session.refuses("texts/second/phase.md", "PHASE_LOCKED");
    await session.refuses("texts/second/deep/notes.md", "PHASE_LOCKED");
    await session.pass();
    await session.gives("texts/second/deep/notes.md", HIDDEN);
  });

  it("are refused through hard links", async () => {
    const session = await inPhaseOne();
    await link(join(session.workflow, "phases/2/phase.md"), join(session.workflow, "core/hard.md"));
    await link(join(session.workflow, "phases/2/deep/notes.md"), join(session.workflow, "phases/1/hard.md"));
    await session.refuses("core/hard.md", "PHASE_LOCKED");
    await session.refuses("phases/1/hard.md", "PHASE_LOCKED");
    await session.gives("phases/1/notes.md", "Notes of phase 1");
  });

  it("are refused if a document is replaced by a link between two calls", async () => {
    const session = await inPhaseOne();
    await session.gives("core/guide.md", "A guide");
    await rm(join(session.workflow, "core/guide.md"));
    await symlink("../phases/2/phase.md", join(session.workflow, "core/guide.md"));
    await session.refuses("core/guide.md", "PHASE_LOCKED");
  });

  it("are refused in a folder in phases/ that belongs to no phase", async () => {
    const session = await inPhaseOne();
    await session.refuses("phases/9/phase.md", "PATH_REFUSED");
    await session.refuses("phases/loose.md", "PATH_REFUSED");
    await session.refuses("phases", "PATH_REFUSED");
  });

  it("get the same answer as files that do not exist", async () => {
    const session = await inPhaseOne();
    const without = ({ remediation, error, code }: Record<string, unknown>) => ({ remediation, error, code });
    expect(without(await session.ask("phases/2/none.md"))).toEqual(
      without(await session.ask("phases/2/deep/notes.md")),
    );
    expect(without(await session.ask("../2/none.md"))).toEqual(without(await session.ask("../2/phase.md")));
    // The list of documents in the error names none of them.
    expect(JSON.stringify(await session.ask("core/nothing.md"))).not.toMatch(/phases\/[29]|third|metadata|gate-/);
  });
});

describe("files that are never documents", () => {
  it.each([
    "metadata.json",
    "Metadata.JSON",
    "../../metadata.json",
    "core/../metadata.json",
    "phases/1/gate-definition.yaml",
    "gate-definition.yaml",
    "GATE-DEFINITION.YAML",
    "old/gate-definition.yaml",
    "old/gate-definition.yml.bak",
    ".hidden.md",
    ".notes/plan.md",
    "core/.env",
    "core/server.key",
    "core/id_rsa",
    "core/secrets.json",
  ])("are refused: %s", async (path) => {
    const files = ["old/gate-definition.yaml", "old/gate-definition.yml.bak", ".hidden.md", ".notes/plan.md"];
    const secrets = ["core/.env", "core/server.key", "core/id_rsa", "core/secrets.json"];
    const more = Object.fromEntries([...files, ...secrets].map((file) => [`honest_v1/${file}`, HIDDEN]));
    await (await inPhaseOne(more)).refuses(path, "PATH_REFUSED");
  });

  it("are refused through symbolic and hard links", async () => {
    const session = await inPhaseOne({ "honest_v1/.hidden.md": HIDDEN, "honest_v1/core/.env": HIDDEN });
    const { workflow } = session;
    await symlink("../phases/1/gate-definition.yaml", join(workflow, "core/gate.txt"));
    await symlink("../metadata.json", join(workflow, "core/about.json"));
    await symlink("../.hidden.md", join(workflow, "core/plain.md"));
    await symlink(".env", join(workflow, "core/env.txt"));
    await link(join(workflow, "phases/1/gate-definition.yaml"), join(workflow, "core/hard.txt"));
    await link(join(workflow, "metadata.json"), join(workflow, "core/hard.json"));
    for (const name of ["gate.txt", "about.json", "plain.md", "env.txt", "hard.txt", "hard.json"]) {
      await session.refuses(`core/${name}`);
    }
  });

  it("are refused outside of the workflow's folder: other workflows, the roots and the disk", async () => {
    const session = await inPhaseOne();
    await symlink("../../other_v1/core/guide.md", join(session.workflow, "core/other.md"));
    await symlink("../../../outside.md", join(session.workflow, "core/outside.md"));
    await symlink("../other_v1", join(session.workflow, "other"));
    for (const path of ["core/other.md", "core/outside.md", "other/core/guide.md"]) await session.refuses(path);
    const ways = ["../../../other_v1/core/guide.md", "../../../../outside.md", "../../../../../../../../etc/passwd"];
    for (const path of ways) await session.refuses(path, "PATH_REFUSED");
    for (const path of ["/etc/passwd", "C:\\a.md", "\\\\host\\a.md", "", " ", "a\0b.md"]) {
      await session.refuses(path, "PATH_REFUSED");
    }
  });

  it("are refused if they are not text, too large, or a folder", async () => {
    const session = await inPhaseOne({
      "honest_v1/core/nul.md": "a\0b",
      "honest_v1/core/big.txt": "x".repeat(2 ** 20 + 1),
    });
    await writeFiles(session.workflow, { "core/image.png": new Uint8Array([0x89, 0x50, 0xff, 0xfe]) });
    await mkdir(join(session.workflow, "core/folder.md"));
    await session.refuses("core/nul.md", "INVALID_INPUT");
    await session.refuses("core/image.png", "INVALID_INPUT");
    await session.refuses("core/big.txt", "TOO_LARGE");
    await session.refuses("core/folder.md", "FILE_NOT_FOUND");
    await session.refuses("core", "FILE_NOT_FOUND");
  });
});
