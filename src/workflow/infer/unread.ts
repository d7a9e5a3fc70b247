/** Finds requirements in places that are not read, and words that speak of evidence where nothing was read. */
import type { RootContent } from "mdast";
import { lookedAt, type Section } from "../from-markdown.js";
import { readMarks, withoutCode, withoutComments } from "./inline-marks.js";
import { type Place, type RequirementFault, unclear } from "./requirement.js";
import { ASKING, askingOf } from "./sentences.js";

/** Returns warnings for requirements in HTML, in indented code, and in texts that are too long or too deeply nested. */
export function unreadFindings(text: string, sections: readonly Section[]): RequirementFault[] {
  const end = lookedAt(text);
  const found = sections.flatMap(({ blocks }) => blocks.flatMap((block) => unreadBlock(block, text)));
  if (!ASKING.test(text.slice(end))) return found;
  const line = text.slice(0, end).split(/\r\n?|\n/).length;
  const why =
    end === 0
      ? "lists and quotations are nested too deeply here, or there are too many lines"
      : "the text is longer than what is looked at";
  return [
    ...found,
    unclear({ line, column: 1 }, `${why}: what it asks for isn't read`, "Write a gate file for this phase."),
  ];
}

function unreadBlock(block: RootContent, text: string): RequirementFault[] {
  const { start } = block.position ?? {};
  if (start === undefined) return [];
  if (
    block.type === "html" &&
    (/<(?:li|td|input)\b/i.test(withoutComments(block.value)) || ASKING.test(withoutComments(block.value)))
  ) {
    return [unclear(start, "HTML is not read: what it asks for doesn't count", "Write it as Markdown.")];
  }
  const isFenced = block.type === "code" && FENCE.test(text.slice(start.offset, (start.offset ?? 0) + 8));
  if (block.type === "code" && !isFenced && ASKING.test(block.value)) {
    const message = "this is indented by four spaces, which is code in Markdown, so it isn't read";
    return [unclear(start, message, "Indent it by less, if it asks for something.")];
  }
  return "children" in block ? block.children.flatMap((child) => unreadBlock(child, text)) : [];
}

/** The beginning of a line that opens or closes a code fence. */
const FENCE = /^\s*(`{3,}|~{3,})/;

const GATE_WORDS = /\b(?:evidence|checkpoints?|validation[ -]gates?|must provide|required)\b/gi;

/** The longest line that is searched for words that deny, in characters: the search takes quadratic time. */
const LINE_MAX = 4000;

/** Words before them that deny them: "no evidence", "without a checkpoint". */
const DENIED = /\b(?:no|not|never|without|nothing|none)\s+(?:(?:an?|any|the|further|other|is|are|be)\s+)*$/i;

/** A word in a text that speaks of a gate, and the number of other lines that have one. */
export interface GateWord extends Place {
  readonly word: string;
  readonly others: number;
}

/** Returns the first word that speaks of a gate. Words in code fences, comments and denying sentences don't count. */
export function gateWordIn(text: string): GateWord | undefined {
  const lines = withoutFences(withoutComments(text).split(/\r\n?|\n/));
  const [first, ...others] = lines.flatMap((line, index) => {
    const found = gateWord(line);
    return found === undefined ? [] : [{ word: found.word, line: index + 1, column: found.at + 1 }];
  });
  return first === undefined ? undefined : { ...first, others: others.length };
}

function withoutFences(lines: readonly string[]): readonly string[] {
  const kept = [...lines];
  let opened: { readonly at: number; readonly sign: string } | undefined;
  for (const [at, line] of lines.entries()) {
    const sign = FENCE.exec(line)?.[1];
    if (sign === undefined) continue;
    if (opened === undefined) opened = { at, sign };
    else if (sign.startsWith(opened.sign)) {
      kept.fill("", opened.at, at + 1);
      opened = undefined;
    }
  }
  return kept;
}

function gateWord(line: string): { readonly word: string; readonly at: number } | undefined {
  if (line.length > LINE_MAX) {
    const [found] = line.matchAll(GATE_WORDS);
    return found && { word: found[0], at: found.index };
  }
  for (const part of line.matchAll(/[^.;!?]+(?:[.;!?](?!\s)[^.;!?]*)*/g)) {
    const marked = readMarks(part[0]);
    if (askingOf(marked, true)?.kind === "not") continue;
    const searched = withoutCode(marked);
    for (const { 0: word, index } of searched.matchAll(GATE_WORDS)) {
      if (!DENIED.test(searched.slice(0, index))) return { word, at: Math.max(0, line.indexOf(word, part.index)) };
    }
  }
  return undefined;
}
