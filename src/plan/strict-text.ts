/**
 * Checkboxes in what is read as code here, but is text to strict CommonMark: code that is indented too far,
 * begins within HTML, or stands where a sample within a sample has turned code and text around. Others see
 * them as checkboxes, so none of them may be passed over in silence.
 */
import type { Nodes } from "mdast";
import { fromMarkdown } from "../definition/markdown/from-markdown.js";
import { checkboxesIn } from "./checkboxes.js";
import type { Region } from "./region.js";
import { INLINE } from "./sections.js";
import type { SourceText } from "./source-text.js";

/** A source up to this length is parsed as a whole; a longer one between headings, as parsing takes long. */
const WHOLE_MAX = 256 * 1024;
/** HTML that holds code; what stands in other HTML is text. */
const RAW = /^<(?:pre|script|style|textarea)(?=[\s>]|$)/i;
const HEADING = /^#{1,6}[ \t]/;

/** The lines, from 0, of such checkboxes. Where no code holds any, nothing is parsed. */
export function strictTextLines(source: SourceText, regions: readonly Region[]): ReadonlySet<number> {
  const lines = regions.flatMap((region) => linesWithCheckbox(source, region));
  if (lines.length === 0) return new Set();
  const code = new Set<number>();
  const wanted = new Set(lines);
  for (const [start, end] of stretches(source, regions)) {
    let found = false;
    for (let line = start; line < end && !found; line += 1) found = wanted.has(line);
    if (found) addCode(source, start, end, code);
  }
  return new Set(lines.filter((line) => !code.has(line)));
}

function linesWithCheckbox(source: SourceText, { kind, start, end }: Region): number[] {
  if (kind !== "code") return [];
  const lines = Array.from({ length: end - start }, (_, index) => start + index);
  return lines.filter((line) => checkboxesIn(source.text(line)).length > 0);
}

/** The whole, or what stands between headings that are in no code. */
function stretches(source: SourceText, regions: readonly Region[]): (readonly [number, number])[] {
  const last = source.lines.length;
  if ((source.lines.at(-1)?.offset ?? 0) <= WHOLE_MAX) return [[0, last]];
  const hidden = new Set<number>();
  for (const { start, end } of regions) for (let line = start; line < end; line += 1) hidden.add(line);
  const cuts = source.lines.flatMap(({ text }, line) => (HEADING.test(text) && !hidden.has(line) ? [line] : []));
  return [0, ...cuts].map((start, index) => [start, cuts[index] ?? last] as const);
}

function addCode(source: SourceText, start: number, end: number, code: Set<number>): void {
  const text = Array.from({ length: end - start }, (_, index) => source.text(start + index)).join("\n");
  const visit = (node: Nodes): void => {
    const raw = node.type === "html" && RAW.test(node.value);
    if ((node.type === "code" || raw) && node.position !== undefined) {
      for (let { line } = node.position.start; line <= node.position.end.line; line += 1) code.add(start + line - 1);
    }
    if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(fromMarkdown(text, { disabled: INLINE }));
}
