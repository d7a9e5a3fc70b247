/** Reads the dependencies of tasks as they are written: in words, `Tasks 1.1-1.4, Phase 2`, and in Kiro's graphs of waves. */
import * as z from "zod/mini";
import { ANY_ID } from "./ids.js";
import { AFTER_NUMBER } from "./relations.js";
import type { Region, SourceText } from "./source.js";
import { durationIn } from "./task-line.js";
import { JOIN, JOIN_WORDS, keyOf, type Vocabulary } from "./words.js";

/** The tasks and phases in a text about dependencies. */
export interface Named {
  /** Ids of tasks. */
  readonly tasks: readonly string[];
  /** Numbers or letters of phases. */
  readonly phases: readonly string[];
  /** The text, if it names neither in a known form. */
  readonly unread?: string;
  /** Words with digits that are in no known form: ids of tasks, or something else. */
  readonly unsure?: readonly string[];
  /** Ranges that are too long, of which only the two ends count. */
  readonly tooLong?: readonly string[];
}

/** Maximum number of ids in a range: `1.1-1.999999` is a mistake. */
export const RANGE_MAX = 100;

const NOTHING =
  /^(?:no |n\/?a(?![\p{L}\p{N}])|-+$|—$|can start(?!.*\b(?:after|(?<!at )once|when|upon|following|as soon as|parallel with)\b))/iu;

const RANGE = String.raw`\s*(?:[-–—~～]|\.{2,3}|…|[Tt][Oo]|[Tt]hrough|bis)\s*`;

/** `Phase A`, `Phases A-C`, `Phases A, B and C`: in capitals, since a small letter may be a word. */
const LETTERED = /\b[Pp]hases?\s+([A-Z](?:\s*(?:[-–—]|,|&|and|to|through|,\s*and)\s*[A-Z](?!\w))*)(?!\w)/g;

/** `1.1-1.4`, `T001-T003`, `T001-003`, `1.1`. */
const IDS = new RegExp(
  String.raw`(?<![\p{Script=Latin}\p{N}_.]|[A-Za-z]-)(${ANY_ID})(?:${RANGE}(${ANY_ID})|[-–—~](\d+)(?!\.\d))?(?![\p{Script=Latin}\p{N}_])`,
  "gu",
);

/** `1, 2 and 3-5`, where nothing else says what the numbers are. */
const BARE = new RegExp(String.raw`^#?\d+(?:${JOIN}#?\d+)*$`, "i");

/** What is before a number that is an id: nothing, another one, or a word for a task. Other nouns count or name something else. */
const BEFORE_NUMBER = new RegExp(
  String.raw`(?:^|[^\s\p{L}\p{N}@/]|(?:${JOIN_WORDS}|on|after|once|until|steps?|items?|tasks?))\s*$`,
  "iu",
);

/** A word with a digit in it. */
const WITH_DIGIT = /[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?/gu;

/** A word with hyphens, which is an id if the plan has it: `US1-T03`. */
const HYPHENED = /(?<![\p{L}\p{N}.-])[\p{L}\p{N}.]+(?:-[\p{L}\p{N}.]+)+(?![\p{L}\p{N}])/gu;

const TWO_CODES = /^([A-Z]+)\d+-([A-Z]+)\d+$/;

/** Reads a text about dependencies. Remarks in parentheses are ignored. `isId` knows the ids of the plan. */
export function readDependencies(text: string, words: Vocabulary, isId: (word: string) => boolean): Named {
  const said = text.replace(/[*_`]/g, "").trim();
  if (said === "" || NOTHING.test(said) || words.saysNone(said)) return { tasks: [], phases: [] };
  let rest = ownField(said).replace(/\([^()]*\)|（[^（）]*）/g, " ");
  const phases: string[] = [];
  const tooLong: string[] = [];
  rest = rest.replace(words.phaseList, (_, after?: string, ordinal?: string) => {
    const list = (after ?? ordinal ?? "").replace(/[a-z]{3,6}/gi, keyOf);
    phases.push(...numbersIn(list, tooLong).map(keyOf));
    return " ";
  });
  rest = rest.replace(LETTERED, (_, list: string) => {
    phases.push(...lettersIn(list));
    return " ";
  });
  const tasks: string[] = [];
  rest = rest.replace(HYPHENED, (word) => {
    // Of two codes with different letters, one is no end of a range: `US1-T03`.
    const [, head, tail] = TWO_CODES.exec(word) ?? [];
    if (!isId(word) && head === tail) return word;
    tasks.push(word);
    return " ";
  });
  rest = rest.replace(IDS, (_, first: string, full?: string, number?: string) => {
    const last = full ?? (number === undefined ? undefined : shortEnd(first, number, isId));
    tasks.push(...(last === undefined ? [first] : idRange(first, last, tooLong)));
    return " ";
  });
  rest = rest.replace(words.taskList, (_, list: string) => {
    tasks.push(...numbersIn(list, tooLong));
    return " ";
  });
  const long = tooLong.length === 0 ? {} : { tooLong };
  if (tasks.length + phases.length === 0 && BARE.test(rest.trim())) {
    const numbers = numbersIn(rest, tooLong);
    // A range of numbers may be a date.
    if (!BETWEEN.test(rest) || numbers.some(isId)) return { tasks: numbers, phases, ...long };
  }
  const unsure = [...rest.matchAll(WITH_DIGIT)].flatMap(({ 0: word, index }) => {
    if (!/\d/.test(word)) return [];
    const [before, after] = [rest.slice(Math.max(0, index - 20), index), rest.slice(index + word.length).slice(0, 20)];
    if (!/^\d+$/.test(word) || (BEFORE_NUMBER.test(before) && AFTER_NUMBER.test(after))) return [word];
    return [`${/\S{0,20}\s{0,2}$/.exec(before)?.[0]}${word}${/^\s*\S*/.exec(after)?.[0]}`.trim()];
  });
  const unread = tasks.length + phases.length === 0 ? { unread: said } : {};
  return { tasks, phases, ...unread, ...long, ...(unsure.length === 0 ? {} : { unsure: [...new Set(unsure)] }) };
}

/** The dependencies of tasks, by their ids, as graphs of waves give them. */
export type Waves = ReadonlyMap<string, readonly string[]>;

/** Reads all graphs of waves in a source. */
export function readWaves(source: SourceText, regions: readonly Region[]): Waves {
  const found = new Map<string, readonly string[]>();
  for (const region of regions) {
    if (!/^[ \t]*(?:`{3,}|~{3,})[ \t]*json\b/i.test(source.text(region.start))) continue;
    let before: readonly string[] = [];
    for (const { tasks } of wavesOf(source, region)) {
      for (const id of tasks) found.set(id, before);
      before = tasks;
    }
  }
  return found;
}

