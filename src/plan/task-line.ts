/** Reads the parts of a task's line: id, marks, name, duration, dependencies, requirements and files. */
import type { IdReader, TaskIds } from "./ids.js";
import type { Vocabulary } from "./words.js";

export type TaskLine = ReturnType<typeof readTaskLine>;

const CRITERIA = /\(ACs?\b([^()]*)\)/i;

/** The marks before a heading's words: emoji, boxes, emphasis around them. */
const BEFORE_NAME = /^(?:[\p{Extended_Pictographic}\p{So}*_]|\uFE0F|\u200D|[ \t])+(?=\S)/u;

/** Reads the text of a task. `given` is the id that the plan gives it, where the text alone does not show it: `3 Name`. */
export function readTaskLine(
  text: string,
  forms: readonly TaskIds[],
  ids: IdReader,
  words: Vocabulary,
  given?: string,
) {
  // Formatters escape the star of an optional task, and the brackets of marks.
  const written = text.replace(/\\([[\]])/g, "$1").replace(/^\\(?=\*)/, "");
  const optional = /^\*(?=\s|\d|$)/.test(written);
  const body = withoutComments(optional ? written.slice(1) : written).trim();
  const counted =
    given !== undefined && body.startsWith(`${given} `) ? { id: given, rest: body.slice(given.length + 1) } : undefined;
  const title = ids.read(body, forms) ?? ids.read(body.replace(BEFORE_NAME, ""), forms) ?? counted;
  const named = title?.rest ?? body;
  // The strike may begin before the id, and may end with it.
  const isOpened = body.slice(0, body.length - named.length).includes("~~");
  const isIdStruck = isOpened && named.startsWith("~~");
  const { rest, marks } = takeMarks(isIdStruck ? named.slice(2).trimStart() : named);
  const said = isOpened && !isIdStruck ? `~~${rest}` : rest;
  const struck = isIdStruck || isStruck(said);
  const clean = struck ? said.replaceAll("~~", "") : said;
  const { others, dependencies } = takeDependencies(clean, words);
  const criteria = CRITERIA.exec(clean)?.[1];
  const { name, time } = splitTime(bare(others.replace(CRITERIA, "")));
  return {
    id: title?.id,
    name: /^(?:\(optional\))?$/i.test(name) ? (title === undefined ? body : `Task ${title.id}`) : name,
    optional: optional || /\boptional\b/i.test(/\(([^()]*)\)/.exec(clean)?.[1] ?? ""),
    parallel: marks.includes("P"),
    /** True if it is struck out: `~~T002 Name~~`. */
    struck,
    story: marks.find((mark) => mark.startsWith("US")),
    time,
    /** The text in parentheses, `(2h, depends on T012, T013)`. */
    dependencies,
    requirements:
      criteria === undefined ? [] : readReferences(criteria.replace(/:|\bACs?\b/gi, "").trim()).map(criterionId),
    files: filesIn(clean),
  };
}

