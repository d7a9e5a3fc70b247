import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunkMarkdown } from "../../src/search/sync.js";
import { howOften } from "../support/how-often.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");

const cut = (text: string, maxTokens = 20, frontLines = 0) => chunkMarkdown(text, { maxTokens, frontLines });

/** Blocks of Markdown that must stay with their heading. */
const KEPT = {
  fence: "```sh\nnpm ci\n\n# no heading\nnpm test\n```\n",
  "fence without an end in a list": "- run\n\n  ```sh\n  npm ci\n  ```\n",
  checklist: "- [ ] the tests pass\n- [x] the build is green\n- [ ] the docs are there\n",
  "checklist in a list": "1. check\n   - [ ] the tests pass\n   - [ ] the build is green\n",
  table: "| field | type |\n|---|:-:|\n| tests_pass | boolean |\n| coverage | number |\n",
  "table without outer bars": "field | type\n--- | ---\ntests_pass | boolean\n",
  "table with spaces behind its rows": "a | b  \n--- | ---  \n1 | 2  \n",
  "table in a quote": "> | field |\n> | --- |\n> | tests_pass |\n",
  html: "<table>\n<tr><td>tests_pass</td></tr>\n</table>\n",
};
const PROSE = "Some words that stand between, and say nothing in particular about anything here.\n";

describe("chunkMarkdown", () => {
  it("keeps a heading with everything below it if that is short enough", () => {
    const text = "# Release\n\nShip it.\n\n## Steps\n\nTag.\n";
    expect(cut(text, 100)).toEqual([{ text, headings: ["Release"], inner: ["Steps"], lines: [1, 7] }]);
  });

  it("else splits at the headings below, and names the headings above each chunk", () => {
    const text = `# Release\n\n${PROSE}\n## Test\n\n${PROSE}\n### Unit\n\n${PROSE}\n## Ship\n\nTag it.\n`;
    expect(cut(text, 25).map(({ headings, lines }) => [headings, lines])).toEqual([
      [["Release"], [1, 4]],
      [
        ["Release", "Test"],
        [5, 8],
      ],
      [
        ["Release", "Test", "Unit"],
        [9, 12],
      ],
      [
        ["Release", "Ship"],
        [13, 15],
      ],
    ]);
  });

  it("keeps a heading without text of its own with the first one below it", () => {
    const text = `# Release\n\n## Test\n\n${PROSE}\n## Ship\n\n${PROSE}`;
    expect(cut(text, 25).map(({ headings, lines }) => [headings, lines])).toEqual([
      [
        ["Release", "Test"],
        [1, 6],
      ],
      [
        ["Release", "Ship"],
        [7, 9],
      ],
    ]);
    expect(cut("# One\n\n## Two\n", 1)).toMatchObject([{ headings: ["One", "Two"], lines: [1, 3] }]);
  });

  it("splits long prose between paragraphs", () => {
    const chunks = cut(`# Long\n\n${`${PROSE}\n`.repeat(4)}`, 45);
    expect(chunks.map(({ headings, lines }) => [headings, lines])).toEqual([
      [["Long"], [1, 6]],
      [["Long"], [7, 10]],
    ]);
  });

  it.each(Object.entries(KEPT))("keeps a %s with its heading, and splits only after it", (_, block) => {
    const text = `# One\n\n${PROSE}\n## Two\n\n${PROSE}\n${block}\n${PROSE}\n${PROSE}`;
    const piece = cut(text, 5).find((chunk) => chunk.text.includes("## Two"));
    expect(piece?.text).toBe(`## Two\n\n${PROSE}\n${block}\n`);
    expect(piece?.headings).toEqual(["One", "Two"]);
  });

  it("treats a rule, a line with a bar and a plain list as prose", () => {
    const text = `# One\n\n${PROSE}\na | b\n\n---\n\n- plain\n- list\n\n${PROSE}`;
    expect(cut(text, 1).map(({ text: piece }) => piece.trim())).toEqual([
      `# One\n\n${PROSE.trim()}`,
      "a | b",
      "---",
      "- plain\n- list",
      PROSE.trim(),
    ]);
  });

  it("ignores headings in fences and lists, and reads underlined ones", () => {
    const text = `Big\n===\n\n${PROSE}\n\`\`\`\n# not one\n\`\`\`\n\n- # nor this\n\nSmall\n-----\n\n${PROSE}`;
    expect(cut(text, 5).map(({ headings }) => headings)).toEqual([["Big"], ["Big"], ["Big", "Small"]]);
  });

  it("keeps front matter in the first chunk, without reading it", () => {
    const text = "---\ntags: a\n---\n\n# One\n\nText.\n";
    expect(cut(text, 100, 3)).toEqual([{ text, headings: ["One"], inner: [], lines: [1, 7] }]);
    expect(cut("---\ntags: a\n---\n", 100, 3)).toMatchObject([{ headings: [], lines: [1, 3] }]);
  });

  it("returns no chunk for an empty text, and one for a blank text", () => {
    expect(cut("")).toEqual([]);
    expect(cut(" \n\n")).toEqual([{ text: " \n\n", headings: [], inner: [], lines: [1, 2] }]);
  });

  it("returns one chunk for a text that is nested too deep", () => {
    const text = `${"> ".repeat(3000)}x\n# not looked at\n`;
    expect(cut(text)).toEqual([{ text, headings: [], inner: [], lines: [1, 2] }]);
  });
});

