import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { FileContent } from "phasegate/fs";
import {
  OramaRetriever,
  type PlacedChunk,
  RagContent,
  type RefreshableRetriever,
  type SearchQuery,
} from "phasegate/rag";
import { contentContract } from "phasegate/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { FAULTY, SMALL } from "../cli/workflow-folders.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { twoPhases } from "../support/workflows.js";
import { writeFiles } from "../support/write-files.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { toyEmbedding } from "./toy-embedding.js";

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");

const FILES: Readonly<Record<string, string>> = {
  ...SMALL,
  "small/phases/1/task-1-saw.md": "\uFEFF---\ntags: wood\n---\r\n# Task 1: Saw\r\n\r\nSaw it.\r\n",
  "small/phases/1/task-2-glue.md": `# Task 2: Glue\n\n${"Some words on glue. ".repeat(200)}\n\n## Wait\n\n${"Wait. ".repeat(400)}`,
  "small/phases/1/notes.md": "# Notes on building\n",
  ...Object.fromEntries(Object.entries(FAULTY).map(([path, text]) => [path.replace(/^small/, "broken"), text])),
};

let root: string;

beforeEach(async () => {
  root = join(await temporaryFolder(), "workflows");
  await writeFiles(root, FILES);
});

const files = () => new FileContent({ roots: [root] });
const overFiles = (freshFor = 0) =>
  new RagContent({ definitions: files(), retriever: new OramaRetriever({ roots: [root], freshFor }) });

/** Returns a retriever with the given chunks, which records its queries. */
function giving(...chunks: Partial<PlacedChunk>[]): RefreshableRetriever & { asked: SearchQuery[] } {
  const whole = {
    text: "# One\n",
    file: "small/phases/1/phase.md",
    headings: [],
    lines: [1, 1],
    tokens: 2,
    score: 1,
  } as const;
  const asked: SearchQuery[] = [];
  return {
    asked,
    search: async (query) => {
      asked.push(query);
      const part = { number: 1, of: 1 };
      return chunks.map((chunk) => ({ ...whole, tags: [], workflow: "small", phase: 1, part, ...chunk }));
    },
  };
}

const PROVIDERS = { FileContent: files, RagContent: () => overFiles(), "RagContent, with vectors": withVectors };

function withVectors(): RagContent {
  return new RagContent({
    definitions: files(),
    retriever: new OramaRetriever({ roots: [root], embed: toyEmbedding }),
  });
}

describe.each(Object.entries(PROVIDERS))("%s", (_, provider) => {
  for (const { name, run } of contentContract({ open: async () => provider() })) it(name, run);
});

/** Returns all parts of a workflow that have a text. */
async function partsOf(content: FileContent, type: string) {
  const phases = (await content.definition(type))?.structure.phases ?? [];
  return phases.flatMap(({ number, tasks }) => [
    { phase: number },
    ...tasks.map((task) => ({ phase: number, task: task.number })),
  ]);
}

