import { type ContentProvider, defineWorkflow, MemoryContent, PhasegateError } from "phasegate";
import { combineContent } from "phasegate/compose";
import { FileContent } from "phasegate/fs";
import { RagContent } from "phasegate/rag";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { gatedFiles } from "../support/verified.js";
import { writeFiles } from "../support/write-files.js";

function coded(type: string, content: string, revision = "1") {
  const documents = { "core/notes.md": `notes of ${content}` };
  const phases = [{ number: 1, name: "One", content }];
  return defineWorkflow({ type, revision, name: type, description: "A test", phases, documents });
}

const inMemory = (...workflows: ReturnType<typeof coded>[]) => new MemoryContent({ workflows });
const BROKEN = { "metadata.json": "{" };

function codesOf(listings: Awaited<ReturnType<ContentProvider["list"]>>) {
  return listings.map(({ type, status, diagnostics }) => [type, status, ...diagnostics.map(({ code }) => code)]);
}

describe("combined sources", () => {
  it("give the workflow of the first source that has it, with its texts and documents, and name the hidden ones", async () => {
    const content = combineContent(
      [
        inMemory(coded("a", "first a")),
        inMemory(coded("b", "b")),
        inMemory(coded("a", "last a"), coded("b", "last b")),
      ],
      { names: ["mine", "the team's"] },
    );
    expect((await content.text("a", { phase: 1 })).text).toBe("first a");
    expect((await content.text("b", { phase: 1 })).text).toBe("b");
    const [document] = (await content.documents?.("b")) ?? [];
    expect((await document?.read())?.text).toBe("notes of b");
    const listings = await content.list();
    expect(codesOf(listings)).toEqual([
      ["a", "ready", "WORKFLOW_HIDDEN"],
      ["b", "ready", "WORKFLOW_HIDDEN"],
    ]);
    expect(listings[0]?.diagnostics[0]?.message).toBe("source 3 has a workflow of the same type, which is not used");
    const named = combineContent([inMemory(coded("a", "x")), inMemory(coded("a", "y"))], { names: ["mine", "yours"] });
    expect((await named.list())[0]?.diagnostics[0]?.message).toMatch(/^yours has a workflow/);
  });

  it("keep a broken workflow broken where a later source has a sound one, and say so", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, { "a/metadata.json": "{" });
    for (const broken of [new MemoryContent({ sources: { a: BROKEN } }), new FileContent({ roots: [root] })]) {
      const content = combineContent([broken, inMemory(coded("a", "sound"))]);
      const [listing] = await content.list();
      expect(listing?.status).toBe("broken");
      expect(listing?.diagnostics.at(-1)).toMatchObject({
        severity: "warning",
        message: "source 2 has a workflow of the same type, which is not used",
        hint: expect.stringContaining("Correct this one"),
      });
      expect((await failure(content.definition("a"))).code).toBe("DEFINITION_INVALID");
      expect((await failure(content.text("a", { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    }
  });

  it("find an old revision in any source, also behind one that is broken or fails", async () => {
    const old = coded("a", "old", "old");
    const broken = new MemoryContent({ sources: { a: BROKEN } });
    const content = combineContent([broken, failing("a"), inMemory(coded("a", "new", "new")), inMemory(old)]);
    expect(await content.definition("a", "old")).toBe(old.definition);
    expect((await failure(content.definition("a", "none"))).code).toBe("DEFINITION_INVALID");
    const sound = combineContent([inMemory(coded("a", "new", "new")), inMemory(old)]);
    expect((await sound.definition("a"))?.structure.revision).toBe("new");
    expect(await sound.definition("a", "none")).toBeUndefined();
  });

  it("go on with other types where a source fails for one, and never pass over it for that one", async () => {
    const content = combineContent([failing("a"), inMemory(coded("a", "a"), coded("b", "b"))]);
    expect((await content.text("b", { phase: 1 })).text).toBe("b");
    expect((await content.definition("b"))?.structure.type).toBe("b");
    const documents = async (type: string) => content.documents?.(type);
    for (const call of [content.definition("a"), content.text("a", { phase: 1 }), documents("a")]) {
      expect((await failure(call)).code).toBe("STORAGE_FAILED");
    }
    expect(codesOf(await content.list())).toEqual([
      ["a", "broken", "DEFINITION_UNREADABLE", "WORKFLOW_HIDDEN"],
      ["b", "ready"],
    ]);
  });

  it("reject a list where a source can't be listed: its workflows could be those of later ones", async () => {
    const gone = new FileContent({ roots: ["/not/there"] });
    expect((await failure(combineContent([gone, inMemory(coded("a", "a"))]).list())).code).toBe("FILE_NOT_FOUND");
  });

  it("are a provider for a search, and may have one among them", async () => {
    const definitions = combineContent([inMemory(coded("a", "a")), inMemory(coded("b", "b"))]);
    const retriever = { search: async () => [] };
    const content = combineContent([inMemory(coded("c", "c")), new RagContent({ definitions, retriever })]);
    expect(codesOf(await content.list()).map(([type]) => type)).toEqual(["a", "b", "c"]);
    expect((await failure(content.text("b", { phase: 1 }))).message).toContain("found no chunk");
  });

  it("say what they lack", async () => {
    const content = combineContent([inMemory(coded("a", "a")), inMemory()]);
    expect(await content.definition("none")).toBeUndefined();
    expect(await content.documents?.("none")).toEqual([]);
    expect((await failure(content.text("none", { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    const empty = combineContent([]);
    expect(await empty.list()).toEqual([]);
    expect(await empty.documents?.("a")).toEqual([]);
    expect((await failure(empty.text("a", { phase: 1 }))).code).toBe("CONTENT_UNAVAILABLE");
    // @ts-expect-error A host in JavaScript may give anything.
    const wrong = await failure((async () => combineContent([inMemory(), { roots: ["workflows"] }]))());
    expect(wrong).toMatchObject({ code: "INVALID_INPUT", details: { field: "sources" } });
  });

  it("follow a folder that gets a workflow of the same type", async () => {
    const root = await temporaryFolder();
    const content = combineContent([new FileContent({ roots: [root] }), inMemory(coded("a", "in code"))]);
    expect((await content.text("a", { phase: 1 })).text).toBe("in code");
    await writeFiles(root, prefixed("a", gatedFiles("a", ["evidence_schema: {own: {type: string}}\n"])));
    expect((await content.text("a", { phase: 1 })).text).not.toBe("in code");
  });
});

function prefixed(folder: string, files: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
}

/** A provider that lists its types, and whose disk fails for all of them. */
function failing(...types: string[]): ContentProvider {
  const fault = (type: string) => {
    if (!types.includes(type)) return undefined;
    throw new PhasegateError("STORAGE_FAILED", "the disk fails", {
      remedy: "Repair it.",
      details: { operation: "read" },
    });
  };
  return {
    types: async () => types,
    list: async () => [],
    definition: async (type) => fault(type),
    text: async (type) => {
      fault(type);
      throw new Error("no text");
    },
  };
}