/** Texts of blocks, with any line ends. */
const markdown = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.constantFrom(...Object.values(KEPT), PROSE, "---\n", "\n", "a\n===\n", "\tcode\n", "- plain\n"),
        fc.tuple(fc.integer({ min: 1, max: 6 }), fc.stringMatching(/^[a-z ]{0,12}$/)).map(([depth, name]) => {
          return `${"#".repeat(depth)} ${name}\n`;
        }),
        fc.string(),
      ),
      { maxLength: 30 },
    ),
    fc.constantFrom("\n", "\r\n", "\r"),
  )
  .map(([blocks, end]) => blocks.join("\n").replaceAll("\n", end));

describe("for any text", () => {
  it("the chunks in order are the text, and their lines are contiguous", () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 1, max: 60 }), (text, maxTokens) => {
        const chunks = cut(text, maxTokens);
        expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
        for (const [index, { lines, text: piece }] of chunks.entries()) {
          expect(lines[0]).toBe((chunks[index - 1]?.lines[1] ?? 0) + 1);
          expect(piece.split(/\r\n?|\n/).length - (/[\r\n]$/.test(piece) ? 1 : 0)).toBe(lines[1] - lines[0] + 1);
        }
      }),
      { numRuns: howOften(100, 3_000) },
    );
  });

  it("no table, fence or checklist is separated from its heading", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...Object.values(KEPT)), fc.nat(2), fc.nat(2)), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.integer({ min: 1, max: 60 }),
        (sections, maxTokens) => {
          const text = sections
            .map(([block, before, after], index) => {
              return `## Section ${index}\n\n${`${PROSE}\n`.repeat(before)}${block}\n${`${PROSE}\n`.repeat(after)}`;
            })
            .join("");
          const chunks = cut(text, maxTokens);
          for (const [index, [block]] of sections.entries()) {
            const piece = chunks.find((chunk) => chunk.text.includes(`## Section ${index}\n`))?.text ?? "";
            expect(piece.slice(piece.indexOf(`## Section ${index}\n`))).toContain(block);
          }
        },
      ),
      { numRuns: howOften(60, 2_000) },
    );
  });
});

describe.skipIf(REASON !== "")(`texts from real projects${REASON}`, () => {
  it("can be split and joined again, and no fence is split", () => {
    const files = readdirSync(CORPUS, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
    expect(files.length).toBeGreaterThan(40);
    for (const file of files) {
      const text = readFileSync(join(CORPUS, file), "utf8");
      const chunks = cut(text, 400);
      expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
      expect(chunks.length).toBeGreaterThan(1);
    }
  });
});