describe("RagContent compared with FileContent", () => {
  it("returns the same list, definitions, gates and texts", async () => {
    const [content, plain] = [overFiles(), files()];
    expect(await content.list()).toEqual(await plain.list());
    expect(await content.definition("small")).toEqual(await plain.definition("small"));
    const parts = await partsOf(plain, "small");
    expect(parts).toHaveLength(4);
    for (const part of parts) expect(await content.text("small", part)).toEqual(await plain.text("small", part));
  });

  it("shows an edit, an addition and a deletion as soon as the definition does", async () => {
    const [content, plain] = [overFiles(60_000), files()];
    await content.text("small", { phase: 1 });
    await writeFiles(root, {
      "small/phases/1/phase.md": "# Phase 1: Build anew\n",
      "small/phases/1/task-3-late.md": "# Task 3: Late\n",
    });
    for (const part of [{ phase: 1 }, { phase: 1, task: 3 }]) {
      expect(await content.text("small", part)).toEqual(await plain.text("small", part));
    }
    await rm(join(root, "small/phases/1/task-3-late.md"));
    expect((await failure(content.text("small", { phase: 1, task: 3 }))).code).toBe("CONTENT_UNAVAILABLE");
  });

  it("continues with the last valid definition after an edit with errors", async () => {
    const content = overFiles();
    await content.text("small", { phase: 1 });
    await writeFiles(root, { "small/metadata.json": "{" });
    expect((await failure(content.definition("small"))).code).toBe("DEFINITION_INVALID");
    expect((await content.text("small", { phase: 1 })).text).toBe("# Phase 1: Build\n");
    expect((await failure(content.text("broken", { phase: 1 }))).message).toContain("can't be used");
  });

  it("serves an engine, whose answers report no change", async () => {
    const engine = createEngine({ storage: new MemoryStorage(), content: overFiles() });
    const { sessionId, phase } = await engine.start({ workflowType: "small", target: "a.ts" });
    expect([phase.content.text, phase.content.sources, phase.contentChanged]).toEqual([
      "# Phase 1: Build\n",
      ["phases/1/phase.md"],
      false,
    ]);
    expect((await engine.session(sessionId).task(1, 2)).contentChanged).toBe(false);
    expect((await failure(engine.session(sessionId).phase(2))).code).toBe("PHASE_LOCKED");
    await engine.close();
  });
});

