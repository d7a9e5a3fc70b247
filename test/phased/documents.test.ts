import fc from "fast-check";
import { defineWorkflow, MemoryContent, type PhaseInput } from "phasegate";
import { describe, expect, it } from "vitest";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { makeEngine } from "../support/make-engine.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { metadata, texts } from "../workflow/workflow-texts.js";

const phases = (...contents: string[]): PhaseInput[] =>
  contents.map((content, index) => ({
    ...{ number: index + 1, name: `Phase ${index + 1}`, content },
    tasks: [{ name: "Dig", content: `A task. See ../../core/guide.md, or phases/${index + 1}/notes.md.` }],
  }));

/** A session on a workflow in code with these texts and documents. */
async function inCode(contents: string[], documents: Record<string, string | (() => string)>) {
  const workflow = defineWorkflow({
    ...{ type: "garden", revision: "1", name: "Garden", description: "Dig", phases: phases(...contents), documents },
  });
  const { engine } = makeEngine({}, [workflow]);
  const { sessionId } = await engine.start({ workflowType: "garden", target: "a" });
  return { engine, id: sessionId, session: engine.session(sessionId) };
}

/** A session on a workflow folder in memory. */
async function inFolder(changes: Record<string, string | undefined>) {
  const source = Object.fromEntries(texts(changes).map(({ path, text }) => [path, text]));
  const { engine } = makeEngine({ content: new MemoryContent({ sources: { garden_v1: source } }) });
  const { sessionId } = await engine.start({ workflowType: "garden_v1", target: "a" });
  return { engine, id: sessionId, session: engine.session(sessionId) };
}

