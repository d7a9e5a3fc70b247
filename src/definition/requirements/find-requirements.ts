/** What a phase's text asks for as evidence: in tables, in checkboxes below a gate's heading, in sentences. */
import type { List, RootContent } from "mdast";
import { headingName } from "../markdown/inline-text.js";
import { type Section, sectionsOf } from "../markdown/markdown-blocks.js";
import { askingOf } from "./asking-words.js";
import { gateHeadingIn, gatesAmong, type Label, labelOf } from "./gate-headings.js";
import { itemFindings } from "./item-requirements.js";
import { mergeRequirements } from "./merge-requirements.js";
import type { Reading } from "./reading.js";
import { type Finding, type Found, unclear } from "./requirement.js";
import { tableFindings } from "./requirement-tables.js";
import { sentenceFindings } from "./sentence-requirements.js";
import { linesOf, type NumberedLine, sentencesOf } from "./sentences.js";
import { tableIn } from "./table-rows.js";
import { longFindings, unreadFindings } from "./unread.js";

/**
 * The requirements of a text, each name once, in their order, and what asks and can't be read. `defined` are
 * the names of validators that the gate defines itself. Never throws.
 */
export function findRequirements(text: string, defined: ReadonlySet<string> = new Set()): Found {
  const source = withoutFrontMatter(text);
  const sections = sectionsOf(source);
  const gates = gatesAmong(sections);
  const findings = sections.flatMap((section, index) => {
    const reading = { text: source, inGate: gates[index] ?? false, defined };
    return [...headingFindings(section, reading), ...blocksFindings(section.blocks, reading)];
  });
  return mergeRequirements([...findings, ...unreadFindings(source, sections)]);
}

/** What stands before the text is about the file; blanked out, so that places stay what they are. */
function withoutFrontMatter(text: string): string {
  const source = text.startsWith("\uFEFF") ? ` ${text.slice(1)}`.replace(/^ (?=#|-|\|)/, "") : text;
  return source.replace(/^---[ \t]*\r?\n(?:[\s\S]*?\r?\n)??---[ \t]*(?=\r?\n|$)/, (front) =>
    front.replace(/[^\r\n]/g, ""),
  );
}

/** A heading can ask as a sentence does. */
function headingFindings({ written, line, depth }: Section, reading: Reading): Finding[] {
  if (depth === 0) return [];
  const [sentence] = sentencesOf([{ text: written, line, column: 1 }]);
  const asking = sentence === undefined ? undefined : askingOf(sentence, false);
  if (sentence === undefined || asking?.kind !== "required" || asking.introduces) return [];
  return sentenceFindings(sentence, { ...reading, inGate: false });
}

/** The requirements of blocks that stand side by side. A sentence that only announces them is about the next block. */
function blocksFindings(blocks: readonly RootContent[], reading: Reading): Finding[] {
  let { inGate } = reading;
  let asked: Reading["asked"];
  return blocks.flatMap((block, index) => {
    if (block.type === "paragraph") {
      const lines = linesOf(block, reading.text);
      const label = labelOf(lines);
      if (label !== undefined) inGate = gateAfter(label, inGate, reading.inGate);
      const here = { ...reading, inGate, ...(asked === undefined ? {} : { asked }) };
      const found = paragraphFindings(lines, here, blocks[index + 1]);
      asked = announces(lines) ?? (label === undefined ? undefined : asked);
      return found;
    }
    const here = { ...reading, inGate, ...(asked === undefined ? {} : { asked }) };
    if (block.type !== "html") asked = undefined;
    if (block.type === "blockquote") return blocksFindings(block.children, here);
    return block.type === "list" ? listFindings(block, here) : [];
  });
}

/** Whether what follows a label is a gate's. One in bold ends what an earlier one began. */
function gateAfter({ text, isBold }: Label, before: boolean, outside: boolean): boolean {
  return gateHeadingIn(headingName(text)) || (isBold ? outside : before);
}

/** How the list or table after a paragraph is asked for; undefined if nothing announces it. */
function announces(lines: readonly NumberedLine[]): Reading["asked"] {
  if (tableIn(lines) !== undefined) return undefined;
  const last = sentencesOf(lines).at(-1);
  const asking = last === undefined ? undefined : askingOf(last, true);
  if (asking?.introduces !== true || /\bexamples?\b/i.test(last?.plain ?? "")) return undefined;
  return asking.kind;
}

function paragraphFindings(lines: readonly NumberedLine[], reading: Reading, next: RootContent | undefined): Finding[] {
  const table = tableIn(lines);
  const before = table === undefined ? lines : table.before;
  const sentences = sentencesOf(before);
  const asked = table === undefined ? undefined : announces(before);
  const rows =
    table === undefined ? undefined : tableFindings(table, { ...reading, ...(asked === undefined ? {} : { asked }) });
  const found = [...longFindings(before), ...sentences.flatMap((sentence) => sentenceFindings(sentence, reading))];
  const last = sentences.at(-1);
  const isOpen = last !== undefined && askingOf(last, reading.inGate)?.introduces === true && table === undefined;
  const isFollowed =
    next?.type === "list" || next?.type === "paragraph" || next?.type === "blockquote" || next?.type === "html";
  if (!isOpen || isFollowed || askingOf(last, reading.inGate)?.kind !== "required") return [...found, ...(rows ?? [])];
  const hint = "Write the names behind it, or a list right after it: - `function_count`: a number greater than 0.";
  return [...found, unclear(last, "this announces what is required, and no list follows", hint)];
}

function listFindings(list: List, reading: Reading): Finding[] {
  return list.children.flatMap(({ children }) => {
    const [first, ...rest] = children;
    if (first?.type !== "paragraph") return blocksFindings(children, reading);
    const lines = linesOf(first, reading.text);
    const asked = announces(lines);
    const isBox = /^\[[ xX]\]\s/.test(lines[0]?.text ?? "");
    const table = tableIn(lines) === undefined ? undefined : paragraphFindings(lines, reading, rest[0]);
    const own = table ?? (asked === undefined ? itemFindings(lines, reading) : []);
    const { asked: _, ...inner } = reading;
    const deeper = { ...inner, ...(asked === undefined ? {} : { asked }), underBox: isBox || own.length > 0 };
    return [...own, ...blocksFindings(rest, deeper)];
  });
}
