/**
 * Reads list items and sentences that ask for evidence: "You must provide `function_count`, a number greater than 0."
 * Checkboxes are claims, items that begin with a name are values, other items are sentences, with the words about each
 * name.
 */
import type { Paragraph } from "mdast";
import { TYPE_WORDS } from "../field-types.js";
import { withoutAtEnd } from "../from-markdown.js";
import { type Mark, type MarkedText, partOf, readMarks, withoutCode } from "./inline-marks.js";
import {
  describe,
  type Finding,
  isFault,
  isOptional,
  nameFrom,
  type Place,
  type Reading,
  typeFromWords,
  unclear,
  valued,
} from "./requirement.js";
import { isKnownValidator } from "./validators.js";

export function itemFindings(lines: readonly NumberedLine[], reading: Reading): Finding[] {
  const sentences = sentencesOf(lines);
  const item = joined(sentences);
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
  const hint = "Break it up: one requirement in each item of a list.";
  return [unclear(first, "this is too long to be read for what it asks", hint)];
}

/** Returns the sentences of an item as one: later sentences are about the same thing. */
function joined([first, ...rest]: readonly Sentence[]): Sentence | undefined {
  if (first === undefined) return undefined;
  let { plain } = first;
  const marks = [...first.marks];
  for (const sentence of rest) {
    const shift = plain.length + 1;
    marks.push(...sentence.marks.map((mark) => ({ ...mark, start: mark.start + shift, end: mark.end + shift })));
    plain += ` ${sentence.plain}`;
  }
  return { ...first, plain, marks };
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
  if (description === "")
    return [unclear(task, "this checkbox has no claim that can be read", "Write after it what must be true.")];
  const name = nameFrom(description) || "item";
  const field = { name, type: "boolean", required: !isOptional(task.plain), description } as const;
  const { line, column } = task;
  return [{ field, validators: [], from: "checkbox", certainty: "sure", typed: true, named: false, line, column }];
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
  if (findings.length > 0 || asking.kind === "optional" || asked.isChoice || asked.names.length > 0) return findings;
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
  const others = passedOver.map((name) => {
    const hint = `If it is asked for, write it in a list: \`one\`, \`two\` and \`${name}\`.`;
    return unclear(sentence, `${name} is in a place where no name is expected, so it isn't read`, hint);
  });
  const isCertain = isOptional || !isConditional(sentence) || findings.every(isFault);
  if (isCertain) return [...findings, ...others];
  const hint = 'Say "optional", or write a gate file with a rule in cross_field_validation.';
  return [
    ...findings,
    ...others,
    unclear(sentence, "this is asked for under a condition, and read as always required", hint),
  ];
}

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

/** Checks whether a sentence asks under a condition, which a list of fields can't express. */
function isConditional({ plain }: MarkedText): boolean {
  return /^\W*(?:if|when|unless|in case|where)\b/i.test(plain);
}

/** Not an end: `e.g. this`, `1. that`. */
const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no)|(?:^|\s)\d+)\.$/i;

const ABBREVIATION_MAX = 24;