describe("documents that a text names", () => {
  it("are listed with their tokens: links, paths in code and in prose, each once", async () => {
    const text = [
      "# Phase 1",
      "",
      "⚠️ MUST-READ: ../../core/guide.md, then see core/template.md and `core/template.md`.",
      "[Notes](notes.md#top), [the same](./notes.md), [spaces](../../core/my%20notes.md), [by reference][1].",
      "",
      "[1]: ../../core/last.md",
      "",
      "Not [this one](../2/notes.md), nor [a page](https://example.org/core/web.md), nor core/missing.md.",
      "",
      "```sh",
      "cat core/fenced.md",
      "```",
    ].join("\n");
    const { session } = await inFolder({
      "phases/1/phase.md": text,
      "core/guide.md": "x".repeat(40),
      "core/template.md": "",
      "core/my notes.md": "y",
      "core/last.md": "z",
      "core/fenced.md": "f",
      "core/web.md": "w",
      "phases/1/notes.md": "n",
      "phases/2/notes.md": "n",
    });
    const { documents } = await session.phase();
    expect(documents).toEqual([
      { path: "core/guide.md", tokens: 10 },
      { path: "core/template.md", tokens: 0 },
      { path: "phases/1/notes.md", tokens: 1 },
      { path: "core/my notes.md", tokens: 1 },
      { path: "core/last.md", tokens: 1 },
    ]);
    for (const path of [
      "../../core/my%20notes.md",
      "core/my notes.md",
      "../../core/my notes.md",
      "./notes.md",
      "notes.md#top",
    ]) {
      expect((await session.document(path)).content.text, path).toMatch(/^[yn]$/);
    }
  });

  it("do not include the texts of phases and tasks, which have calls of their own", async () => {
    const { session } = await inFolder({ "phases/1/phase.md": "[Task](task-1-dig.md), [next](../2/phase.md)" });
    expect((await session.phase()).documents).toEqual([]);
    expect((await session.document("task-1-dig.md")).content.text).toBe("# Task 1: Dig over\n");
    await expect(session.document("../2/phase.md")).rejects.toMatchObject({ code: "PHASE_LOCKED" });
  });

  it("come from the texts of tasks and of documents, too, relative to each", async () => {
    const { session } = await inFolder({
      "phases/1/task-1-dig.md": "See [it](../../core/guide.md).",
      "core/guide.md": "See [more](more/detail.md) and [the notes](../phases/2/notes.md).",
      "core/more/detail.md": "See [the guide](../guide.md), `detail.md`.",
      "phases/2/notes.md": "later",
    });
    expect((await session.task(1, 1)).documents).toEqual([{ path: "core/guide.md", tokens: 17 }]);
    const guide = await session.document("core/guide.md");
    expect(guide).toMatchObject({ path: "core/guide.md", currentPhase: 1, status: "active" });
    expect(guide.documents).toEqual([{ path: "core/more/detail.md", tokens: 11 }]);
    expect((await session.document("core/more/detail.md")).documents).toEqual([{ path: "core/guide.md", tokens: 17 }]);
  });

  it("of a phase ahead are listed when the session has reached it, and stay readable after it", async () => {
    const { engine, id, session } = await inCode(["See phases/2/notes.md", "See phases/2/notes.md"], {
      "phases/2/notes.md": "of phase 2",
      "core/guide.md": () => "from a function",
    });
    expect((await session.phase()).documents).toEqual([]);
    expect((await session.task(1, 1)).documents).toEqual([{ path: "core/guide.md", tokens: 4 }]);
    await expect(session.document("phases/2/notes.md")).rejects.toMatchObject({ code: "PHASE_LOCKED" });
    await engine.session(id).completePhase(1, {});
    expect((await session.phase()).documents).toEqual([{ path: "phases/2/notes.md", tokens: 3 }]);
    await engine.session(id).completePhase(2, {});
    expect(await session.document("phases/2/notes.md")).toMatchObject({ status: "completed" });
    await expect(session.document("phases/3/notes.md")).rejects.toMatchObject({ code: "PATH_REFUSED" });
  });

  it("are locked again after a rollback", async () => {
    const { engine, id, session } = await inCode(["1", "2"], { "phases/2/notes.md": "of phase 2" });
    await engine.session(id).completePhase(1, {});
    expect((await session.document("notes.md")).content.text).toBe("of phase 2");
    await engine.session(id).rollback(1);
    await expect(session.document("phases/2/notes.md")).rejects.toMatchObject({ code: "PHASE_LOCKED" });
  });

  it("are read beside texts that are in phases/ itself, and their subfolders are not", async () => {
    const listed = [1, 2].map((number) => ({
      ...{ phase_number: number, phase_name: `Part ${number}`, phase_file: `phases/${number}.md`, tasks: [] },
    }));
    const { session } = await inFolder({
      "metadata.json": metadata({ phases: listed }),
      "phases/1.md": "# One",
      "phases/2.md": "# Two",
      "phases/notes.md": "beside both",
      "phases/other/notes.md": "of nobody",
    });
    expect((await session.document("notes.md")).content.text).toBe("beside both");
    await expect(session.document("phases/2.md")).rejects.toMatchObject({ code: "PHASE_LOCKED" });
    await expect(session.document("phases/other/notes.md")).rejects.toMatchObject({ code: "PATH_REFUSED" });
  });

  it("that cannot be read leave a phase readable, and are reported to the host", async () => {
    const workflow = defineWorkflow({
      ...{ type: "garden", revision: "1", name: "G", description: "D", phases: phases("See core/guide.md") },
      documents: { "core/guide.md": "A guide" },
    });
    const content = new MemoryContent({ workflows: [workflow] });
    const { engine } = makeEngine({
      content: Object.assign(Object.create(content), { documents: () => Promise.reject(new Error("disk")) }),
    });
    const heard: unknown[] = [];
    engine.on("internalError", (event) => heard.push(event.operation));
    const { phase, sessionId } = await engine.start({ workflowType: "garden", target: "a" });
    expect(phase.documents).toEqual([]);
    expect(heard).toEqual(["list documents"]);
    await expect(engine.session(sessionId).document("core/guide.md")).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("are none at a provider without the method", async () => {
    const workflow = defineWorkflow({
      ...{ type: "garden", revision: "1", name: "G", description: "D", phases: phases("See core/guide.md") },
    });
    const content = new MemoryContent({ workflows: [workflow] });
    const { engine } = makeEngine({ content: Object.assign(Object.create(content), { documents: undefined }) });
    const { phase, sessionId } = await engine.start({ workflowType: "garden", target: "a" });
    expect(phase.documents).toEqual([]);
    await expect(engine.session(sessionId).document("core/guide.md")).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
      remedy: expect.stringContaining("no documents"),
    });
  });
});

