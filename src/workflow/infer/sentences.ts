/**
 * Reads list items and sentences that ask for evidence: "You must provide `function_count`, a number greater than 0."
 * Checkboxes are claims, items that begin with a name are values, other items are sentences. Splits paragraphs into
 * sentences with their positions, and recognises conditions and negations.
 */
import type { Paragraph } from "mdast";
import { withoutAtEnd } from "../from-markdown.js";
import { type AskedNames, namesIn } from "./asked-names.js";
import { type MarkedText, partOf, readMarks, withoutCode } from "./inline-marks.js";
import {
  describe,
  type Finding,
  isFault,
  isOptional,
  nameFrom,
  type Place,
  type Reading,
  type Requirement,
  typeFromWords,
  unclear,
  valued,
} from "./requirement.js";

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

/** Words and signs that ask, in a text that is not read as sentences. */
export const ASKING = /\bmust provide\b|\b(?:required|evidence|checkpoint|validation[ -]gate)\s*:|\[[ xX]\]\s/i;

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

/** A sentence, or a label with the text after it. */
interface Sentence extends MarkedText, Place {}

const MARKED = "Put the name in code marks: You must provide `function_count`, a number greater than 0.";

/** Returns the requirements of a sentence; none if it doesn't ask for anything. */
export function sentenceFindings(sentence: Sentence, reading: Reading): Finding[] {
  const asking = askingOf(sentence, reading.inGate);
  if (asking === undefined && reading.inGate && sentence.marks[0]?.kind === "code" && headEnd(sentence) !== undefined) {
    return namedFindings(sentence, namesIn(sentence, "", reading.defined), reading, isOptional(sentence.plain));
  }
  if (asking === undefined || asking.kind === "not" || asking.introduces) return [];
  const asked = namesIn(partOf(sentence, asking.from, asking.to), leadOf(sentence, asking), reading.defined);
  const findings = namedFindings(sentence, asked, reading, asking.kind === "optional");
  if (findings.length > 0 || asking.kind === "optional" || hasName(asked)) return findings;
  return [unclear(sentence, "this sentence asks for something, but no name of a field can be read in it", MARKED)];
}

/** Returns the fields of names; `isOptional` says that a word before them makes all of them optional. */
function namedFindings(
  sentence: Sentence,
  { names, passedOver, isChoice }: AskedNames,
  { defined }: Reading,
  isOptional: boolean,
  from: "sentence" | "checkbox" = "sentence",
): Finding[] {
  if (isChoice) {
    const which = names.map(({ name }) => name).join(", ");
    const hint = "Ask for all of them, or write a gate file with optional fields and a rule in cross_field_validation.";
    return [unclear(sentence, `one of ${which} would do, which a text can't ask for: none is read`, hint)];
  }
  const description = describe(sentence.plain.replace(/\s+/g, " "));
  const findings = names.flatMap(({ name, words, optional }) =>
    valued({ name, words, optional: optional || isOptional, description, from }, sentence, defined),
  );
  const hasField = findings.some((finding) => !isFault(finding));
  const others = passedOver.map((name) =>
    unclear(
      sentence,
      `${name} is in a place where no name is expected, so it isn't read`,
      `If it is asked for, write it in a list: \`one\`, \`two\` and \`${name}\`.`,
    ),
  );
  const condition =
    hasField && !isOptional && isConditional(sentence)
      ? [
          unclear(
            sentence,
            "this is asked for under a condition, and read as always required",
            'Say "optional", or write a gate file with a rule in cross_field_validation.',
          ),
        ]
      : [];
  return [...findings, ...others, ...condition];
}

