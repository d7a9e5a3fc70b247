import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Nodes } from "mdast";
import { describe, expect, it } from "vitest";
import { lineBeginnings } from "../../../src/adapters/rag/line-beginnings.js";
import { blocksOf } from "../../../src/definition/markdown/markdown-blocks.js";
import { CORPUS, skipReason } from "../../definition/corpus-workflow.js";

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");
const WORDS = "and so on, with more words than anybody needs here";

/** The blocks of a text: their kinds, depths and lines, without what they say. */
function outline(text: string): unknown {
  const of = (node: Nodes): unknown => {
    const { type, position } = node;
    const depth = type === "heading" ? node.depth : type === "list" ? `${node.ordered} ${node.start}` : "";
    const isLeaf = type === "paragraph" || type === "heading" || !("children" in node);
    return [type, depth, position?.start.line, position?.end.line, ...(isLeaf ? [] : node.children.map(of))];
  };
  return blocksOf(text)?.map(of);
}

/** How lines may begin, and go on. */
const line = fc
  .tuple(
    fc.constantFrom("", " ", "   ", "    ", "\t", "> ", ">> ", "- ", "  - ", "* ", "1. ", "12) ", "- [ ] ", "- [x] "),
    fc.constantFrom(
      "",
      "# ",
      "### ",
      "```",
      "~~~js ",
      "<div ",
      "<!-- ",
      "<b>",
      "| ",
      "---",
      "===",
      "word ",
      "2 ",
      "a ",
      "**b** ",
      "_i_ ",
      "`c` ",
    ),
    fc.constantFrom(
      "",
      WORDS,
      `${WORDS} -->`,
      `${WORDS} | ${WORDS}`,
      `${WORDS} \`\`\``,
      `${WORDS} </div>`,
      `${WORDS} ===`,
      "  ",
    ),
  )
  .map((parts) => parts.join(""));

describe("lineBeginnings", () => {
  it("leaves the blocks of a text as they are", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const text = lines.join("\n");
        expect(outline(lineBeginnings(text))).toEqual(outline(text));
      }),
      { numRuns: 3000 },
    );
  });

  it("cuts long lines of words", () => {
    expect(lineBeginnings(`- [ ] ${WORDS}\r\n${WORDS}${WORDS}\n`)).toBe(
      `${`- [ ] ${WORDS}`.slice(0, 32)}\r\n${WORDS.slice(0, 32)}\n`,
    );
  });
});

describe.skipIf(REASON !== "")(`texts that people use${REASON}`, () => {
  it("have the same blocks with their lines cut", () => {
    for (const file of readdirSync(CORPUS, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".md")) continue;
      const text = readFileSync(join(CORPUS, file), "utf8");
      expect(outline(lineBeginnings(text)), file).toEqual(outline(text));
    }
  });
});
