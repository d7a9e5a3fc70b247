/** Comparisons as people write them (`> 5`, `at least 3 items`, `under 100`), made into rules. */
import type { FieldType } from "../structure.js";

/** How each comparison is said; longer ones first. */
const SAID: readonly (readonly [sign: string, words: string])[] = [
  [">=", "greater than or equal to|more than or equal to|at least|no less than|not less than|no fewer than"],
  [">=", "a minimum of|minimum of|minimum|min|gte|ge|>=|≥|=>"],
  ["<=", "less than or equal to|fewer than or equal to|at most|no more than|not more than"],
  ["<=", "a maximum of|maximum of|maximum|max|up to|lte|le|<=|≤|=<"],
  [">", "greater than|more than|larger than|higher than|longer than|above|over|exceeds|gt|>"],
  ["<", "less than|fewer than|smaller than|lower than|shorter than|under|below|lt|<"],
  ["!=", "not equal to|is not|!=|<>|≠"],
  ["==", "equal to|equals|exactly|eq|===|==|="],
];
/** Comparisons that a cell can hold and prose has other meanings for. */
const ONLY_IN_CELLS = "is";
const COUNTED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const NUMBER = `-?\\d{1,3}(?:,\\d{3})+(?![\\d,])|-?\\d{1,15}(?:\\.\\d{1,15})?|(?:${COUNTED.join("|")})\\b`;

const SIGNS = SAID.map(([, words]) => words).join("|");
const isWord = (text: string) => /^[a-z]/.test(text);
const ESCAPED = SIGNS.split("|").map((words) =>
  isWord(words) ? `\\b(?:length |len |size )?${words}(?![a-z])` : words.replace(/[!<>=]/g, "\\$&"),
);
const UNIT = "(?:\\s*(%|[a-z]+(?:-[a-z]+)?))?";
const PHRASE = new RegExp(`(?<![<>=!-])(${ESCAPED.join("|")})\\s*(${NUMBER})${UNIT}`, "gi");
const BETWEEN = new RegExp(
  `\\b(?:between|from|in (?:the )?range(?: of)?)\\s*\\(?\\s*(${NUMBER})%?\\s*(?:and|to|through|\\.\\.\\.?|[-–,])\\s*(${NUMBER})${UNIT}`,
  "gi",
);

const EQUAL_IN_CELL = new RegExp(`^${ONLY_IN_CELLS}\\s+(?=${NUMBER})`, "i");
const RANGE = new RegExp(`^(${NUMBER})%?\\s*(?:\\.\\.\\.?|–|-|to)\\s*(${NUMBER})\\s*(%?)$`, "i");
const CHAIN = new RegExp(`^(${NUMBER})\\s*(<=?)\\s*(?:value|x|n|it)\\s*(<=?)\\s*(${NUMBER})$`, "i");
const OR_MORE = new RegExp(
  `(?:(?<![<>=≥≤])[<>=≥≤]+\\s*|\\b(?:at least|exactly|is)\\s+)?(?<![\\w.,-])(${NUMBER})(%?)\\s+or\\s+(more|above|higher|less|fewer|below)\\b`,
  "gi",
);

/** One comparison with a number. */
export interface Comparison {
  readonly sign: string;
  readonly number: number;
  /** The word after the number, in small letters; empty if there is none that counts something. */
  readonly unit: string;
  /** As it is written. */
  readonly said: string;
}

const NO_UNIT =
  /^(?:and|or|but|for|in|of|with|to|when|if|each|per|is|are|must|from|as|that|which|by|on|at|inclusive|exclusive|total)$/;

/** All comparisons in a text, in their order. */
export function comparisonsIn(text: string): Comparison[] {
  const rest = normal(text);
  const ranges = [...rest.matchAll(BETWEEN)].flatMap(([said, low = "", high = "", unit = ""]) => [
    comparison(">=", low, unit, said),
    comparison("<=", high, unit, said),
  ]);
  const others = [...rest.replace(BETWEEN, " ").matchAll(PHRASE)].map(([said, words = "", number = "", unit = ""]) =>
    comparison(signOf(words), number, unit, said),
  );
  return [...ranges, ...others];
}