/** A line of a text, with its number from 1. */
export interface NumberedLine {
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

/** Returns a paragraph's lines as they are written, without the marks of quotations and lists around it. */
export function linesOf({ position }: Paragraph, text: string): NumberedLine[] {
  if (position === undefined) return [];
  const { start, end } = position;
  const lines = text.slice(start.offset, end.offset).split(/\r\n?|\n/);
  return lines.map((written, index) => {
    const inner = index === 0 ? written : written.replace(/^(?:[ \t]*>)*[ \t]*/, "");
    const indent = index === 0 ? start.column - 1 : written.length - inner.length;
    return { text: inner, line: start.line + index, column: indent + 1 };
  });
}

/** Maximum length of a paragraph or an item that is read, in characters: the search for names takes quadratic time. */
const READ_MAX = 4000;

/** Checks whether lines are too long to be read as sentences. */
function isTooLong(lines: readonly NumberedLine[]): boolean {
  return lines.reduce((sum, { text }) => sum + text.length + 1, 0) > READ_MAX;
}

/** A line that begins with a label, a number or a box begins a new sentence. */
const LABELLED = /^(?:(?:\*\*|__)[^*_]+(?:\*\*|__)|[A-Z][\w -]{0,40}:|\[[ xX]\]\s)/;

/** Returns the sentences of lines; none if they are too long. Lines of one sentence are joined; hard breaks and labels end one. */
export function sentencesOf(lines: readonly NumberedLine[]): Sentence[] {
  if (isTooLong(lines)) return [];
  const blocks: NumberedLine[][] = [];
  let isBroken = true;
  for (const line of lines) {
    if (isBroken || LABELLED.test(line.text)) blocks.push([line]);
    else blocks.at(-1)?.push(line);
    isBroken = line.text.endsWith("  ") || line.text.endsWith("\\");
  }
  return blocks.flatMap(splitSentences);
}

/** The way in which a sentence asks for the names in it. */
interface Asking {
  readonly kind: "required" | "optional" | "not";
  /** The start and the end of the names. */
  readonly from: number;
  readonly to: number;
  /** True if no names follow: the list or table after the sentence has them. */
  readonly introduces: boolean;
}

const MUST =
  /\bmust(?:\s+(?:also|always|then|both|each))?\s+provide\b(?:\s+(?:the\s+)?(?:following|evidence)\b)*\s*:?/i;

const NOUNS = "(?:\\s+(?:evidence|fields?|values?|artifacts?|outputs?|items?|deliverables?))?";

const LABEL = new RegExp(`\\b(required|optional)${NOUNS}\\s*:`, "i");
const GATE_LABEL =
  /\b(?:evidence|checkpoint|validation[ -]gate)(?:\s+(?:required|needed|to\s+(?:provide|submit|report)|for\s+(?:this\s+|the\s+)?phase(?:\s+\d+)?))*\s*:/i;

/** The beginning of a sentence below a gate's heading that asks: "Report the `count` as a number". */
const TOLD =
  /^\W*(?:(?:please|then|also|and|you|must|should|need\s+to|have\s+to)\s+)*(?:report|provide|submit|state|give|record|supply|return|deliver|specify|include)\b(?=[^\uFFFC]*\uFFFC)/i;

/** Words after a request that deny it: "must provide nothing", "required: none". */
const NOTHING = /^\s*(?::\s*)?(?:nothing|none|no\b|n\/a\b|-\s*$)/i;

/** Returns how a sentence asks; undefined if it doesn't. `inGate` is true below a gate's heading. */
export function askingOf(sentence: MarkedText, inGate: boolean): Asking | undefined {
  const text = withoutCode(sentence);
  const found = earliest(text, [MUST, LABEL, GATE_LABEL, ...(inGate ? [TOLD] : [])]);
  if (found === undefined) return passive(text, inGate);
  const from = found.index + found[0].length;
  const rest = text.slice(from);
  const isNothing = isTakenBack(text.slice(0, found.index)) || NOTHING.test(rest);
  const kind = isNothing ? "not" : /optional/i.test(found[1] ?? "") ? "optional" : "required";
  return { kind, from, to: text.length, introduces: /^[\s:*]*$/.test(rest) && /:\s*$/.test(text) };
}

/** Returns the words before those that ask, without a label: they are about the first name too. */
function leadOf({ plain }: Sentence, { from }: Asking): string {
  return plain
    .slice(0, from)
    .replace(/^[^:]*:\s*$/, "")
    .replace(/\b(?:must provide|required|optional|evidence|checkpoint)\b.*$/is, "");
}

function hasName({ names, isChoice }: AskedNames): boolean {
  return isChoice || names.length > 0;
}

/** Checks whether a sentence asks under a condition, which a list of fields can't express. */
function isConditional({ plain }: MarkedText): boolean {
  return /^\W*(?:if|when|unless|in case|where)\b/i.test(plain);
}

/** Not an end: `e.g. this`, `1. that`. */
const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no)|(?:^|\s)\d+)\.$/i;

