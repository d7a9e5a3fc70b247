import { appendFile, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSearchTool, OramaRetriever, type OramaRetrieverOptions, type SearchProblem } from "phasegate/rag";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { toyEmbedding } from "./toy-embedding.js";

const METADATA = {
  workflow_type: "garden",
  version: "1.0.0",
  name: "Garden",
  description: "From soil to leaf",
  tags: ["outdoors"],
  phases: [
    {
      phase_number: 1,
      phase_name: "Dig",
      purpose: "Loosen the soil",
      tasks: [{ task_number: 1, file: "task-1-spade.md" }],
    },
    { phase_number: 2, phase_name: "Sow", phase_file: "texts/sowing.md" },
  ],
};

const FILES: Readonly<Record<string, string>> = {
  "garden/metadata.json": JSON.stringify(METADATA),
  "garden/phases/1/phase.md": "# Phase 1: Dig\n\nLoosen it.\n\n## Validation Gate\n\n- [ ] the soil is loose\n",
  "garden/phases/1/task-1-spade.md": "# Task 1: Spade\n\nTake the spade.\n",
  "garden/phases/1/notes.md": "# Notes\n\nWorms are good.\n",
  "garden/texts/sowing.md": "# Sowing\n\nSeeds go in rows.\n",
  "garden/core/tools.md": "# Tools\n\nSpade, rake.\n",
  "garden/phases/dynamic/task-template.md": "# Task [TASK_NUMBER]\n",
  "broken/phases/10/phase.md": "# Phase 10\n",
  "broken/phases/10/task-3-x.md": "# Task 3\n",
  "standards/naming.md":
    "---\ntags: [style, tests]\n---\n# Naming\n\nName a test after what holds.\n\n## Example\n\nIt adds.\n",
  "standards/über.md": "# Über 命名规则\n\nconstructor __proto__ toString\n",
};

let root: string;
let folder: string;
let problems: SearchProblem[];

beforeEach(async () => {
  const base = await temporaryFolder();
  [root, folder, problems] = [join(base, "texts"), join(base, "kept"), []];
  await writeFiles(root, FILES);
});

const open = (options: Partial<OramaRetrieverOptions> = {}) =>
  new OramaRetriever({ roots: [root], freshFor: 0, onProblem: (problem) => problems.push(problem), ...options });

/** Advances the clock, so that all files count as unchanged for long. */
function settle(): void {
  const later = Date.now() + 60_000;
  vi.spyOn(Date, "now").mockImplementation(() => later);
}

afterEach(() => vi.restoreAllMocks());

const everything = { query: "", limit: 100 };
const filesOf = (chunks: readonly { file: string }[]) => chunks.map(({ file }) => file);

