import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { PhasegateError } from "phasegate";
import { type Chunk, createSearchTool, type SearchQuery, type SearchToolOptions } from "phasegate/rag";
import { describe, expect, it } from "vitest";
import * as z from "zod";

/** Returns a retriever with some chunks, which records its queries. */
function retrieverOf(chunks: readonly Partial<Chunk>[]) {
  const asked: SearchQuery[] = [];
  const whole = { text: "# A\n", headings: ["A", "B"], lines: [3, 9], tokens: 1, score: 0.5, tags: [] } as const;
  const all: Chunk[] = chunks.map((chunk, index) => ({ ...whole, file: `standards/${index}.md`, ...chunk }));
  return {
    asked,
    search: async (query: SearchQuery) => {
      asked.push(query);
      return all.slice(0, query.limit);
    },
  };
}

const toolOf = (chunks: readonly Partial<Chunk>[], options?: SearchToolOptions) =>
  createSearchTool(retrieverOf(chunks), options);
const resultsSchema = z.array(z.looseObject({ file: z.string(), text: z.string() }));
const filesIn = (answer: { readonly [key: string]: unknown }) =>
  resultsSchema.parse(answer.results).map(({ file }) => file);

describe("createSearchTool", () => {
  it("returns file, headings, lines, score and text, and the number of tokens", async () => {
    const retriever = retrieverOf([{ workflow: "w", tags: ["style"], score: 1.23456 }, { text: "xxxxxxxx" }]);
    const answer = await createSearchTool(retriever).handler({
      query: "names",
      tags: ["style"],
      workflow: "w",
      limit: 2,
    });
    expect(retriever.asked).toEqual([{ query: "names", tags: ["style"], workflow: "w", limit: 2 }]);
    expect(answer).toEqual({
      status: "success",
      action: "search_standards",
      found: 2,
      tokens: 3,
      results: [
        {
          file: "standards/0.md",
          headings: "A > B",
          lines: { from: 3, to: 9 },
          score: 1.2346,
          workflow: "w",
          tags: ["style"],
          tokens: 1,
          text: "# A\n",
        },
        {
          file: "standards/1.md",
          headings: "A > B",
          lines: { from: 3, to: 9 },
          score: 0.5,
          tokens: 2,
          text: "xxxxxxxx",
        },
      ],
    });
  });

  it("uses the host's name and description", () => {
    const tool = toolOf([], { name: "find_docs", description: "Finds docs." });
    expect([tool.name, tool.description]).toEqual(["find_docs", "Finds docs."]);
    expect(toolOf([]).name).toBe("search_standards");
  });

  it("hides phases and tasks unless the host shows them, so that an agent cannot read ahead", async () => {
    const chunks = [{ phase: 2 }, { phase: 1, task: 1 }, ...Array.from({ length: 30 }, () => ({ phase: 3 })), {}, {}];
    const retriever = retrieverOf(chunks);
    const hidden = await createSearchTool(retriever).handler({ query: "x", limit: 1 });
    expect(filesIn(hidden)).toEqual(["standards/32.md"]);
    expect(retriever.asked.map(({ limit }) => limit)).toEqual([1, 4, 16, 64]);
    const refused = await toolOf(chunks).handler({ query: "x", phase: 2 });
    expect(refused).toMatchObject({ status: "error", error: expect.stringContaining('"phase" is unknown') });
    const shown = createSearchTool(retriever, { phases: "shown" });
    expect(filesIn(await shown.handler({ query: "x", phase: 2, task: 1, limit: 2 }))).toEqual([
      "standards/0.md",
      "standards/1.md",
    ]);
    expect(retriever.asked.at(-1)).toEqual({ query: "x", phase: 2, task: 1, limit: 2 });
  });

  it("stops after some queries if all results are hidden", async () => {
    const retriever = retrieverOf(Array.from({ length: 100_000 }, () => ({ phase: 1 })));
    const answer = await createSearchTool(retriever).handler({ query: "x" });
    expect(answer).toMatchObject({ status: "success", found: 0, hint: expect.any(String) });
    expect(retriever.asked).toHaveLength(6);
  });

  it("leaves out results with score 0, and says when none is left", async () => {
    expect(filesIn(await toolOf([{}, { score: 0 }]).handler({ query: "x" }))).toEqual(["standards/0.md"]);
    const none = await toolOf([{ score: 0 }]).handler({ query: "x" });
    expect(none).toMatchObject({
      status: "success",
      results: [],
      found: 0,
      hint: expect.stringContaining("try other words"),
    });
  });

  it("stays within its budget, in pages that together are everything", async () => {
    const chunks = Array.from({ length: 20 }, (_, index) => ({ text: `${index} ${"word ".repeat(150)}` }));
    const tool = toolOf(chunks, { maxTokens: 1500 });
    const found: string[] = [];
    let call: unknown = { query: "x", limit: 20 };
    let pages = 0;
    while (call !== undefined) {
      const answer = await tool.handler(call);
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(6000);
      found.push(...filesIn(answer));
      call = answer.next;
      pages += 1;
    }
    expect(found).toEqual(chunks.map((_, index) => `standards/${index}.md`));
    expect(pages).toBeGreaterThan(2);
  });

  it("truncates a chunk that is too long by itself, and marks it", async () => {
    const tool = toolOf([{ text: `${"\u0000".repeat(20_000)}end` }, { text: `a${"😀".repeat(9_000)}` }], {
      maxTokens: 1,
    });
    for (const limit of [1, 2]) {
      const answer = await tool.handler({ query: "x", limit });
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(4000);
      expect(resultsSchema.parse(answer.results)[0]).toMatchObject({
        cut: expect.stringMatching(/^the first \d+ of 20003/),
      });
    }
    const other = toolOf([{ text: `a${"😀".repeat(9_000)}` }], { maxTokens: 1 });
    const [result] = resultsSchema.parse((await other.handler({ query: "x" })).results);
    expect(result?.text).toMatch(/^a😀+$/u);
  });

  it.each([
    ["an input that is not an object", undefined, "must be an object"],
    ["a list", [], "must be an object"],
    ["an input without a query", {}, "'query'"],
    ["an empty query", { query: "" }, "'query'"],
    ["a query that is not a text", { query: 7, limit: 0 }, "'limit'"],
    ["a wrong limit", { query: "x", limit: 51 }, "'limit'"],
    ["tags as a text", { query: "x", tags: "style" }, "'tags'"],
    ["an unknown parameter", { query: "x", limt: 3 }, "did you mean 'limit'?"],
  ])("names the error in %s", async (_, input, message) => {
    const answer = await toolOf([{}]).handler(input);
    expect(answer).toMatchObject({
      status: "error",
      action: "search_standards",
      error_type: "ValueError",
      code: "INVALID_INPUT",
    });
    expect(answer.error).toContain(message);
    expect(answer.remediation).toContain("query");
  });

  it("accepts null for an omitted parameter, and refuses an invalid cursor", async () => {
    expect(await toolOf([{}]).handler({ query: "x", tags: null, limit: undefined })).toMatchObject({ found: 1 });
    expect(await toolOf([{}]).handler({ query: "x", cursor: "!" })).toMatchObject({
      status: "error",
      code: "CURSOR_INVALID",
    });
  });

  it("never throws: failures are reported to the host in full, and to the agent without details", async () => {
    const heard: unknown[] = [];
    const bug = new Error("no network at 10.0.0.1");
    const known = new PhasegateError("FILE_NOT_FOUND", "none of the folders is there", {
      remedy: "Look.",
      details: { file: "." },
    });
    for (const [error, code] of [
      [bug, "INTERNAL"],
      [known, "FILE_NOT_FOUND"],
    ] as const) {
      const tool = createSearchTool({ search: () => Promise.reject(error) }, { onError: (given) => heard.push(given) });
      const answer = await tool.handler({ query: "x" });
      expect(answer).toMatchObject({ status: "error", action: "search_standards", code });
      expect(JSON.stringify(answer)).not.toContain("10.0.0.1");
    }
    expect(heard).toEqual([bug, known]);
    const silent = createSearchTool({ search: () => Promise.reject(bug) });
    expect(await silent.handler({ query: "x" })).toMatchObject({ code: "INTERNAL" });
  });

  it("can be registered as a tool of an MCP server", async () => {
    const tool = toolOf([{ text: "# Naming\n" }]);
    const server = new McpServer({ name: "s", version: "1" });
    server.registerTool(tool.name, { description: tool.description, inputSchema: tool.inputSchema }, async (input) => ({
      content: [{ type: "text", text: JSON.stringify(await tool.handler(input)) }],
    }));
    const client = new Client({ name: "c", version: "1" });
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(one), client.connect(other)]);
    const { tools } = await client.listTools();
    expect(tools[0]?.inputSchema).toMatchObject({ type: "object", required: ["query"] });
    const { content } = await client.callTool({ name: "search_standards", arguments: { query: "names" } });
    expect(JSON.stringify(content)).toContain("# Naming");
    await client.close();
  });
});