/** Returns a text without the fields behind it: `1.1 | Est: 3h`. A field that begins with an id goes on. */
function ownField(text: string): string {
  const [first = "", ...others] = text.split(/\s[|·]\s/);
  return [first, ...others.filter((field) => ID_FIRST.test(field) && durationIn(field) === undefined)].join(", ");
}

const ID_FIRST = new RegExp(`^\\s*(?:${ANY_ID})`, "u");

const BETWEEN = /[-–—~～]|\.{2,3}|…|to|through|bis/i;

const PARTS = /[,&、，和]|(?<!\p{L})(?:and|und|et|y|e|и)(?!\p{L})/iu;

/** Returns the numbers of a list: `1-3, 5` is 1, 2, 3, 5. */
function numbersIn(list: string, tooLong: string[]): string[] {
  return list.split(PARTS).flatMap((part) => {
    const [first, last] = part.split(BETWEEN).map((text) => text.replace(/[#\s]/g, ""));
    if (first === undefined || first === "") return [];
    return last === undefined ? [first] : countUp(["", first], ["", last], tooLong);
  });
}

/** One end of a range: the text before its last number, and that number. */
type Ends = readonly [head: string, number: string];

/** Returns all ids of a range; only its ends if it counts down or is too long. */
function countUp([head, first]: Ends, [tail, last]: Ends, tooLong: string[]): string[] {
  const steps = Number(last) - Number(first);
  if (steps >= RANGE_MAX) tooLong.push(`${head}${first}-${tail}${last}`);
  if (!(steps >= 0 && steps < RANGE_MAX)) return [`${head}${first}`, `${head}${last}`];
  return Array.from(
    { length: steps + 1 },
    (_, step) => `${head}${String(Number(first) + step).padStart(first.length, "0")}`,
  );
}

/** Returns the ids of a range: `1.2-1.4` is 1.2, 1.3, 1.4. Ends of different form are two ids. */
function idRange(first: string, last: string, tooLong: string[]): string[] {
  const [head, from] = endOf(first);
  const [tail, to] = endOf(last);
  if (head.toLowerCase() !== tail.toLowerCase() || from === "") return [first, last];
  return countUp([head, from], [tail, to], tooLong);
}

/** Returns the end of `T001-003`, T003; undefined if the plan has no such task: `T001-3` may be anything. */
function shortEnd(first: string, number: string, isId: (word: string) => boolean): string | undefined {
  const [head, from] = endOf(first);
  const last = head + number.padStart(from.length, "0");
  return isId(last) || (head.toLowerCase() === "t" && number.length === from.length) ? last : undefined;
}

/** Returns the letters of a list: `A-C, E` is A, B, C, E. */
function lettersIn(list: string): string[] {
  return list.split(/,|&|and/).flatMap((part) => {
    const [first, last = first] = part.match(/[A-Z]/g) ?? [];
    if (first === undefined || last === undefined) return [];
    const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)];
    if (to < from) return [first, last];
    return Array.from({ length: to - from + 1 }, (_, step) => String.fromCharCode(from + step));
  });
}

/** Splits an id before the number at its end. The number is empty if the id ends with a letter. */
function endOf(id: string): Ends {
  let start = id.length;
  while (/^\d$/.test(id.charAt(start - 1))) start -= 1;
  return [id.slice(0, start), id.slice(start)];
}

const wavesSchema = z.object({
  waves: z.array(z.object({ tasks: z.array(z.pipe(z.union([z.string(), z.number()]), z.transform(String))) })),
});

function wavesOf(source: SourceText, { start, end }: Region) {
  const lines = Array.from({ length: end - start - 2 }, (_, index) => source.text(start + 1 + index));
  const text = lines.join("\n");
  if (!text.includes('"waves"')) return [];
  try {
    return wavesSchema.safeParse(JSON.parse(text)).data?.waves ?? [];
  } catch {
    return [];
  }
}