describe("the index", () => {
  it("contains workflow, phase, task and tags from definition, path and front matter", async () => {
    const chunks = await open().search(everything);
    const facts = chunks.map(({ file, workflow, phase, task, tags }) => [file, workflow, phase, task, tags.join(" ")]);
    expect(facts).toEqual([
      ["broken/phases/10/phase.md", "broken", 10, undefined, "phase"],
      ["broken/phases/10/task-3-x.md", "broken", 10, 3, "task"],
      ["garden/core/tools.md", "garden", undefined, undefined, "core outdoors"],
      ["garden/phases/1/notes.md", "garden", 1, undefined, "outdoors"],
      ["garden/phases/1/phase.md", "garden", 1, undefined, "phase outdoors checkpoint evidence"],
      ["garden/phases/1/task-1-spade.md", "garden", 1, 1, "task outdoors"],
      ["garden/phases/dynamic/task-template.md", "garden", undefined, undefined, "template task outdoors"],
      ["garden/texts/sowing.md", "garden", 2, undefined, "phase outdoors"],
      ["standards/naming.md", undefined, undefined, undefined, "style tests example"],
      ["standards/über.md", undefined, undefined, undefined, ""],
    ]);
  });

  it("never shows an agent the texts of phases, at any depth of their workflow in a root", async () => {
    const deep = Object.entries(FILES).filter(([path]) => path.startsWith("garden/"));
    const renamed = JSON.stringify({ ...METADATA, workflow_type: "another name" });
    await writeFiles(root, {
      ...Object.fromEntries(deep.map(([path, text]) => [`teams/green/${path}`, text])),
      ...Object.fromEntries(deep.map(([path, text]) => [`standards/My ${path}`, text])),
      ...Object.fromEntries(deep.map(([path, text]) => [`garden/core/inner/${path}`, text])),
      "standards/My garden/metadata.json": renamed,
      "teams/red/odd/phases/1/phase.md": "# Red\n",
      "teams/red/odd/phases/one/phase.md": "# Red one\n",
    });
    const tool = createSearchTool(open(), { maxTokens: 100_000 });
    const filesFor = async (query: string) =>
      z
        .array(z.object({ file: z.string() }))
        .parse((await tool.handler({ query, limit: 50 })).results)
        .map(({ file }) => file);
    for (const query of ["sowing seeds rows", "spade", "phase", "soil loose", "worms", "red one", "task number"]) {
      const found = (await filesFor(query)).filter((file) => /sowing|phases/.test(file));
      expect(found, query).toEqual([]);
    }
    expect(await filesFor("rake")).toEqual(expect.arrayContaining(["teams/green/garden/core/tools.md"]));
    const all = createSearchTool(open(), { maxTokens: 100_000, phases: "shown" });
    const answer = JSON.stringify(await all.handler({ query: "sowing seeds rows", limit: 50 }));
    expect(answer).toContain("teams/green/garden/texts/sowing.md");
    expect(answer).toContain('"workflow":"teams/green/garden"');
  });

  it("contains no keys and secrets under any name", async () => {
    await writeFiles(root, { "standards/x.pem.md": "hush", ".env": "hush", "standards/id_rsa.bak.md": "hush" });
    await symlink("../.env", join(root, "standards/notes.md"));
    expect(filesOf(await open().search({ query: "hush", limit: 100 })).length).toBe(10);
    expect(JSON.stringify(await open().search(everything))).not.toContain("hush");
  });

  it("never shows the texts of phases if a root is itself a workflow", async () => {
    const tool = createSearchTool(open({ roots: [join(root, "garden")] }), { maxTokens: 100_000 });
    for (const query of ["sowing seeds rows", "spade take", "loosen soil", "worms"]) {
      expect(JSON.stringify(await tool.handler({ query, limit: 50 })), query).not.toMatch(/sowing|phases/);
    }
    expect(JSON.stringify(await tool.handler({ query: "rake" }))).toContain("core/tools.md");
  });

  it("contains headings, lines, tokens and unchanged texts", async () => {
    const [chunk] = await open().search({ query: "name a test", limit: 1 });
    expect(chunk).toEqual({
      file: "standards/naming.md",
      text: FILES["standards/naming.md"],
      headings: ["Naming"],
      lines: [1, 10],
      tokens: Math.ceil((FILES["standards/naming.md"] ?? "").length / 4),
      score: expect.any(Number),
      tags: ["style", "tests", "example"],
      part: { number: 1, of: 1 },
    });
  });

  it("contains a file that two phases share as the text of both", async () => {
    const phases = METADATA.phases.map((phase) => ({ ...phase, phase_file: "texts/sowing.md" }));
    await writeFiles(root, { "garden/metadata.json": JSON.stringify({ ...METADATA, phases }) });
    const retriever = open();
    for (const phase of [1, 2]) {
      const chunks = await retriever.search({ ...everything, phase, tags: ["phase"] });
      expect(filesOf(chunks)).toEqual(["garden/texts/sowing.md"]);
    }
    expect((await retriever.refresh()).files).toBe(10);
  });

  it("uses front matter for what the path does not determine", async () => {
    await writeFiles(root, {
      "standards/phase.md": "---\nworkflow: garden\nphase: 7\ntask: 2\ntags: a, b\n---\n# X\n",
      "garden/phases/1/phase.md": "---\nphase: 9\nworkflow: other\n---\n# Phase 1: Dig\n",
      "standards/rule.md": "---\njust a rule\n---\n# Y\n",
      "standards/bad.md": "---\n: : {\n---\n# Z\n",
    });
    const chunks = await open().search(everything);
    const fact = (file: string) => chunks.find((chunk) => chunk.file === file);
    expect(fact("standards/phase.md")).toMatchObject({ workflow: "garden", phase: 7, task: 2, tags: ["a", "b"] });
    expect(fact("garden/phases/1/phase.md")).toMatchObject({ workflow: "garden", phase: 1 });
    const rule = chunks.filter(({ file }) => file === "standards/rule.md");
    expect(rule.map(({ text, tags }) => [text, tags])).toEqual([
      ["---\n", []],
      ["just a rule\n---\n", []],
      ["# Y\n", []],
    ]);
    expect(fact("standards/bad.md")).toMatchObject({ tags: [] });
  });

  it("uses the first of two roots with the same workflow or file", async () => {
    const other = join(await temporaryFolder(), "other");
    await writeFiles(other, {
      "garden/phases/1/task-9-hidden.md": "# Hidden\n",
      "standards/naming.md": "# Hidden\n",
      "standards/more.md": "# More\n",
      "late/metadata.json": "{}",
      "late/core/a.md": "# Late\n",
    });
    const chunks = await open({ roots: [join(root, "not-there"), root, other] }).search(everything);
    expect(chunks.some(({ text }) => text.includes("Hidden"))).toBe(false);
    expect(filesOf(chunks)).toEqual(expect.arrayContaining(["standards/more.md", "late/core/a.md"]));
  });

  it("needs at least one root", async () => {
    expect((await failure(open({ roots: [join(root, "none")] }).search(everything))).code).toBe("FILE_NOT_FOUND");
  });

  it("leaves out unreadable files, reports them, and continues", async () => {
    await writeFile(join(root, "standards/bytes.md"), Buffer.from([0xff, 0xfe, 0x41]));
    await writeFile(join(root, "standards/large.md"), "x".repeat(1024 * 1024 + 1));
    await symlink("/etc/hostname", join(root, "standards/out.md"));
    const report = await open().refresh();
    expect(report.problems.map(({ file }) => file).sort()).toEqual(["standards/bytes.md", "standards/large.md"]);
    expect(problems).toEqual(report.problems);
    expect(report.files).toBe(10);
  });
});

