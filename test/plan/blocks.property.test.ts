import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";
import { parseSections, strictTextLines } from "../../src/plan/blocks.js";
import { findRegions, SourceText } from "../../src/plan/source.js";
import { checkboxesIn } from "../../src/plan/task-line.js";
import { howOften } from "../support/how-often.js";

const numRuns = howOften(2000, 200_000);
const LIMIT = { timeout: Math.max(20_000, numRuns * 5) };

const INDENTS = ["", "", "", " ", "  ", "   ", "    ", "\t", "      "];
const MARKS = ["", "", "", "- ", "* ", "1. ", "2) ", "> ", "- > ", "-", "-\t", "> - ", "12345. ", "# ", "###", "#### "];
const WORDS = [
  ...[
    "",
    "a",
    "words of a line",
    "- [ ] a task",
    "[x] done",
    "[ ] open",
    "é",
    "\u00a0",
    "1",
    "1.",
    "\\",
    "_a_",
    "**b**",
  ],
  ...[
    "```",
    "```ts",
    "``` a`b",
    "````",
    "~~~",
    "~~~ `a`",
    "`code` and more",
    "a ``` b",
    "---",
    "***",
    "* * *",
    "___",
    "===",
  ],
  ...["- - -", "--- a", "<div>", "</div>", "<!-- a", "b -->", "<pre>", "</pre>", "<b>c</b> d", "<a@b.c> e"],
  ...["[a]: /b", '"title"', "[a](b)", "[a]:", "| a | b |", "+ c", "#", "# ##", "a #", "(1)", "1) a", "=", "_", "a\\"],
];
const pick = (texts: readonly string[]) => fc.constantFrom(...texts);
const line = fc.tuple(pick(INDENTS), pick(MARKS), pick(WORDS)).map((parts) => parts.join(""));
/** Short enough to be parsed in one piece. */
const text = fc
  .array(line, { minLength: 1, maxLength: 14 })
  .map((lines) => lines.join("\n"))
  .filter(({ length }) => length < 400);

const INLINE = [
  ...["attention", "autolink", "htmlText", "labelStartImage", "labelStartLink", "labelEnd", "codeText"],
  ...["characterReference", "characterEscape", "hardBreakEscape"],
];
const NOT_IN_PLANS = ["codeIndented", "definition", "htmlFlow", "setextUnderline"];

function parsed(markdown: string, disabled: readonly string[]) {
  return fromMarkdown(markdown, { extensions: [{ disable: { null: [...disabled] } }] });
}

/** Returns each block below a node as `list 1-3`, with its lines. */
function blocksBelow(node: Nodes): string[] {
  if (!("children" in node) || node.type === "paragraph" || node.type === "heading") return [];
  return node.children.flatMap((child) => {
    const { start, end } = child.position ?? {};
    return [`${child.type} ${start?.line}-${end?.line}`, ...blocksBelow(child).map((below) => ` ${below}`)];
  });
}

/** Returns the lines, from 0, of code in a text, and of HTML that has code. */
function codeLines(node: Nodes): number[] {
  const isRaw = node.type === "html" && /^<(?:pre|script|style|textarea)[\s>]/i.test(node.value);
  if (node.type !== "code" && !isRaw) return "children" in node ? node.children.flatMap(codeLines) : [];
  const { start, end } = node.position ?? { start: { line: 1 }, end: { line: 0 } };
  return Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line - 1 + index);
}

describe("the blocks of a plan", () => {
  it("are those of the text with all its words", LIMIT, () => {
    fc.assert(
      fc.property(text, (markdown) => {
        const source = new SourceText(markdown);
        const regions = findRegions(source);
        const lines = source.lines.map((one) => one.text);
        for (const { start, end } of regions) lines.fill("", start, end);
        const found = [...parseSections(source, regions, "f")].flatMap(({ blocks }) => blocks);
        const expected = parsed(lines.join("\n"), [...NOT_IN_PLANS, ...INLINE]);
        expect(blocksBelow({ type: "root", children: found })).toEqual(blocksBelow(expected));
      }),
      { numRuns },
    );
  });

  it("are looked at for code wherever it is in doubt", LIMIT, () => {
    fc.assert(
      fc.property(text, (markdown) => {
        const source = new SourceText(markdown);
        const regions = findRegions(source);
        const code = new Set(codeLines(parsed(markdown, INLINE)));
        const boxes = regions
          .filter(({ kind }) => kind === "code")
          .flatMap(({ start, end }) => Array.from({ length: end - start }, (_, index) => start + index))
          .filter((at) => checkboxesIn(source.text(at)).length > 0);
        expect([...strictTextLines(source, regions)]).toEqual(boxes.filter((at) => !code.has(at)));
      }),
      { numRuns },
    );
  });
});
