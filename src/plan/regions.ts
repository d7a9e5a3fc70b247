/** Which lines of a source are code or comments. */
import { type Container, Containers, indentOf, leaves } from "./containers.js";
import { type Before, fenced, fenceOf } from "./fences.js";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

const COMMENT = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*<!--/;
const RAW = /^[ \t>]*<(pre|script|style|textarea)(?=[\s>]|$)/i;
/** So many lines are looked through for the ends of samples that hold others, for each line of the source. */
const LOOK_AHEAD = 20;

/** Finds all code and all comments, in order. */
export function findRegions(source: SourceText): Region[] {
  const regions: Region[] = [];
  const containers = new Containers();
  const before = { lines: 2000 + source.lines.length * LOOK_AHEAD };
  for (let line = 0; line < source.lines.length; line += 1) {
    const text = source.text(line);
    const region = regionAt(source, line, containers, before);
    containers.follow(text);
    if (region === undefined) continue;
    regions.push(region);
    line = region.end - 1;
  }
  return regions;
}

function regionAt(source: SourceText, line: number, containers: Containers, before: Before): Region | undefined {
  const text = source.text(line);
  const fence = fenceOf(text);
  if (fence !== undefined) return fenced(source, line, fence, containers.around(text), before);
  if (COMMENT.test(text)) return comment(source, line, text.indexOf("<!--") + 2);
  const raw = RAW.exec(text)?.[1];
  if (raw === undefined) return undefined;
  const container = containers.around(text);
  if (indentOf(text) > container.column + 3) return undefined;
  return tagged(source, line, `</${raw.toLowerCase()}>`, container);
}

function comment(source: SourceText, start: number, from: number): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = line === start ? source.text(line).slice(from) : source.text(line);
    if (text.includes("-->")) return { kind: "comment", start, end: line + 1, unclosed: false };
  }
  return { kind: "comment", start, end: source.lines.length, unclosed: true };
}

/** `<pre>` and the like: up to the end of the tag, or of the item or quote that it stands in. */
function tagged(source: SourceText, start: number, close: string, container: Container): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = source.text(line);
    if (line > start && leaves(text, container)) return { kind: "code", start, end: line, unclosed: false };
    if (text.toLowerCase().includes(close)) return { kind: "code", start, end: line + 1, unclosed: false };
  }
  return { kind: "code", start, end: source.lines.length, unclosed: true };
}