/** No comparison is longer. */
const CLAUSE_MAX = 200;

/** The comparisons of a clause that consists of nothing else. */
export function wholeComparison(clause: string): Comparison[] | undefined {
  if (clause.length > CLAUSE_MAX) return undefined;
  const text = clause.trim().replace(EQUAL_IN_CELL, "== ");
  const chain = chained(text);
  if (chain !== undefined) return chain;
  const bare = text
    .replace(/^(?:value|x|n|it|len(?:gth)?|size|must(?: be)?|should(?: be)?|is|be)\s+/i, "")
    .replace(/^(?:must be|be|is)\s+/i, "");
  const range = RANGE.exec(bare);
  if (range !== null) return comparisonsIn(`between ${range[1]} and ${range[2]}${range[3]}`);
  const found = comparisonsIn(bare);
  const read = found.reduce((left, { said }) => left.replace(said, " "), normal(bare));
  const left = read.replace(/[\s()]+/g, " ").trim();
  return found.length > 0 && /^(?:or longer|long|in length|chars?)?$/.test(left) ? found : undefined;
}

/** `0 < x <= 10`. */
function chained(text: string): Comparison[] | undefined {
  const [, low, first, second, high] = CHAIN.exec(text) ?? [];
  if (low === undefined || high === undefined || first === undefined || second === undefined) return undefined;
  return [comparison(first === "<" ? ">" : ">=", low, "", text), comparison(second, high, "", text)];
}

/** `max_length_10` and `max 10` say the same. */
function normal(text: string): string {
  return turned(text)
    .replace(/[_\s]+/g, " ")
    .replace(/(?<=[a-z])-(?=[a-z])/gi, " ")
    .replace(/\b(max|min|maximum|minimum) (?:length|size|len|items)\b/gi, "$1");
}

/** `5 or more` is `at least 5`, whatever sign stands before it. */
function turned(text: string): string {
  return text.replace(OR_MORE, (_, number: string, percent: string, way: string) => {
    return `${/^(?:more|above|higher)$/i.test(way) ? "at least" : "at most"} ${number}${percent}`;
  });
}

function signOf(words: string): string {
  const lower = words.toLowerCase().replace(/^(?:length|len|size) /, "");
  return SAID.find(([, signs]) => signs.split("|").includes(lower))?.[0] ?? "==";
}

function comparison(sign: string, number: string, unit: string, said: string): Comparison {
  const counted = COUNTED.indexOf(number.toLowerCase());
  const lower = unit.toLowerCase();
  return {
    sign,
    number: counted === -1 ? Number(number.replaceAll(",", "")) : counted,
    unit: NO_UNIT.test(lower) ? "" : lower,
    said,
  };
}

const CHARACTERS = /^(?:char(?:acter)?s?|letters?|long|symbols?)$/;
const ELEMENTS = /^(?:items?|entr(?:y|ies)|elements?|members?)$/;

/** A comparison as a rule; undefined if it doesn't go with the type. Of texts and lists the length is compared. */
export function ruleOf({ sign, number, unit }: Comparison, type: FieldType): string | undefined {
  if (type === "boolean") return undefined;
  if (type === "integer" || type === "number") return `value ${sign} ${number}`;
  if (unit === "%") return type === "any" ? `value ${sign} ${number}` : undefined;
  if (type === "list" || type === "object") return CHARACTERS.test(unit) ? undefined : `size(value) ${sign} ${number}`;
  if (CHARACTERS.test(unit)) return `size(visible(value)) ${sign} ${number}`;
  if (type === "any") return ELEMENTS.test(unit) ? `size(value) ${sign} ${number}` : `value ${sign} ${number}`;
  return unit === "" ? `size(visible(value)) ${sign} ${number}` : undefined;
}

/** The type of a value that is compared, where nothing else says it. */
export function typeCompared(comparisons: readonly Comparison[]): FieldType | undefined {
  const [first] = comparisons;
  if (first === undefined) return undefined;
  if (CHARACTERS.test(first.unit)) return "string";
  return ELEMENTS.test(first.unit) ? "list" : "number";
}