const PART = fc.constantFrom(
  ...[
    "..",
    ".",
    "",
    "phases",
    "Phases",
    "1",
    "2",
    "3",
    "phase.md",
    "notes.md",
    "task-1-dig.md",
    "core",
    "guide.md",
    "late",
  ],
  ...[
    "metadata.json",
    "gate-definition.yaml",
    ".hidden.md",
    "%2e%2e",
    "%70hases",
    "2%2Fnotes.md",
    "phases%5c2",
    "two.md",
  ],
);

describe("any path in a request", () => {
  it("leads to what the session may read, or to an error", async () => {
    const secret = "for nobody in phase 1";
    const late = [
      "phases/2/phase.md",
      "phases/2/task-1-dig.md",
      "phases/2/notes.md",
      "phases/late/two.md",
      "phases/3/notes.md",
    ];
    const never = [".hidden.md", "core/.hidden.md", "phases/1/.hidden.md", "core/gate-definition.yaml"];
    const { session } = await inFolder({
      ...Object.fromEntries([...late, ...never].map((path) => [path, secret])),
      "core/guide.md": "guide",
      "phases/1/notes.md": "notes",
    });
    let given = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(PART, { minLength: 1, maxLength: 7 }),
        fc.constantFrom("/", "\\", "//", "%2f"),
        fc.constantFrom("", "./", "../", "../../", "phases/1/"),
        async (parts, separator, before) => {
          const path = `${before}${parts.join(separator)}`;
          const text = await session.document(path).then(
            ({ content }) => content.text,
            (error) => {
              expect(["FILE_NOT_FOUND", "PATH_REFUSED", "PHASE_LOCKED"], path).toContain(error.code);
              return `${error.message} ${error.remedy}`;
            },
          );
          given += text === "guide" || text === "notes" ? 1 : 0;
          expect(text, path).not.toContain(secret);
          expect(text, path).not.toContain("workflow_type");
        },
      ),
      { numRuns: 1500, examples: [[["core", "guide.md"], "/", "../../"]] },
    );
    expect(given).toBeGreaterThan(0);
  });
});

describe("a request for a document that does not exist", () => {
  it("gets the nearest one, and a list of those that can be read", async () => {
    const { session } = await inCode(["1", "2"], { "core/guide.md": "", "core/other.md": "", "phases/2/x.md": "" });
    await expect(session.document("core/giude.md")).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
      remedy:
        "Did you mean core/guide.md? Documents: core/guide.md, core/other.md. Files of the project are not documents: read them yourself.",
    });
  });
});

describe("documents in code", () => {
  it("must have relative paths, which are errors otherwise", () => {
    const define = (path: string) =>
      defineWorkflow({
        ...{ type: "g", revision: "1", name: "G", description: "D", phases: phases("x"), documents: { [path]: "" } },
      });
    for (const path of ["/etc/passwd", "../a.md", "./a.md", "a//b.md", ""]) {
      expect(() => define(path), path).toThrow(/documents: .* is not a path such as 'core\/template\.md'/);
    }
    expect(define("core/a.md").documents).toEqual({ "core/a.md": "" });
  });
});