function splitSentences(lines: readonly NumberedLine[]): Sentence[] {
  const whole = readMarks(lines.map(({ text }) => text.replace(/\\$/, "").trimEnd()).join("\n"));
  const searched = withoutCode(whole);
  const ends: number[] = [];
  for (const { index, 0: sign } of searched.matchAll(/[.!?]["')\]]*(?=\s)|;(?=\s)/g)) {
    const end = index + sign.length;
    const isEnd = () =>
      !ABBREVIATION.test(searched.slice(Math.max(0, end - ABBREVIATION_MAX), end)) && starts(searched, end);
    if (sign === ";" ? isOwn(searched.slice(end)) : isEnd()) ends.push(end);
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

interface AskedName {
  readonly name: string;
  /** The words about the name and about those in the same list. */
  readonly words: string;
  readonly optional: boolean;
}

interface AskedNames {
  readonly names: readonly AskedName[];
  /** Words that are marked as names in places where no name is expected. */
  readonly passedOver: readonly string[];
  /** True if one of several would do, which a list of fields can't express. */
  readonly isChoice: boolean;
}

const NEGATED = /\b(?:no|not|without|except|excluding|instead of|rather than|nor|never)\s+(?:(?:an?|the|any)\s+)?$/i;

/** Returns the names in a part of a text. `lead` is the text before it, which is also about the first name. */
function namesIn(text: MarkedText, lead: string, defined: ReadonlySet<string>): AskedNames {
  const searched = withoutCode(text);
  const all = candidates(text, searched, defined);
  const { chosen, passedOver } = choose(all, searched);
  const asked = chosen.filter(({ start }) => !NEGATED.test(searched.slice(0, start)));
  const isChoice = chosen.some(
    ({ start }, index) => index > 0 && /\bor\s+(?:an?\s+|the\s+)?$/i.test(searched.slice(0, start)),
  );
  return { names: described(asked, chosen, text, lead), passedOver, isChoice };
}

interface Candidate {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly kind: Mark["kind"] | "word";
}

const IDENTIFIER = /^[A-Za-z_][\w-]*$/;

/** Words that are marked for emphasis, not as names. */
const STRESSED =
  /^(?:all|every|each|both|must|not|no|never|only|at least|at most|non-?empty|required|optional|mandatory|always|and|or|exactly|complete|full|important|notes?|any|some|the|a|an|before|after|evidence|everything|nothing|\W*\d.*)[:.!]?$/i;

/** Names in plain words: `function_count`, but not parts of paths. */
const SNAKE = /(?<![\w/.\\-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w/\\-]|\.\w)/g;

function candidates({ plain, marks }: MarkedText, searched: string, defined: ReadonlySet<string>): Candidate[] {
  const codes = marks
    .filter(({ kind, text }) => kind === "code" && isName(text, defined))
    .map(({ kind, text, start, end }) => ({ kind, name: text, start, end }));
  const stressed = marks.flatMap(({ kind, text, start, end }) => {
    const name = IDENTIFIER.test(text) && text.includes("_") ? text : nameFrom(text);
    const isStress = kind === "code" || name === "" || STRESSED.test(text.trim()) || !isName(name, defined);
    return isStress || text.length > 60 ? [] : [{ kind, name, start, end }];
  });
  const isMarked = (at: number) => marks.some(({ start, end }) => start <= at && at < end);
  const words = [...searched.matchAll(SNAKE)]
    .map(({ 0: name, index }) => ({ kind: "word" as const, name, start: index, end: index + name.length }))
    .filter(({ name, start }) => !isMarked(start) && isName(name, defined) && plain.length > start);
  return [...codes, ...stressed, ...words].sort((one, other) => one.start - other.start);
}

const LITERALS = new Set(["true", "false", "null", "none", "value", "lambda"]);

function isName(text: string, defined: ReadonlySet<string>): boolean {
  const isWord = TYPE_WORDS.has(text.toLowerCase()) || LITERALS.has(text.toLowerCase());
  return IDENTIFIER.test(text) && !isWord && !isKnownValidator(text, defined);
}

const SEPARATED = /(?:^|[,;:&+()•–—]|\s-|\band|\bplus|\bboth|\bwith|\bor)\s*$/i;

/** Later names must be in a list: "`count`, as printed by `ctags`" asks for one. Emphasis counts if no code follows. */
function choose(all: readonly Candidate[], searched: string) {
  const hasCode = all.some(({ kind }) => kind === "code");
  const chosen: Candidate[] = [];
  const passedOver: string[] = [];
  for (const candidate of all) {
    const before = searched.slice(chosen.at(-1)?.end ?? 0, candidate.start);
    const isListed = SEPARATED.test(before.slice(0, leadStart(before)));
    const isNamed = candidate.kind === "code" || candidate.name.includes("_");
    const isAdjective = /^\s*\uFFFC/.test(searched.slice(candidate.end));
    const isFirst = chosen.length === 0 && (candidate.kind === "code" || !hasCode);
    const isCalled = /\b(?:as|called|named)\s+(?:the\s+)?$/i.test(before) && /,|\band\b/i.test(before);
    if ((candidate.kind === "strong" || candidate.kind === "emphasis") && isAdjective) continue;
    if (chosen.length > 0 && isBracketed(before)) {
      if (candidate.kind === "code" && !isPart(before, searched.slice(candidate.end), candidate.name)) {
        passedOver.push(candidate.name);
      }
      continue;
    }
    const isTaken =
      chosen.length > 0 ? isListed || isCalled : (isFirst && isNamed) || (isListed && (isFirst || isNamed));
    if (isTaken) chosen.push(candidate);
    else if (isNamed && !NEGATED.test(before)) passedOver.push(candidate.name);
  }
  return { chosen, passedOver };
}

const LEAD = /\b(?:and|plus|also|with|an?|the|its|your|their|one|both|optionally|optional|as well as)$/i;
const LEAD_MAX = 12;

/** Returns the start of the words before a name, by a search backwards word by word. */
function leadStart(text: string): number {
  let start = text.length;
  for (let word = ""; ; start -= word.length) {
    const end = withoutAtEnd(text.slice(0, start), ",").length;
    const [lead] = LEAD.exec(text.slice(Math.max(0, end - LEAD_MAX), end)) ?? [];
    if (lead === undefined) return start;
    word = text.slice(end - lead.length, start);
  }
}

/** Checks whether a bracket is open: its content is about the name before it. */
function isBracketed(before: string): boolean {
  return before.lastIndexOf("(") > before.lastIndexOf(")");
}

/** Checks whether a name is alone between commas, and so is a type or a validator. */
function isPart(before: string, after: string, name: string): boolean {
  return name.includes("_") && /[(,;]\s*$/.test(before) && /^\s*[),;]/.test(after);
}

/** Adds the words after the last name of a list to all names of the list. */
function described(
  asked: readonly Candidate[],
  chosen: readonly Candidate[],
  { plain }: MarkedText,
  lead: string,
): AskedName[] {
  const parts = chosen.map(({ start, end }, index) => {
    const next = chosen[index + 1];
    const between = plain.slice(end, next?.start ?? plain.length);
    const own = next === undefined ? between : between.slice(0, leadStart(between));
    const before = plain.slice(chosen[index - 1]?.end ?? 0, start);
    const isOptional = /\boptional(?:ly)?\b[\s,]*$/i.test(before.slice(leadStart(before)));
    return {
      own,
      isRow: next !== undefined && /^[\s,;&+]*$/.test(own.replace(/\b(?:and|or|plus|both)\b/gi, "")),
      isOptional,
    };
  });
  const every = parts.length < 2 ? undefined : from(parts.at(-1)?.own ?? "", /\b(?:each|all|both)\b(?! of\b)/i);
  return chosen.flatMap((candidate, index) => {
    if (!asked.includes(candidate)) return [];
    const end = parts.findIndex(({ isRow }, other) => other >= index && !isRow);
    const shared = parts[end === -1 ? parts.length - 1 : end]?.own ?? "";
    const isSingle = chosen.length === 1 || parts.slice(0, -1).every(({ isRow }) => isRow);
    const words = [index === 0 || isSingle ? lead : "", index === 0 ? plain.slice(0, candidate.start) : "", shared];
    if (every !== undefined && !shared.includes(every)) words.push(every);
    const optional = parts[index]?.isOptional === true || isOptionalBy(shared, end === index);
    return [{ name: candidate.name, words: words.join(" "), optional }];
  });
}

/** Returns the rest of a text from the first match of a pattern. */
function from(text: string, pattern: RegExp): string | undefined {
  const at = text.search(pattern);
  return at === -1 ? undefined : text.slice(at);
}

/** In a list only the last name is optional, unless the words are about all. */
function isOptionalBy(words: string, isLast: boolean): boolean {
  const isForAll = words
    .split(".")
    .some((part) => /\b(?:optional|may be empty)\b/i.test(from(part, /\b(?:are|all|both|each)\b/i) ?? ""));
  return isOptional(words) && (isLast || isForAll);
}
