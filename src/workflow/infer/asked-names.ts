/** Finds the names that a sentence asks for, each with the words about it. */
import { TYPE_WORDS } from "../field-types.js";
import { withoutAtEnd } from "../from-markdown.js";
import { type Mark, type MarkedText, withoutCode } from "./inline-marks.js";
import { isOptional, nameFrom } from "./requirement.js";
import { isKnownValidator } from "./validators.js";

/** A name and the words about it. */
export interface AskedName {
  readonly name: string;
  /** The words about the name and about those in the same list. */
  readonly words: string;
  readonly optional: boolean;
}

/** The names of a sentence. */
export interface AskedNames {
  readonly names: readonly AskedName[];
  /** Words that are marked as names in places where no name is expected. */
  readonly passedOver: readonly string[];
  /** True if one of several would do, which a list of fields can't express. */
  readonly isChoice: boolean;
}

const NEGATED = /\b(?:no|not|without|except|excluding|instead of|rather than|nor|never)\s+(?:(?:an?|the|any)\s+)?$/i;

/** Returns the names in a part of a text. `lead` is the text before it, which is also about the first name. */
export function namesIn(text: MarkedText, lead: string, defined: ReadonlySet<string>): AskedNames {
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

/**
 * Chooses the names. The first may be anywhere, the others only if a list continues: "`count`, as printed by `ctags`"
 * asks for one. Emphasized words are names only if no code span follows.
 */
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
    if (isFirst && (isNamed || isListed)) chosen.push(candidate);
    else if (chosen.length > 0 && (isListed || isCalled)) chosen.push(candidate);
    else if (chosen.length === 0 && isListed && isNamed) chosen.push(candidate);
    else if (isNamed && !NEGATED.test(before)) passedOver.push(candidate.name);
  }
  return { chosen, passedOver };
}

/** Words that may be between a comma and a name. */
const LEAD = /\b(?:and|plus|also|with|an?|the|its|your|their|one|both|optionally|optional|as well as)$/i;
/** Longer than any of those words. */
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
    const isOptional = /\boptional(?:ly)?\b[\s,]*$/i.test(leadBefore(plain.slice(chosen[index - 1]?.end ?? 0, start)));
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

function leadBefore(text: string): string {
  return text.slice(leadStart(text));
}

/** Returns the rest of a text from the first match of a pattern. */
function from(text: string, pattern: RegExp): string | undefined {
  const at = text.search(pattern);
  return at === -1 ? undefined : text.slice(at);
}

/**
 * Checks whether words make a name optional. In a list only the last name is optional, unless the words are about all.
 */
function isOptionalBy(words: string, isLast: boolean): boolean {
  const isForAll = words
    .split(".")
    .some((part) => /\b(?:optional|may be empty)\b/i.test(from(part, /\b(?:are|all|both|each)\b/i) ?? ""));
  return isOptional(words) && (isLast || isForAll);
}
