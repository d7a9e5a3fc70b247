/**
 * Reads dependencies as they are written: in lists, `Tasks 1.1-1.4, Phase 2`, in running text, `…, needs 1.1` or
 * `T001 → T002`, and in Kiro's graphs of waves.
 */
import * as z from "zod/mini";
import { ANY_ID } from "./ids.js";
import type { Region, SourceText } from "./source.js";
import { durationIn } from "./task-line.js";
import { JOIN, JOIN_WORDS, keyOf, type Vocabulary } from "./words.js";

export type IsId = (word: string) => boolean;

/** The tasks and phases in a text about dependencies. */
export interface Named {
  readonly tasks: readonly string[];
  readonly phases: readonly string[];
  /** The text, if it names neither in a known form. */
  readonly unread?: string | undefined;
  /** Words with digits that are in no known form: ids of tasks, or something else. */
  readonly unsure: readonly string[];
  /** Ranges that are too long, of which only the two ends count. */
  readonly tooLong: readonly string[];
}

export function named(parts: Partial<Named>): Named {
  return { tasks: [], phases: [], unsure: [], tooLong: [], ...parts };
}

/** Maximum number of ids in a range: `1.1-1.999999` is a mistake. */
export const RANGE_MAX = 100;

const NOTHING =
  /^(?:no |n\/?a(?![\p{L}\p{N}])|-+$|—$|can start(?!.*\b(?:after|(?<!at )once|when|upon|following|as soon as|parallel with)\b))/iu;

const RANGE = String.raw`\s*(?:[-–—~～]|\.{2,3}|…|[Tt][Oo]|[Tt]hrough|bis)\s*`;

/** `Phase A`, `Phases A-C`, `Phases A, B and C`: in capitals, since a small letter may be a word. */
const LETTERED = /\b[Pp]hases?\s+([A-Z](?:\s*(?:[-–—]|,|&|and|to|through|,\s*and)\s*[A-Z](?!\w))*)(?!\w)/g;

/** What makes a number an amount: `1.2 GB`, `1.5 hours`. */
const UNIT = String.raw`\s?(?:%|(?:[kKMGT]i?B|[mµ]s|s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?)(?![\p{L}\p{N}]))`;

const BEFORE_UNIT = new RegExp(`^${UNIT}`, "u");

/** `1.1-1.4`, `T001-T003`, `T001-003`, `1.1`; but no amount. */
const IDS = new RegExp(
  String.raw`(?<![\p{Script=Latin}\p{N}_.]|[A-Za-z]-)(${ANY_ID})(?:${RANGE}(${ANY_ID})|[-–—~](\d+)(?!\.\d))?(?![\p{Script=Latin}\p{N}_]|${UNIT})`,
  "gu",
);

/** `1, 2 and 3-5`, where nothing else says what the numbers are. */
const BARE = new RegExp(String.raw`^#?\d+(?:${JOIN}#?\d+)*$`, "i");

/** What is before a number that is an id: nothing, another one, or a word for a task. Other nouns count or name something else. */
const BEFORE_NUMBER = new RegExp(
  String.raw`(?:^|[^\s\p{L}\p{N}@/]|(?:${JOIN_WORDS}|on|after|once|until|steps?|items?|tasks?))\s*$`,
  "iu",
);

/** What may follow a number that is no amount: punctuation, another id, or what is said of a task. */
const AFTER_NUMBER = new RegExp(
  String.raw`^\s*(?:$|[^\s\p{Script=Latin}\p{Script=Cyrillic}\p{N}%]|(?:${JOIN_WORDS}|or|then|is|are|was|were|be|been|has|have|lands?|done|complete[sd]?|finished|merged|ready|ist|sind|fertig|voraus|ab|est|sont|está|están|è|sono)(?![\p{L}\p{N}]))`,
  "iu",
);

