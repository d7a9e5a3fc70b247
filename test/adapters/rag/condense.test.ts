import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Nodes } from "mdast";
import { describe, expect, it } from "vitest";
import { condense } from "../../../src/adapters/rag/condense.js";
import { blocksOf, linesOfParagraph } from "../../../src/definition/markdown/markdown-blocks.js";
import { CORPUS, skipReason } from "../../definition/corpus-workflow.js";

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");
const WORDS = "and so on, with more words than anybody needs here";

/**
 * What sections are made of: where each block at the top begins, whether it is a heading, and whether it is,
 * or holds, a checklist, a table or code.
 */
function outline(text: string, numbers?: readonly number[]): unknown {
  const kinds = (node: Nodes): string[] => {
    if (node.type === "paragraph") return kindsOfParagraph(linesOfParagraph(node));
    return [node.type, ...("children" in node && node.type !== "heading" ? node.children.flatMap(kinds) : [])];
  };
  return blocksOf(text)?.map((block) => {
    const [from = 1, to = 1] = [block.position?.start.line, block.position?.end.line];
    const depth = block.type === "heading" ? [block.depth, numbers?.[to - 1] ?? to] : [];
    const told = new Set(kinds(block).filter((kind) => /code|html|heading|table|checkbox|list$/.test(kind)));
    return [block.type, numbers?.[from - 1] ?? from, depth, [...told].sort()];
  });
}

function kindsOfParagraph(lines: readonly string[]): string[] {
  const isTable = lines.some((line) => line.includes("|") && /^[|:\s-]*-[|:\s-]*$/.test(line));
  return [...(isTable ? ["table"] : []), ...(/^\[[ xX]\](?:\s|$)/.test(lines[0] ?? "") ? ["checkbox"] : [])];
}

/** How lines may begin, and go on. */
const line = fc
  .tuple(
    fc.constantFrom(
      "",
      " ",
      "   ",
      "    ",
      "\t",
      "> ",
      ">> ",
      "- ",
      "  - ",
      "* ",
      "1. ",
      "12) ",
      "123) ",
      "- [ ] ",
      "- [x] ",
    ),
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

describe("condense", () => {
  it("leaves the blocks of a text where they begin, and what they hold", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const { text, numbers } = condense(lines);
        expect(outline(text, numbers)).toEqual(outline(lines.join("\n")));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    { behind: "a quote", lines: [">> ", "\tword ", `\t${WORDS} \`\`\``] },
    { behind: "code in a quote", lines: [">     word", "    word", "    and more"] },
    { behind: "an item with a blank line", lines: ["123) word", "", "    word", "    and more"] },
  ])("keeps each line of code behind $behind, of which the parser makes a block", ({ lines }) => {
    const { text, numbers } = condense(lines);
    expect(outline(text, numbers)).toEqual(outline(lines.join("\n")));
    expect(numbers).toEqual(lines.map((_, index) => index + 1));
  });

  it("cuts lines of words, leaves out those that begin like the line before, and knows which are left", () => {
    const lines = ["- [x] done\r\n", "- [x] too\r\n", "- [ ] open\n", "# Heading one\n", "# Heading two\n", "words\n"];
    expect(condense([...lines, "and more", "| a | b |", "words --> end", "words and words"])).toEqual({
      text: "- [x] do\n- [ ] op\n# Heading one\n# Heading two\nwo\n| a | b |\nwords --> end\nwo",
      numbers: [1, 3, 4, 5, 6, 8, 9, 10],
    });
  });
});

describe.skipIf(REASON !== "")(`texts that people use${REASON}`, () => {
  it("have the same blocks with their lines cut", () => {
    for (const file of readdirSync(CORPUS, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".md")) continue;
      const text = readFileSync(join(CORPUS, file), "utf8");
      const condensed = condense(text.split("\n"));
      expect(outline(condensed.text, condensed.numbers), file).toEqual(outline(text));
      expect(condensed.text.length).toBeLessThan(text.length);
    }
  });
});