/** What may follow a struck name: a remark, not another name as in `~~Use Redis~~ Use SQLite`. */
const AFTER_STRUCK = /^[*_\s]*(?:$|[^\s\p{L}\p{N}`"'[]|(?:not|no|moved|replaced|superseded|merged|dropped|see)\b)/iu;

/** Checks whether a text is struck out, except for a remark at its end. */
export function isStruck(text: string): boolean {
  const end = text.lastIndexOf("~~");
  return /^[*_\s]*~~/.test(text) && text.indexOf("~~") < end && AFTER_STRUCK.test(text.slice(end + 2));
}

/** Parentheses at the end of a name, and what may follow them. */
const ENDING = /\(([^()]*)\)[^\p{L}\p{N}()]*(?:\p{Lu}{3,}\s*)?$/u;

const TIME_WORDS = "(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|sprints?|points?|pts?)";
const DURATION = new RegExp(
  String.raw`(?<![\d.,])[.,]*\d[\d.,]*\s*(?:[-–—]\s*\d[\d.,]*\s*)?${TIME_WORDS}\b|\b(?:weeks?|days?)\s+\d`,
  "i",
);

/** Returns a name and the duration in parentheses at its end, if there is one. */
export function splitTime(text: string): { readonly name: string; readonly time?: string } {
  const ending = ENDING.exec(text);
  const inside = ending?.[1];
  if (ending === null || inside === undefined || !DURATION.test(inside)) return { name: text };
  return { name: text.slice(0, ending.index).trim(), time: inside.trim() };
}

export function durationIn(text: string): string | undefined {
  return DURATION.test(text) ? text.trim() : undefined;
}

/** A word in code that looks like emphasis: `__init__`. */
const DUNDER = /^__[a-z0-9]+(?:_[a-z0-9]+)*__$/;

/** Returns a text without emphasis marks around all of it, or left over from a label. */
export function bare(text: string): string {
  const halves = (text.match(/\*\*/g) ?? []).length;
  const trimmed = text.trim();
  const whole = DUNDER.test(trimmed) ? undefined : /^(\*\*|__|~~)((?:(?!\1).)*)\1$/.exec(trimmed)?.[2];
  return (whole ?? (halves % 2 === 1 ? trimmed.replace("**", "") : trimmed)).replace(/^[\s:.–—-]+(?=\S)/, "").trim();
}

/** A path with a folder anywhere, or one without a folder in backticks. It begins after another character, in linear time. */
const PATH = /(?<![\w.@[\]:/-])\/?(?:[\w.@[\]-]+\/)+[\w.@[\]*-]*\.\w+|`(\/?(?:[\w.@[\]-]+\/)*[\w.@[\]-]+\.\w{1,6})`/g;

export function filesIn(text: string): string[] {
  return [...new Set([...text.matchAll(PATH)].map((match) => match[1] ?? match[0]))];
}

/** A comment without the start of another one, so that the time is linear. */
const COMMENT = /<!--(?:(?!<!--).)*?-->/g;

export function withoutComments(text: string): string {
  return text.replace(COMMENT, "");
}

/** A list in parentheses, or the text of `[FR-001](spec.md#fr-001)` and `[FR-001]`. */
const IN_BRACKETS = /^\(([^()]*)\)\.?$|\[([^[\]]*)\](?:\([^()]*\))?/g;
/** `1.2`, `#3`, `FR-001`, `NFR-Sc1`, `Story 4`, or a range of two; a remark may follow. */
const ID =
  /^((story|section) )?[#§]?[a-z_-]{0,40}\d[\d.]*[a-z]?( ?([-–—]|to |through ) ?[a-z_-]{0,40}\d[\d.]*[a-z]?)?( \([^()]*\))?$/i;

/** Returns the ids in a list of requirements, without marks and links. Any other text is one requirement; `None` means no requirement. */
export function readReferences(text: string): readonly string[] {
  const ids = text
    .replace(IN_BRACKETS, ",$1$2,")
    .replace(/[*`]|\breq(uirement)?s? (?=\d)|\.$/gi, "")
    .split(/[,;&+/]|\band\b/i)
    .flatMap((id) => id.trim() || []);
  if (/^(none|n\/?a|-+)\.?$/i.test(text)) return [];
  return ids.every((id) => ID.test(id)) ? ids : [text];
}

/** Splits the marks from a text such as `[P] [US1] Create …`. */
function takeMarks(text: string) {
  const [found = ""] = /^(?:\[(?:P|US\d+|Story)\]\s*)+/i.exec(text) ?? [];
  const rest = text.slice(found.length);
  return { rest, marks: [...found.matchAll(/\[([^[\]]+)\]/g)].map((match) => (match[1] ?? "").toUpperCase()) };
}

const IN_PARENTHESES = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)|（([^（）]*)）/g;
/** Splits the dependencies in parentheses from a text. A duration beside them stays: `(2h, depends on T001)`. */
function takeDependencies(text: string, words: Vocabulary) {
  for (const { 0: whole, 1: ascii, 2: wide, index } of text.matchAll(IN_PARENTHESES)) {
    const inside = ascii ?? wide ?? "";
    const parts = inside.split(/[,;，；|·]/);
    const first = parts.findIndex((part) => words.dependsInside.test(part));
    if (first === -1) continue;
    const isOther = (part: string, at: number) => at < first || (at > first && durationIn(part) !== undefined);
    const left = parts.filter(isOther).join(",").trim();
    const others = text.slice(0, index) + (left === "" ? "" : `(${left})`) + text.slice(index + whole.length);
    const said = parts.filter((part, at) => !isOther(part, at)).join(",");
    const named = words.dependsInside.exec(said);
    return { others, dependencies: named === null ? said : said.slice(named.index + named[0].length) };
  }
  return { others: text };
}

/** Returns the id of an acceptance criterion: `(AC: 1, 2)` names only numbers. */
function criterionId(reference: string): string {
  return /^AC/i.test(reference) ? reference : `AC ${reference}`;
}