describe("RagContent with any retriever", () => {
  const over = (retriever: RefreshableRetriever) => new RagContent({ definitions: files(), retriever });

  it("queries with exact filters, and words for the order", async () => {
    const retriever = giving({});
    await over(retriever).text("small", { phase: 1 });
    expect(retriever.asked[0]).toEqual({
      query: "Phase 1: Build Make it work",
      workflow: "small",
      phase: 1,
      limit: 10_000,
    });
  });

  it("joins chunks in order, each once, on lines of their own", async () => {
    const retriever = giving(
      { text: "last", lines: [9, 9], score: 9, part: { number: 3, of: 3 } },
      { text: "# First", lines: [1, 2], part: { number: 1, of: 3 } },
      { text: "# First", lines: [1, 2], part: { number: 1, of: 3 } },
      { text: "then\n", lines: [4, 5], part: { number: 2, of: 3 } },
    );
    const content = await over(retriever).text("small", { phase: 1 });
    expect(content).toMatchObject({ text: "# First\n\nthen\nlast", sources: ["phases/1/phase.md"], tokens: 5 });
  });

  it("refuses a text of which something is missing, with the file", async () => {
    const piece = (number: number, of: number) => ({ lines: [number, number] as const, part: { number, of } });
    for (const [chunks, reason] of [
      [[piece(1, 3)], 'the search gave 1 of the 3 chunks of "small/phases/1/phase.md"'],
      [[piece(1, 3), piece(3, 3)], 'the search gave 2 of the 3 chunks of "small/phases/1/phase.md"'],
      [[piece(2, 2)], "the search gave 1 of the 2 chunks"],
      [[piece(1, 1), piece(2, 2)], "are of several versions"],
    ] as const) {
      const error = await failure(over(giving(...chunks)).text("small", { phase: 1 }));
      expect(error).toMatchObject({
        code: "CONTENT_UNAVAILABLE",
        message: expect.stringContaining(reason),
        details: { file: "small/phases/1/phase.md" },
      });
    }
  });

  it("refuses chunks of plain JavaScript that don't say their place", async () => {
    const retriever = giving({});
    const search = async (query: SearchQuery) =>
      JSON.parse(JSON.stringify(await retriever.search(query), (key, value) => (key === "part" ? undefined : value)));
    const error = await failure(over({ search }).text("small", { phase: 1 }));
    expect(error).toMatchObject({
      code: "CONTENT_UNAVAILABLE",
      message: expect.stringContaining("don't say which part"),
    });
  });

  it("refuses the first chunks of a retriever that always gives a few, and so does a session", async () => {
    const orama = new OramaRetriever({ roots: [root], freshFor: 0, maxTokens: 50 });
    const retriever = { search: async (query: SearchQuery) => (await orama.search(query)).slice(0, 1) };
    const engine = createEngine({ storage: new MemoryStorage(), content: over(retriever) });
    const { sessionId } = await engine.start({ workflowType: "small", target: "a.ts" });
    const error = await failure(engine.session(sessionId).task(1, 2));
    expect(error).toMatchObject({ code: "CONTENT_UNAVAILABLE", details: { file: "small/phases/1/task-2-glue.md" } });
    await engine.close();
  });

  it("returns nothing of another phase, task, workflow or file, even if the retriever does", async () => {
    const strangers: Partial<PlacedChunk>[] = [
      { phase: 2 },
      { task: 1 },
      { workflow: "other" },
      { file: "small/phases/1/notes.md" },
    ];
    for (const stranger of strangers) {
      const error = await failure(over(giving(stranger)).text("small", { phase: 1 }));
      expect(error.code).toBe("CONTENT_UNAVAILABLE");
      expect((await over(giving(stranger, {})).text("small", { phase: 1 })).text).toBe("# One\n");
    }
  });

  it("throws CONTENT_UNAVAILABLE for a search that fails or does not end, and for a missing workflow", async () => {
    const reasons: [RefreshableRetriever, string, string][] = [
      [{ search: () => Promise.reject(new Error("no network at 10.0.0.1")) }, "small", "the search failed"],
      [giving(...Array.from({ length: 10_000 }, () => ({}))), "small", "it has more than 10000 chunks"],
      [giving({}), "no_such", "the workflow no longer exists"],
    ];
    for (const [retriever, type, reason] of reasons) {
      const error = await failure(over(retriever).text(type, { phase: 1 }));
      expect(error.code).toBe("CONTENT_UNAVAILABLE");
      expect(error.message).toContain(reason);
      expect(error.message).not.toContain("10.0.0.1");
    }
  });

  it("accepts a definition without file names, and returns full names of files in other places", async () => {
    const definitions = new MemoryContent({ workflows: [twoPhases] });
    const retriever = giving({ workflow: "two_phases", file: "elsewhere/build.md" });
    const content = new RagContent({ definitions, retriever });
    expect(await content.text("two_phases", { phase: 1 })).toMatchObject({
      text: "# One\n",
      sources: ["elsewhere/build.md"],
    });
  });

  it("throws the errors of a provider of definitions", async () => {
    const definition = () => Promise.reject(new TypeError("a bug"));
    const content = new RagContent({ definitions: { list: async () => [], definition }, retriever: giving({}) });
    await expect(content.text("small", { phase: 1 })).rejects.toThrow("a bug");
  });
});

describe.skipIf(REASON !== "")(`workflows from real projects${REASON}`, () => {
  it("have the same gates and texts through FileContent and RagContent", async () => {
    const plain = new FileContent({ roots: [CORPUS] });
    const content = new RagContent({ definitions: plain, retriever: new OramaRetriever({ roots: [CORPUS] }) });
    expect(await content.list()).toEqual(await plain.list());
    const parts = await partsOf(plain, "spec_creation_v1");
    expect(parts).toHaveLength(33);
    const gates = (await content.definition("spec_creation_v1"))?.structure.phases.map(({ gate }) => gate);
    expect(gates?.map((gate) => gate.kind)).toEqual(Array.from({ length: 6 }, () => "fields"));
    expect(gates).toEqual((await plain.definition("spec_creation_v1"))?.structure.phases.map(({ gate }) => gate));
    for (const part of parts) {
      expect(await content.text("spec_creation_v1", part)).toEqual(await plain.text("spec_creation_v1", part));
    }
  });
});