describe("ranking", () => {
  it("matches words by their stems, in any script, and no prototype", async () => {
    const best = async (query: string) => (await open().search({ query, limit: 1 }))[0];
    expect((await best("seed row"))?.file).toBe("garden/texts/sowing.md");
    expect((await best("规则"))?.file).toBe("standards/über.md");
    expect((await best("ÜBER"))?.file).toBe("standards/über.md");
    expect((await best("constructor"))?.file).toBe("standards/über.md");
    expect((await best("hasOwnProperty"))?.score).toBe(0);
    expect((await best("Phase 10"))?.file).toBe("broken/phases/10/phase.md");
    expect((await best("Phase 1"))?.file).toMatch(/^garden\/phases\/1\//);
  });

  it("only sorts: chunks without a word of the query are last, with score 0", async () => {
    const chunks = await open().search({ query: "spade", workflow: "garden", phase: 1 });
    expect(chunks.map(({ file, score }) => [file, score > 0])).toEqual([
      ["garden/phases/1/task-1-spade.md", true],
      ["garden/phases/1/notes.md", false],
      ["garden/phases/1/phase.md", false],
    ]);
    expect(await open().search({ query: "spade", workflow: "no such" })).toEqual([]);
    expect(await open().search({ query: "spade", limit: 0 })).toEqual([]);
  });

  it("returns five chunks by default", async () => {
    expect(await open().search({ query: "phase" })).toHaveLength(5);
  });

  it("finds chunks by vectors without a common word", async () => {
    const alike = async (texts: readonly string[]) => texts.map((text) => (/worm|earth/i.test(text) ? [1, 0] : [0, 1]));
    expect((await open({ embed: alike }).search({ query: "earth", limit: 1 }))[0]).toMatchObject({
      file: "garden/phases/1/notes.md",
      score: 0.5,
    });
    expect((await open().search({ query: "earth", limit: 1 }))[0]?.score).toBe(0);
  });
});

describe("changes", () => {
  it("includes added and edited texts, and nothing of texts that were deleted or moved to another phase", async () => {
    const retriever = open();
    expect((await retriever.refresh()).changed).toBe(10);
    await writeFiles(root, { "standards/late.md": "# Late\n\nzebra\n" });
    await appendFile(join(root, "garden/core/tools.md"), "\nzebra\n");
    await rm(join(root, "standards/naming.md"));
    const found = await retriever.search({ query: "zebra", limit: 2 });
    expect(filesOf(found).sort()).toEqual(["garden/core/tools.md", "standards/late.md"]);
    expect(filesOf(await retriever.search(everything))).not.toContain("standards/naming.md");
    const moved = JSON.stringify(METADATA).replace('"phase_number":2', '"phase_number":5');
    await writeFiles(root, { "garden/metadata.json": moved });
    expect(await retriever.search({ ...everything, workflow: "garden", phase: 2 })).toEqual([]);
    expect(filesOf(await retriever.search({ ...everything, phase: 5 }))).toEqual(["garden/texts/sowing.md"]);
  });

  it("leads to the same index as building it at once", async () => {
    const retriever = open();
    for (const word of ["one", "two", "three"]) {
      for (const path of ["standards/naming.md", "garden/core/tools.md", "garden/texts/sowing.md"]) {
        await appendFile(join(root, path), `\n## ${word}\n\nseeds in ${word} rows\n`);
        await retriever.refresh();
      }
      await rm(join(root, "standards/über.md"), { force: true });
    }
    for (const query of ["seeds rows", "three", "example", "spade"]) {
      const [edited, fresh] = await Promise.all([retriever, open()].map((one) => one.search({ query, limit: 20 })));
      expect(edited?.map(({ file, lines }) => [file, lines])).toEqual(fresh?.map(({ file, lines }) => [file, lines]));
      for (const [index, { score }] of (edited ?? []).entries())
        expect(score).toBeCloseTo(fresh?.[index]?.score ?? -1, 6);
    }
  });

  it("are not looked for while the index is fresh, except by refresh", async () => {
    const retriever = open({ freshFor: 60_000 });
    await retriever.search(everything);
    await writeFiles(root, { "standards/late.md": "# Late zebra\n" });
    expect((await retriever.search({ query: "zebra" }))[0]?.score).toBe(0);
    expect((await retriever.refresh()).changed).toBe(1);
    expect((await retriever.search({ query: "zebra" }))[0]?.file).toBe("standards/late.md");
  });

  it("cause only new texts to be split and embedded", async () => {
    const embed = vi.fn(toyEmbedding);
    const retriever = open({ embed, folder });
    await retriever.refresh();
    const texts = () => embed.mock.calls.flatMap(([given]) => given);
    expect(texts()).toHaveLength(10);
    embed.mockClear();
    await utimes(join(root, "standards/naming.md"), 1, 1);
    expect((await retriever.refresh()).changed).toBe(0);
    const long = `# Tools\n\nSpade, rake.\n\n${"Words. ".repeat(300)}\n\n## More\n\nHoe.\n`;
    await writeFiles(root, { "garden/core/tools.md": long });
    await retriever.refresh();
    expect(texts()).toHaveLength(3);
    await writeFiles(root, { "garden/core/tools.md": `${long}Fork.\n` });
    await retriever.refresh();
    expect(texts().slice(3)).toEqual(["Tools > More\n\n## More\n\nHoe.\nFork.\n"]);
    embed.mockClear();
    await open({ embed, folder }).refresh();
    expect(texts()).toEqual([]);
  });

  it("are detected by reading a file again while its times are too recent, then by its signature", async () => {
    const kept = async () =>
      z
        .array(z.tuple([z.string(), z.looseObject({ signature: z.string() })]))
        .parse(JSON.parse((await readFile(join(folder, "search-index.json"), "utf8")).split("\n")[1] ?? "").files);
    const retriever = open({ folder });
    await retriever.refresh();
    expect(new Set((await kept()).map(([, { signature }]) => signature))).toEqual(new Set([""]));
    settle();
    expect((await retriever.refresh()).changed).toBe(0);
    expect((await kept()).filter(([, { signature }]) => signature === "")).toEqual([]);
    await writeFiles(root, { "standards/naming.md": "# Naming\n\nzebra\n" });
    expect((await open({ folder }).search({ query: "zebra" }))[0]?.file).toBe("standards/naming.md");
    expect((await retriever.refresh()).changed).toBe(1);
  });

  it("are looked for once for many concurrent queries", async () => {
    const retriever = open({ freshFor: 60_000 });
    const found = await Promise.all(Array.from({ length: 20 }, () => retriever.search({ query: "spade", limit: 1 })));
    expect(new Set(found.map(([chunk]) => chunk?.file))).toEqual(new Set(["garden/phases/1/task-1-spade.md"]));
    const reports = await Promise.all([retriever.refresh(), retriever.refresh(), retriever.refresh()]);
    expect(reports.map(({ files, changed }) => [files, changed])).toEqual([
      [10, 0],
      [10, 0],
      [10, 0],
    ]);
  });
});

describe("the stored index", () => {
  const keptFile = () => join(folder, "search-index.json");

  it("is used by the next process: it gives the same results, and reads nothing again", async () => {
    settle();
    const query = { query: "spade rows", limit: 20 };
    for (const embed of [undefined, toyEmbedding]) {
      const options = { folder, ...(embed === undefined ? {} : { embed, model: "toy" }) };
      const first = await open(options).search(query);
      problems = [];
      const next = open(options);
      expect((await next.refresh()).changed).toBe(0);
      expect(await next.search(query)).toEqual(first);
      expect(problems).toEqual([]);
    }
  });

  it("is a single file that only its owner can read", async () => {
    await mkdir(folder, { recursive: true });
    const orphan = join(folder, ".search-index.json.0.phasegate.tmp");
    await writeFile(orphan, "half");
    await utimes(orphan, 1, 1);
    await writeFile(join(folder, ".search-index.json.1.phasegate.tmp"), "somebody's who is still at it");
    await open({ folder }).refresh();
    expect((await readdir(folder)).sort()).toEqual([".search-index.json.1.phasegate.tmp", "search-index.json"]);
    expect((await stat(keptFile())).mode & 0o777).toBe(0o600);
    expect(await readFile(keptFile(), "utf8")).not.toContain(root);
  });

  it("is rebuilt if a byte was changed, or if it is truncated or empty", async () => {
    await open({ folder }).refresh();
    const whole = await readFile(keptFile());
    const flipped = (at: number) => Buffer.from(whole.map((byte, index) => (index === at ? byte ^ 1 : byte)));
    const end = whole.indexOf(10);
    const damaged = [
      flipped(20),
      flipped(end),
      flipped(end + 50),
      flipped(whole.length - 1),
      whole.subarray(0, -1),
      whole.subarray(0, 3),
    ];
    for (const bytes of [...damaged, Buffer.alloc(0), Buffer.from("{}\n{}")]) {
      await writeFile(keptFile(), bytes);
      problems = [];
      expect((await open({ folder }).refresh()).changed).toBe(10);
      expect(problems).toEqual([{ file: "search-index.json", message: expect.stringContaining("built again") }]);
      problems = [];
      expect((await open({ folder }).refresh()).changed).toBe(0);
      expect(problems).toEqual([]);
    }
  });

  it("is rebuilt for another format, other roots or another model", async () => {
    await open({ folder }).refresh();
    const text = await readFile(keptFile(), "utf8");
    await writeFile(keptFile(), text.replace(/"format":\d+/, '"format":0'));
    const turns: Partial<OramaRetrieverOptions>[] = [
      {},
      { roots: [root, join(root, "standards")] },
      { maxTokens: 10 },
      { embed: toyEmbedding },
      { embed: toyEmbedding, model: "other" },
    ];
    for (const options of turns) {
      problems = [];
      expect((await open({ folder, ...options }).refresh()).changed).toBeGreaterThan(9);
      expect(problems.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^built again: it (has|was built)/),
      ]);
    }
  });

  it("is rebuilt if it contains something other than an index", async () => {
    const { createHash } = await import("node:crypto");
    await open({ folder }).refresh();
    const [header = ""] = (await readFile(keptFile(), "utf8")).split("\n");
    for (const body of ['{"files":[["a",{}]],"orama":{}}', '{"files":[],"orama":{}}', "[]", "no JSON"]) {
      const digest = createHash("sha256").update(body).digest("base64url");
      await writeFile(keptFile(), `${JSON.stringify({ ...JSON.parse(header), digest })}\n${body}`);
      problems = [];
      expect((await open({ folder }).refresh()).changed).toBe(10);
      expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining("built again")]);
    }
  });

  it("is optional: if it cannot be written, that is reported", async () => {
    await writeFile(folder, "a file in its place");
    const retriever = open({ folder: join(folder, "below") });
    expect((await retriever.refresh()).problems).toEqual([
      { file: "search-index.json", message: "not saved (ENOTDIR)" },
    ]);
    expect(await retriever.search({ query: "spade" })).toHaveLength(5);
  });
});

