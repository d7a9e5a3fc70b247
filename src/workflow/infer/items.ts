/**
 * Reads list items: checkboxes are claims, items that begin with a name are values, other items are sentences. Also
 * warns about passages that seem to ask in places that are not read.
 */
import type { RootContent } from "mdast";
import { lookedAt, type Section, withoutAtEnd } from "../from-markdown.js";
import { namesIn } from "./asked-names.js";
import { partOf } from "./inline-marks.js";
import {
  describe,
  type Finding,
  isOptional,
  nameFrom,
  type Reading,
  type Requirement,
  unclear,
} from "./requirement.js";
import {
  askingOf,
  isTooLong,
  type NumberedLine,
  namedFindings,
  type Sentence,
  sentenceFindings,
  sentencesOf,
} from "./sentences.js";
import { typeFromWords } from "./types.js";

/** Returns the requirements in the first paragraph of an item. */
export function itemFindings(lines: readonly NumberedLine[], reading: Reading): Finding[] {
  const sentences = sentencesOf(lines);
  const [item] = joined(sentences);
  if (item === undefined) return longFindings(lines);
  const [, mark, task] = /^(\[[ xX]\](?:\s+|$))(.*)$/s.exec(item.plain) ?? [];
  if (mark !== undefined && task !== undefined && (reading.inGate || reading.asked === "required")) {
    return boxFindings({ ...item, ...partOf(item, mark.length, item.plain.length) }, reading);
  }
  if (reading.asked === "not") return [];
  const findings =
    askedItem(item, sentences, reading) ?? sentences.flatMap((sentence) => sentenceFindings(sentence, reading));
  const isExpected = reading.inGate || reading.asked === "required";
  if (findings.length > 0 || reading.underBox === true || !isExpected || item.plain.trim() === "") return findings;
  if (sentences.some((sentence) => askingOf(sentence, reading.inGate) !== undefined)) return [];
  const hint =
    "Write a checkbox before it (- [ ] …), or a name in code marks: - `function_count`: a number greater than 0.";
  return [unclear(item, "this item is in a list of requirements, but has none that can be read", hint)];
}

const ASKING = /\bmust provide\b|\brequired\s*:|\[[ xX]\]\s/i;

/** Returns warnings for requirements in HTML, in indented code, and in texts that are too long or too deeply nested. */
export function unreadFindings(text: string, sections: readonly Section[]): Finding[] {
  const end = lookedAt(text);
  const found = unreadBlocks(sections, text);
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

/** Returns a warning if a paragraph or an item asks and is too long to be read. */
export function longFindings(lines: readonly NumberedLine[]): Finding[] {
  const [first] = lines;
  if (first === undefined || !isTooLong(lines) || !lines.some(({ text }) => ASKING.test(text))) return [];
  return [
    unclear(
      first,
      "this is too long to be read for what it asks",
      "Break it up: one requirement in each item of a list.",
    ),
  ];
}

/** Returns the sentences of an item as one: later sentences are about the same thing. */
function joined([first, ...rest]: readonly Sentence[]): Sentence[] {
  if (first === undefined) return [];
  let { plain } = first;
  const marks = [...first.marks];
  for (const sentence of rest) {
    const shift = plain.length + 1;
    marks.push(...sentence.marks.map((mark) => ({ ...mark, start: mark.start + shift, end: mark.end + shift })));
    plain += ` ${sentence.plain}`;
  }
  return [{ ...first, plain, marks }];
}

/** Reads an item with a checkbox. It is a claim, unless it names a value and says more than that it is done. */
function boxFindings(task: Sentence, reading: Reading): Finding[] {
  const end = headEnd(task, true);
  const [head] = task.marks;
  const rest = task.plain.slice(end ?? 0);
  const isValue = end !== undefined && (head?.kind === "code" || typeFromWords(rest, "")?.sure === true);
  if (isValue)
    return namedFindings(task, namesIn(task, "", reading.defined), reading, isOptional(task.plain), "checkbox");
  const description = describe(task.plain.replace(/\s+/g, " "));
  const name = nameFrom(description) || (description === "" ? "" : "item");
  if (name === "")
    return [unclear(task, "this checkbox has no claim that can be read", "Write after it what must be true.")];
  const field = { name, type: "boolean", required: !isOptional(task.plain), description } as const;
  const place = { line: task.line, column: task.column };
  const claim: Requirement = {
    field,
    validators: [],
    from: "checkbox",
    certainty: "sure",
    typed: true,
    named: false,
    ...place,
  };
  return [claim];
}

/** Labels that give the kind of a text and are not names. */
const NO_NAME =
  /^(?:notes?|warning|important|tips?|examples?|purpose|time|reason|why|how|hint|caution|remember|see|file|where|when|what|who|goal|optional|required|evidence|checkpoint|action|steps?|do|don't)$/i;

/** Returns the end of the name that an item begins with; undefined if it doesn't begin with one. */
function headEnd({ plain, marks }: Sentence, isClaim = false): number | undefined {
  const [first] = marks;
  if (first !== undefined && first.start === 0) {
    const isName =
      first.kind === "code" ? /^[A-Za-z_][\w-]*$/.test(first.text) : !NO_NAME.test(withoutAtEnd(first.text, ":"));
    // "`a` and `b` agree" is a claim about two names, where there is a box before it.
    const signs = isClaim ? /^\s*(?:[:(–—-]|$)/ : /^\s*(?:[:(=–—,;-]|$|(?:and|is|must|should)\b)/;
    const isEnd = /:\s*$/.test(first.text) || signs.test(plain.slice(first.end));
    return isName && isEnd ? first.end : undefined;
  }
  const [word] = /^[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?=\s*(?:[:(=–—,;-]|$))/.exec(plain) ?? [];
  return word?.length;
}

/** Returns the requirements of an item that begins with a name, if names are expected; undefined otherwise. */
function askedItem(item: Sentence, sentences: readonly Sentence[], reading: Reading): Finding[] | undefined {
  if (!reading.inGate && reading.asked === undefined) return undefined;
  if (sentences.slice(1).some((sentence) => askingOf(sentence, reading.inGate) !== undefined)) return undefined;
  if (headEnd(item) === undefined) return undefined;
  const asked = namesIn(item, "", reading.defined);
  if (asked.names.length === 0) return undefined;
  const isFree = reading.asked === "optional" || isOptional(item.plain);
  return namedFindings(item, asked, reading, isFree);
}

function unreadBlocks(sections: readonly Section[], text: string): Finding[] {
  return sections.flatMap(({ blocks }) => blocks.flatMap((block) => unreadBlock(block, text)));
}

function unreadBlock(block: RootContent, text: string): Finding[] {
  const { start } = block.position ?? {};
  if (start === undefined) return [];
  if (
    block.type === "html" &&
    /<(?:li|td|input)\b|\bmust provide\b|\brequired\s*:/i.test(block.value.replace(/<!--[\s\S]*?(?:-->|$)/g, ""))
  ) {
    return [unclear(start, "HTML is not read: what it asks for doesn't count", "Write it as Markdown.")];
  }
  const isFenced = block.type === "code" && /^\s*(?:`{3}|~{3})/.test(text.slice(start.offset, (start.offset ?? 0) + 8));
  if (block.type === "code" && !isFenced && ASKING.test(block.value)) {
    const message = "this is indented by four spaces, which is code in Markdown, so it isn't read";
    return [unclear(start, message, "Indent it by less, if it asks for something.")];
  }
  return "children" in block ? block.children.flatMap((child) => unreadBlock(child, text)) : [];
}
