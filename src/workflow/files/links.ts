/**
 * Finds the links in a paragraph of Markdown in one pass. A parser that also pairs marks of emphasis takes quadratic
 * time.
 */
import { decodeString } from "micromark-util-decode-string";
import { codeSpans } from "../from-markdown.js";

/** A link in a text. */
export interface Link {
  /** The text of the link, as written. */
  readonly label: string;
  readonly target: string;
  /** The position of the link in the text, in characters. */
  readonly offset: number;
}

/** The targets of references, by label in lower case. */
export type Targets = ReadonlyMap<string, string>;

const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]:[ \t]*(?:<([^<>]*)>|([^ \t<]\S*))/;

/** Returns the reference definitions at the beginning of a paragraph: `[1]: steps/dig.md`. */
export function definitionsIn(paragraph: string): Link[] {
  const found: Link[] = [];
  let offset = 0;
  for (const line of paragraph.split("\n")) {
    const [whole, label, angled, bare] = DEFINITION.exec(line) ?? [];
    if (whole === undefined || label === undefined) break;
    found.push({ label, target: decodeString(angled ?? bare ?? ""), offset });
    offset += line.length + 1;
  }
  return found;
}

/** Returns the label of a reference for lookup. */
export function referenceName(label: string): string {
  return label.replace(/\s+/g, " ").trim().toLowerCase();
}

/** An address or a tag, in which brackets are not links. */
const ANGLED = /<[A-Za-z/!?][^<>]*>/y;

/** Returns the links of a paragraph in order, including references. Code spans are skipped. */
export function linksIn(text: string, targets: Targets = new Map()): Link[] {
  const links: Link[] = [];
  const codeEnd = codeSpans(text);
  let open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === "\\") at += 1;
    else if (char === "`") at = (codeEnd.get(at) ?? at + runLength(text, at)) - 1;
    else if (char === "<") at = (after(ANGLED, text, at) ?? at + 1) - 1;
    else if (char === "[") open.push(at);
    else if (char === "]") {
      const start = open.pop();
      if (start === undefined) continue;
      const label = text.slice(start + 1, at);
      const found = inlineTarget(text, at + 1) ?? referenced(text, at + 1, label, targets);
      if (found === undefined) continue;
      at = found.end - 1;
      if (text.charAt(start - 1) === "!") continue;
      links.push({ label, target: decodeString(found.target), offset: start });
      // Links can't be nested.
      open = [];
    }
  }
  return links;
}

interface Target {
  readonly target: string;
  readonly end: number;
}

function angled(part: string, start: number): Target | undefined {
  const [whole, target = ""] = /^<([^<>\n]*)>/.exec(part.slice(start)) ?? [];
  return whole === undefined ? undefined : { target, end: start + whole.length };
}

/** Returns a target without spaces, with balanced parentheses. */
function bare(part: string, start: number): Target | undefined {
  let depth = 0;
  let end = start;
  for (; end < part.length; end += 1) {
    const char = part.charAt(end);
    if (char === "\\") end += 1;
    else if (char === "(") depth += 1;
    else if (char === ")" && depth === 0) break;
    else if (char === ")") depth -= 1;
    else if (char <= " ") break;
  }
  return depth === 0 ? { target: part.slice(start, end), end } : undefined;
}

function runLength(text: string, at: number): number {
  let end = at;
  while (text.charAt(end) === "`") end += 1;
  return end - at;
}

function after(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Maximum length of a target, title or reference: longer ones are not links, so each bracket costs bounded time. */
const PART_MAX = 512;

/** Returns the target of `(target "title")` at a position. */
function inlineTarget(text: string, at: number): Target | undefined {
  if (text.charAt(at) !== "(") return undefined;
  const part = text.slice(at + 1, at + PART_MAX);
  const start = blanks(part, 0);
  const target = part.charAt(start) === "<" ? angled(part, start) : bare(part, start);
  if (target === undefined) return undefined;
  const behind = blanks(part, target.end);
  const end = behind === target.end ? behind : blanks(part, afterTitle(part, behind));
  return part.charAt(end) === ")" ? { target: target.target, end: at + 1 + end + 1 } : undefined;
}

function blanks(part: string, at: number): number {
  let end = at;
  while (end < part.length && part.charAt(end) <= " ") end += 1;
  return end;
}

function afterTitle(part: string, at: number): number {
  const [title = ""] = /^(?:"[^"]*"|'[^']*'|\([^()]*\))/.exec(part.slice(at)) ?? [];
  return at + title.length;
}

/** Returns the target of `[label]` after a text in brackets, or of the text itself as label. */
function referenced(text: string, at: number, label: string, targets: Targets): Target | undefined {
  const [whole, name = ""] = /^\[([^[\]]*)\]/.exec(text.slice(at, at + PART_MAX)) ?? [];
  const wanted = name.trim() === "" ? label : name;
  const target = wanted.length > PART_MAX ? undefined : targets.get(referenceName(wanted));
  return target === undefined ? undefined : { target, end: at + (whole?.length ?? 0) };
}