describe("a host's `embed` that fails", () => {
  const failing: Record<string, OramaRetrieverOptions["embed"]> = {
    "it threw an error": async () => Promise.reject(new Error("no network at 10.0.0.1")),
    "it returned 0 vectors for 10 texts": async () => [],
    "it returned a vector of 0 numbers": async (texts) => texts.map(() => []),
    "it returned a vector of 2 numbers, but others have 1": async (texts) =>
      texts.map((_, index) => (index === 3 ? [1, 2] : [1])),
    "it returned a number that is not finite": async (texts) => texts.map(() => [Number.NaN, 1]),
  };
  // What a host in plain JavaScript may return.
  for (const [words, returned] of Object.entries({ nothing: undefined, a_number: 5, numbers: [1, 2], texts: ["ab"] })) {
    failing[`it returned something else than vectors (${words})`] = vi.fn().mockResolvedValue(returned);
  }

  it.each(Object.entries(failing))("is reported: %s", async (message, embed) => {
    const error = await failure(open({ ...(embed === undefined ? {} : { embed }) }).search({ query: "spade" }));
    expect(error).toMatchObject({ code: "INTERNAL", details: { cause: "embed" } });
    expect(error.message).toContain(message.replace(/ \(.*/, ""));
    expect(error.message).not.toContain("10.0.0.1");
  });

  it("keeps the index unchanged, and is called again by the next search", async () => {
    let broken = true;
    const retriever = open({
      embed: async (texts) => {
        if (broken) throw new Error("down");
        return toyEmbedding(texts);
      },
    });
    expect((await failure(retriever.search({ query: "spade" }))).code).toBe("INTERNAL");
    broken = false;
    expect((await retriever.search({ query: "spade", limit: 1 }))[0]?.file).toBe("garden/phases/1/task-1-spade.md");
  });

  it("does not prevent queries that need no order", async () => {
    let broken = false;
    const embed = async (texts: readonly string[]) =>
      broken ? Promise.reject(new Error("down")) : toyEmbedding(texts);
    const retriever = open({ embed });
    await retriever.refresh();
    broken = true;
    expect(await retriever.search({ query: "spade", limit: 10_000 })).toHaveLength(10);
    expect(await retriever.search({ query: " ", limit: 3 })).toHaveLength(3);
    expect((await failure(retriever.search({ query: "spade", limit: 999 }))).code).toBe("INTERNAL");
  });
});