describe("documents that a text names and that do not exist", () => {
  const named = async (text: string, more: Record<string, string> = {}) => {
    const files = texts({ "phases/1/phase.md": text, "core/guide.md": "", "phases/1/notes.md": "", ...more });
    const { diagnostics } = await readWorkflow("garden_v1", files, [], ["core/schema.json"]);
    return diagnostics
      .filter(({ code }) => code === "DOCUMENT_MISSING")
      .map(({ line, message }) => `${line} ${message}`);
  };

  it.each([
    ["a link", "# A\n\nSee\n[it](../../core/giude.md).", 4, "../../core/giude.md"],
    ["a link beside the text", "- [it](note.md)", 1, "note.md"],
    ["a path after MUST-READ", "⚠️ MUST-READ: ../../other/gone.md", 1, "../../other/gone.md"],
    ["a path after see", "See `other/gone.md` first.", 1, "other/gone.md"],
    ["a path in a folder of the workflow", "Use the format of\n`core/gone.md` here.", 2, "core/gone.md"],
    ["a reference", "[it][1]\n\n[1]: core/gone.md", 3, "core/gone.md"],
  ])("are a warning with a line: %s", async (_, text, line, path) => {
    expect(await named(text)).toEqual([`${line} the text names "${path}", which doesn't exist`]);
  });

  it.each([
    "[it](../../core/guide.md#part) [notes](notes.md) `core/guide.md` core/schema.json",
    "[page](https://example.org/a.md) [mail](mailto:a@b.md) [part](#part) [root](/core/x.md) [id](<core/{name}.md>)",
    "Write `srd.md` and tests/report.md, then read `docs/design.md`. Run ../scripts/build.sh and `src/main.py`.",
    "```\ncat core/gone.md\n```\n\n    cat core/gone.md\n\n<!-- core/gone.md -->",
    "`core/<name>.md`, `core/{name}.md`, `core/*.md`, core/…, e.g. a/b.c/d",
  ])("are not searched elsewhere: %s", async (text) => {
    expect(await named(text)).toEqual([]);
  });

  it("have the nearest path as a hint", async () => {
    const { diagnostics } = await readWorkflow(
      "garden_v1",
      texts({ "phases/1/phase.md": "[it](../../core/giude.md)", "core/guide.md": "" }),
    );
    expect(diagnostics.find(({ code }) => code === "DOCUMENT_MISSING")).toMatchObject({
      ...{ severity: "warning", file: "phases/1/phase.md", line: 1 },
      hint: 'Did you mean "core/guide.md", in the workflow\'s folder?',
    });
  });
});

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");

describe.skipIf(REASON !== "")(`documents of real workflows${REASON}`, async () => {
  const { FileContent, FilePlans } = await import("phasegate/fs");
  const { engine } = makeEngine({
    content: new FileContent({ roots: [CORPUS] }),
    plans: new FilePlans({ root: `${CORPUS}/../tasks` }),
  });

  it("are listed and served where the texts name them", async () => {
    const options = { supporting_docs: "docs" };
    const { sessionId, phase } = await engine.start({ workflowType: "spec_creation_v1", target: "specs", options });
    expect(phase.documents).toEqual([]);
    await engine.session(sessionId).skipPhase(0, { by: "host", note: "there are no documents to copy" });
    const task = await engine.session(sessionId).task(1, 1);
    expect(task.documents).toEqual([{ path: "core/srd-template.md", tokens: expect.any(Number) }]);
    const document = await engine.session(sessionId).document("core/srd-template.md");
    expect(document.content.tokens).toBe(task.documents[0]?.tokens);
    expect(document.content.text).toMatch(/^#/);
  });

  it("are listed and served where a link is relative to its text", async () => {
    const { sessionId } = await engine.start({ workflowType: "spec_execution_v1", target: "persona" });
    const task = await engine.session(sessionId).task(0, 2);
    expect(task.documents.map(({ path }) => path)).toEqual(["core/task-parser.md"]);
    expect((await engine.session(sessionId).document("../../core/task-parser.md")).path).toBe("core/task-parser.md");
    await expect(engine.session(sessionId).document("phases/dynamic/task-template.md")).rejects.toMatchObject({
      code: "PHASE_LOCKED",
    });
  });

  it("exist, as far as the texts name any", async () => {
    for (const listing of await engine.listWorkflows()) {
      expect(listing.diagnostics.filter(({ code }) => code === "DOCUMENT_MISSING")).toEqual([]);
    }
  });
});