/** Longer than any of them. */
const ABBREVIATION_MAX = 24;

function splitSentences(lines: readonly NumberedLine[]): Sentence[] {
  const whole = readMarks(lines.map(({ text }) => text.replace(/\\$/, "").trimEnd()).join("\n"));
  const searched = withoutCode(whole);
  const ends: number[] = [];
  for (const { index, 0: sign } of searched.matchAll(/[.!?]["')\]]*(?=\s)|;(?=\s)/g)) {
    const end = index + sign.length;
    if (
      sign === ";"
        ? isOwn(searched.slice(end))
        : !ABBREVIATION.test(searched.slice(Math.max(0, end - ABBREVIATION_MAX), end)) && starts(searched, end)
    )
      ends.push(end);
  }
  return [...ends, whole.plain.length].flatMap((end, index) => {
    const from = index === 0 ? 0 : (ends[index - 1] ?? 0);
    const start = from + (/^\s*/.exec(whole.plain.slice(from, end))?.[0].length ?? 0);
    if (start >= end) return [];
    const line = whole.plain.slice(0, start).split("\n").length - 1;
    const { line: number = 1, column = 1 } = lines[line] ?? {};
    return [{ ...partOf(whole, start, end), line: number, column }];
  });
}

/** Checks whether the part after a semicolon asks, or declines, by itself. */
function isOwn(rest: string): boolean {
  return /^\s+(?:(?:not |also )?(?:required|optional)(?: \w+)?\s*:|(?:\w+\s+)?must\s+(?:\w+\s+)?provide|no\b)/i.test(
    rest,
  );
}

/** Checks whether a sentence can begin here: not with a lower-case letter, unless that begins a name. */
function starts(text: string, at: number): boolean {
  return !/^\s+\p{Ll}/u.test(text.slice(at, at + 40)) || /^\s+\p{Ll}\w*_/u.test(text.slice(at, at + 80));
}

function earliest(text: string, patterns: readonly RegExp[]): RegExpExecArray | undefined {
  const found = patterns.flatMap((pattern) => {
    const match = pattern.exec(text);
    return match === null ? [] : [match];
  });
  return found.sort((one, other) => one.index - other.index)[0];
}

const PASSIVE = /\bmust\s+be\s+provided\b/i;
const GATE_PASSIVE = /\b(?:is|are)\s+(?:also\s+)?required\b/i;

function passive(text: string, inGate: boolean): Asking | undefined {
  const found = PASSIVE.exec(text) ?? (inGate ? GATE_PASSIVE.exec(text) : null);
  if (found === null) return isNotNeeded(text) ? { kind: "not", from: 0, to: 0, introduces: false } : undefined;
  const isNot = isNotNeeded(text) || isTakenBack(text.slice(0, found.index));
  return { kind: isNot ? "not" : "required", from: 0, to: text.length, introduces: false };
}

/** Words that take a requirement back: "`a` is not required". */
const NOT_NEEDED = /\b(?:not|n['’]t)\s+(?:be\s+)?(?:required|needed|necessary|provided)\b|\bneed\s+not\b/i;

/** "No evidence is required", in one clause. */
function isNotNeeded(text: string): boolean {
  if (NOT_NEEDED.test(text)) return true;
  return text.split(/[,;.]/).some((clause) => {
    const at = clause.search(/\b(?:no|nothing|none)\b/i);
    return at !== -1 && /\b(?:is|are)\s+required\b/i.test(clause.slice(at));
  });
}

/** Words before a request that deny it: "not required", "no evidence is required", "nobody must provide". */
const TAKEN_BACK = /\b(?:not|non|never|n['’]t|needn['’]t)[\s-]*(?:\w+\s+)?$/i;
/** The same, in the clause of the request. */
const NOBODY = /(?:^\s*|\b(?:and|but|there is)\s+)(?:no|nothing|none|nobody|no one|neither)\b/i;

function isTakenBack(before: string): boolean {
  return TAKEN_BACK.test(before) || NOBODY.test(before.split(/[,;:.]/).at(-1) ?? "");
}
