/** The blocks that are read, against those of a CommonMark parser that people know: the same for every text. */
import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";
import { type BlockRules, parseBlocks } from "../../src/definition/markdown/parse-blocks.js";

const RUNS = Number(process.env.PHASEGATE_PROPERTY_RUNS ?? (process.env.PHASEGATE_LONG ? 10_000 : 1000));
const INLINE = ["attention", "autolink", "codeText", "htmlText", "labelEnd", "labelStartImage", "labelStartLink"];

/** What is read as blocks, and what of plans; with the constructs that the other parser must leave out. */
const READINGS: readonly (readonly [string, BlockRules, readonly string[]])[] = [
  ["of any text", {}, ["definition", ...INLINE]],
  [
    "of a plan",
    { indentedCode: false, html: false, underlined: false },
    ["codeIndented", "definition", "htmlFlow", "setextUnderline", ...INLINE],
  ],
];

/**
 * Text of which blocks are made. There is no single tag that the other parser knows no name of: it lets one end a
 * paragraph from outside of its list, which CommonMark doesn't.
 */
const PIECES = [
  ...[
    "a",
    "b",
    "é",
    "\n",
    "\n",
    "\n",
    "\n",
    "\n",
    "\r\n",
    " ",
    "  ",
    "    ",
    "\t",
    "|",
    "*",
    "_",
    "`",
    "[a]: b",
    "[ ] ",
  ],
  ...["- ", "-", "* ", "+ ", "1. ", "2. ", "1) ", "10. ", "> ", ">", "# ", "## ", "#", "===", "---", "***", "___"],
  ...["```", "~~~", "````", "```js", "\\", "&amp;", "&", "  \n", "\\\n"],
  ...["<div>", "</div>", "<!-- ", "-->", "<pre>", "</pre> a", "<?", "?>", "<!A", "<![CDATA[", "]]>"],
];

/** What of a block counts. Where raw text ends that nothing closes, before which blank lines, doesn't. */
function shape(node: Nodes, text: string): unknown {
  const { type, position } = node;
  const raw = type === "code" || type === "html";
  return {
    type,
    ...("depth" in node ? { depth: node.depth } : {}),
    ...("ordered" in node ? { ordered: node.ordered, start: node.start } : {}),
    ...("lang" in node ? { lang: node.lang, meta: node.meta } : {}),
    ...("value" in node ? { value: oneEnd(raw ? node.value.trimEnd() : node.value) } : {}),
    ...(type === "text" || type === "break" ? {} : { line: position?.start.line }),
    ...(type === "paragraph" || type === "heading"
      ? { source: text.slice(position?.start.offset, position?.end.offset).trim() }
      : {}),
    ...("children" in node ? { children: node.children.map((child) => shape(child, text)) } : {}),
  };
}

function oneEnd(text: string): string {
  return text.replace(/\r\n/g, "\n");
}

function expectSame(text: string): void {
  for (const [reading, rules, disabled] of READINGS) {
    const theirs = fromMarkdown(text, { extensions: [{ disable: { null: [...disabled] } }] }).children;
    const ours = parseBlocks(text, rules).map((block) => shape(block, text));
    expect(ours, `the blocks ${reading}`).toEqual(theirs.map((block) => shape(block, text)));
  }
}

describe("parseBlocks", () => {
  it("reads the blocks that CommonMark has, whatever stands in a text", { timeout: 20_000 + RUNS * 20 }, () => {
    const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 16 }).map((pieces) => pieces.join(""));
    fc.assert(fc.property(texts, expectSame), { numRuns: RUNS, seed: 20_260_101 });
  });

  it("reads the documents of this repository as CommonMark does", { timeout: 60_000 }, () => {
    const files = globSync(["*.md", "{docs,examples,test}/**/*.md"]);
    expect(files.length).toBeGreaterThan(30);
    for (const file of files) expectSame(readFileSync(file, "utf8"));
  });
});
