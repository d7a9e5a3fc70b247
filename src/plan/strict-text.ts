/**
 * Checkboxes in what is read as code here, but is text to strict CommonMark: code that is indented too far,
 * begins within HTML, or stands where a sample within a sample has turned code and text around. Others see
 * them as checkboxes, so none of them may be passed over in silence.
 */
import type { Nodes } from "mdast";
import { parseBlocks } from "../definition/markdown/parse-blocks.js";
import { checkboxesIn } from "./checkboxes.js";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

/** HTML that holds code; what stands in other HTML is text. */
const RAW = /^[ \t]*<(?:pre|script|style|textarea)(?=[\s>]|$)/i;

/** The lines, from 0, of such checkboxes. Where no code holds any, nothing is parsed. */
export function strictTextLines(source: SourceText, regions: readonly Region[]): ReadonlySet<number> {
  const lines = regions.flatMap((region) => linesWithCheckbox(source, region));
  if (lines.length === 0) return new Set();
  const code = codeLines(source);
  return new Set(lines.filter((line) => !code.has(line)));
}

function linesWithCheckbox(source: SourceText, { kind, start, end }: Region): number[] {
  if (kind !== "code") return [];
  const lines = Array.from({ length: end - start }, (_, index) => start + index);
  return lines.filter((line) => checkboxesIn(source.text(line)).length > 0);
}

function codeLines(source: SourceText): ReadonlySet<number> {
  const code = new Set<number>();
  const visit = (node: Nodes): void => {
    const raw = node.type === "html" && RAW.test(node.value);
    if ((node.type === "code" || raw) && node.position !== undefined) {
      for (let { line } = node.position.start; line <= node.position.end.line; line += 1) code.add(line - 1);
    }
    if ("children" in node) for (const child of node.children) visit(child);
  };
  for (const block of parseBlocks(source.lines.map(({ text }) => text).join("\n"))) visit(block);
  return code;
}