const WITH_DIGIT = /[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?/gu;

/** A word with hyphens, which is an id if the plan has it: `US1-T03`. */
const HYPHENED = /(?<![\p{L}\p{N}.-])[\p{L}\p{N}.]+(?:-[\p{L}\p{N}.]+)+(?![\p{L}\p{N}])/gu;
/** Two codes with different letters, which are one id and no range: `US1-T03`. */
const TWO_CODES = /^([A-Z]+)\d+-(?!\1\d)[A-Z]+\d/;

/** Reads a text about dependencies. Remarks in parentheses are ignored. */
export function readDependencies(text: string, words: Vocabulary, isId: IsId): Named {
  const said = text.replace(/[*_`]/g, "").trim();
  if (said === "" || NOTHING.test(said) || words.saysNone(said)) return named({});
  const tasks: string[] = [];
  const phases: string[] = [];
  const tooLong: string[] = [];
  let rest = ownField(said).replace(/\([^()]*\)|（[^（）]*）/g, " ");
  /** Takes what matches out of the text, unless `read` returns undefined. */
  const take = (into: string[], pattern: RegExp, read: (...found: (string | undefined)[]) => string[] | undefined) => {
    rest = rest.replace(pattern, (whole, ...groups) => {
      const found = read(whole, ...groups);
      into.push(...(found ?? []));
      return found === undefined ? whole : " ";
    });
  };
  take(phases, words.phaseList, (_, after, ordinal) =>
    numbersIn((after ?? ordinal ?? "").replace(/\p{L}+/gu, keyOf), tooLong).map(keyOf),
  );
  take(phases, LETTERED, (_, list = "") => {
    const codes = numbersIn(
      list.replace(/[A-Z]/g, (letter) => `${letter.charCodeAt(0)}`),
      tooLong,
    );
    return codes.map((code) => String.fromCharCode(Number(code)));
  });
  take(tasks, HYPHENED, (word = "") => (isId(word) || TWO_CODES.test(word) ? [word] : undefined));
  take(tasks, IDS, (_, first = "", full, number) => {
    const last = full ?? (number === undefined ? undefined : shortEnd(first, number, isId));
    return last === undefined ? [first] : idRange(first, last, tooLong);
  });
  take(tasks, words.taskList, (_, list = "") => numbersIn(list, tooLong));
  const isEmpty = tasks.length + phases.length === 0;
  if (isEmpty && BARE.test(rest.trim())) {
    const numbers = numbersIn(rest, tooLong);
    // A range of numbers may be a date.
    if (!BETWEEN.test(rest) || numbers.some(isId)) return named({ tasks: numbers, tooLong });
  }
  const unsure = [...rest.matchAll(WITH_DIGIT)].flatMap(({ 0: word, index }) => {
    if (!/\d/.test(word)) return [];
    const [before, after] = [rest.slice(Math.max(0, index - 20), index), rest.slice(index + word.length).slice(0, 20)];
    if (/^[\d.]+$/.test(word) && BEFORE_UNIT.test(after)) return [];
    if (!/^\d+$/.test(word) || (BEFORE_NUMBER.test(before) && AFTER_NUMBER.test(after))) return [word];
    const phrase = `${before.split(/[,;]|\s(?=\S)/).at(-1)}${word}${firstWord(after)}`;
    return /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(phrase) ?? [];
  });
  return { tasks, phases, unread: isEmpty ? said : undefined, unsure: [...new Set(unsure)], tooLong };
}

/** Returns the first word of a text, with the blanks before it. */
function firstWord(text: string): string | undefined {
  return text.split(/(?<=\S)\s/, 1)[0];
}

/** Returns a text without the fields behind it: `1.1 | Est: 3h`. A field that begins with an id goes on. */
function ownField(text: string): string {
  const isOwn = (field: string, at: number) => at === 0 || (ID_FIRST.test(field) && durationIn(field) === undefined);
  return text
    .split(/\s[|·]\s/)
    .filter(isOwn)
    .join(", ");
}

const ID_FIRST = new RegExp(`^\\s*(?:${ANY_ID})`, "u");
const BETWEEN = /[-–—~～]|\.{2,3}|…|to|through|bis/i;
const PARTS = /[,&、，和]|(?<!\p{L})(?:and|und|et|y|e|и)(?!\p{L})/iu;

/** Returns the numbers of a list: `1-3, 5` is 1, 2, 3, 5. */
function numbersIn(list: string, tooLong: string[]): string[] {
  return list.split(PARTS).flatMap((part) => {
    const [first, last] = part.split(BETWEEN).map((text) => text.replace(/[#\s]/g, ""));
    if (!first) return [];
    return last === undefined ? [first] : idRange(first, last, tooLong);
  });
}

/** Returns the ids of a range: `1.2-1.4` is 1.2, 1.3, 1.4. Of one with other ends, or that is too long, only these. */
function idRange(first: string, last: string, tooLong: string[]): string[] {
  const [head, from] = endOf(first);
  const [tail, to] = endOf(last);
  const steps = head.toLowerCase() === tail.toLowerCase() && from !== "" ? Number(to) - Number(from) : -1;
  if (steps >= RANGE_MAX) tooLong.push(`${first}-${last}`);
  if (steps < 0 || steps >= RANGE_MAX) return [first, last];
  const next = (step: number) => head + String(Number(from) + step).padStart(from.length, "0");
  return Array.from({ length: steps + 1 }, (_, step) => next(step));
}

/** Returns the end of `T001-003`, T003; undefined if the plan has no such task: `T001-3` may be anything. */
function shortEnd(first: string, number: string, isId: IsId): string | undefined {
  const [head, from] = endOf(first);
  const last = head + number.padStart(from.length, "0");
  return isId(last) || (head.toLowerCase() === "t" && number.length === from.length) ? last : undefined;
}

/** Splits an id before the number at its end. The number is empty if the id ends with a letter. */
function endOf(id: string): readonly [head: string, number: string] {
  let start = id.length;
  while (/\d/.test(id.charAt(start - 1))) start -= 1;
  return [id.slice(0, start), id.slice(start)];
}

/** A dependency in running text. An undefined side is the task that the text is about. */
interface Relation {
  readonly later?: string | undefined;
  readonly needs?: string | undefined;
}

/** Ids in a row: `T001-T003 and T005`. */
interface IdList {
  readonly start: number;
  end: number;
  /** True if the plan has one of them. */
  isKnown: boolean;
  /** True if the last one is a number with a noun behind it, which may be an amount. */
  isAmount: boolean;
}

const WORD = /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{N}_.@-])#?[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*/gu;
const ID = new RegExp(String.raw`^(?:${ANY_ID}|#\d+)(?:-(?:${ANY_ID}|\d+))?$`, "u");

/** Between two tasks: `1.1 → 1.2, 2.1 → 2.2` are two edges. */
const ARROW = /[→⇒]|[-=]>/;

/** How far a word for a dependency may be from an id, in characters. */
const NEAR = 80;

const NEGATED = /(?:n['’]t|(?<!\p{L})(?:not|no longer|never|without|nicht|nie|ne|pas|no|não|non|не))\s+$/iu;

/** What may stand before a word for a dependency in a sentence about it: `must come after T001`, `this task can't start until …`. */
const AUXILIARY =
  /^[\s([{_-]*(?:(?:this|the|task|it|is|are|must|should|can|cannot|can['’]t|will|do|not|be|only|also|start|begin|run|come|blocked)\s+)*$/i;

const END_OF_SENTENCE = /[.;|](?=\s)|\s[·—]\s/;

/** What a text is. In a `description`, `after T001` must begin a sentence; in a line `about` dependencies, a word stands between two lists of tasks. */
export type Place = "line" | "description" | "about";

/** The dependencies in a text, and words that may name one and are not read. */
interface Relations {
  readonly relations: readonly Relation[];
  readonly unread: string | undefined;
}

/** Returns the dependencies in a text about a task, or about the one right before the word. `unread` may be one, or an amount: `needs 1.1 GB`. */
export function relationsIn(text: string, words: Vocabulary, isId: IsId, place: Place = "line"): Relations {
  const edges = text.split(/[,;]/);
  if (edges.length > 1 && edges.every((edge) => ARROW.test(edge))) {
    const all = edges.map((edge) => relationsIn(edge, words, isId, place));
    return { relations: all.flatMap(({ relations }) => relations), unread: all.find(({ unread }) => unread)?.unread };
  }
  const section = place === "about";
  const plain = text.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1").replace(/[*`]/g, "");
  const lists = idLists(plain, words, isId);
  const relations: Relation[] = [];
  const unsure: string[] = [];
  let isDenied = false;
  for (const [index, list] of lists.entries()) {
    const last = lists[index - 1];
    const begin = last?.end ?? 0;
    const between =
      plain
        .slice(Math.max(begin, list.start - NEAR), list.start)
        .split(END_OF_SENTENCE)
        .at(-1) ?? "";
    const after = plain.slice(list.end, list.end + NEAR);
    const beside = words.relationBefore.exec(between);
    const isBehind = words.relationBehind.test(after);
    const kind = isBehind ? "needs" : words.relationIn(section ? between : (beside?.[0] ?? ""));
    if (kind === undefined || (!section && !list.isKnown && (place !== "line" || /[^\s.)\]}_]/.test(after)))) continue;
    const own = plain.slice(list.start, list.end);
    const lead = between.slice(0, beside?.index);
    const isWeak = place === "description" && (isBehind || beside?.[1] !== undefined);
    isDenied ||= NEGATED.test(lead);
    if (NEGATED.test(lead) || (isWeak && !AUXILIARY.test(lead))) continue;
    if (list.isAmount) {
      unsure.push(`${beside?.[0] ?? ""}${own}${firstWord(after)}`);
      continue;
    }
    const isBetween = begin + between.length === list.start;
    const isAbout = last !== undefined && (section || (isBetween && AUXILIARY.test(lead)));
    const other = isAbout ? plain.slice(last.start, last.end) : undefined;
    if (!section || isAbout)
      relations.push(kind === "needs" ? { later: other, needs: own } : { later: own, needs: other });
  }
  const isDone = !section || relations.length > 0 || isDenied;
  const isUnread = !isDone && lists.some(({ isKnown }) => isKnown) && words.relationIn(plain) !== undefined;
  return { relations, unread: unsure[0] ?? (isUnread ? text : undefined) };
}

function idLists(text: string, words: Vocabulary, isId: IsId): IdList[] {
  const lists: IdList[] = [];
  const phases = [...text.matchAll(words.phaseList)].map(({ 0: { length }, index: start }) => ({
    ...{ start, end: start + length, isKnown: false, isAmount: false },
  }));
  const rest = text.replace(words.phaseList, ({ length }) => " ".repeat(length));
  const ids = [...rest.matchAll(WORD)].flatMap(({ 0: word, index: start }) => {
    const end = start + word.length;
    const isKnown = isId(word) || isId(word.replace("#", ""));
    const isAmount = /^[\d.]+$/.test(word) && !AFTER_NUMBER.test(text.slice(end, end + NEAR));
    const isRead = (isKnown || (ID.test(word) && durationIn(word) === undefined)) && !(isAmount && /^\d+$/.test(word));
    return isRead ? [{ start, end, isKnown, isAmount }] : [];
  });
  for (const list of [...phases, ...ids].sort((one, other) => one.start - other.start)) {
    const last = lists.at(-1);
    if (last !== undefined && words.joins.test(text.slice(last.end, list.start))) {
      Object.assign(last, { end: list.end, isKnown: last.isKnown || list.isKnown, isAmount: list.isAmount });
    } else {
      lists.push(list);
    }
  }
  return lists;
}

/** Returns the ids that texts name beside words for a dependency. */
export function idsNamed(texts: readonly { readonly text: string }[], words: Vocabulary, isId: IsId): string[] {
  const relations = texts.flatMap(({ text }) => relationsIn(text, words, isId).relations);
  const named = relations.flatMap(({ later = "", needs = "" }) => `${later} ${needs}`.match(WORD) ?? []);
  return named.filter(isId);
}

const wavesSchema = z.object({
  waves: z.array(z.object({ tasks: z.array(z.pipe(z.union([z.string(), z.number()]), z.transform(String))) })),
});

/** Reads the graphs of waves in the code of a source: what each task depends on. */
export function readWaves(source: SourceText, regions: readonly Region[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { start, end } of regions) {
    if (!/^[ \t]*(?:`{3,}|~{3,})[ \t]*json\b/i.test(source.text(start))) continue;
    const text = source.lines.slice(start + 1, end - 1).map((line) => line.text);
    let before: readonly string[] = [];
    for (const { tasks } of wavesIn(text.join("\n"))) {
      for (const id of tasks) found.set(id, before);
      before = tasks;
    }
  }
  return found;
}

/** Returns the waves of a text in JSON; none if it is not in JSON, or has no waves. */
function wavesIn(json: string) {
  try {
    return wavesSchema.parse(JSON.parse(json)).waves;
  } catch {
    return [];
  }
}
