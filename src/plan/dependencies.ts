/** What a plan says of dependencies, in words, as ids of tasks. */

/** What a text names: tasks by id, phases by key; and what it names that is neither. */
export interface Named {
  readonly tasks: readonly string[];
  readonly phases: readonly string[];
  /** Words that name nothing, where the whole text does. */
  readonly unread?: string;
  /** Ranges of which only the ends are named. */
  readonly tooLong?: readonly string[];
}

const ID = String.raw`\d+(?:\.\d+)+[a-z]?|T\d+(?:\.\d+)*[a-z]?`;
const RANGE = String.raw`\s*(?:[-–—]|to|through)\s*`;
/** `Phase 1`, `Phases 1-3`, `Phases 1, 2 and 3`. */
const PHASES = new RegExp(
  String.raw`\bphases?\s+(\d+[a-z]?(?:(?:${RANGE}|\s*(?:,|&|and|,\s*and)\s*)(?!\d+\.\d)\d+[a-z]?)*)`,
  "gi",
);
/** `1.1-1.4`, `T001-T003`, `1.1`. */
const IDS = new RegExp(String.raw`(?<![\w.])(${ID})(?:${RANGE}(${ID}))?(?![\w])`, "gi");
/** `Task 1 and 2`, where tasks have numbers without a dot. */
const NUMBERS = new RegExp(
  String.raw`\b(?:sub)?tasks?\s+#?(\d+(?:(?:${RANGE}|\s*(?:,|&|and|,\s*and)\s*)#?\d+)*)(?![.\d])`,
  "gi",
);
const BETWEEN = /[-–—]|to|through/i;
const NOTHING = /^(?:none|no(?:ne)? |n\/?a\b|nothing|nil|-+$|—$|independent|can start)/i;
/** So many ids at most come out of one range: `1.1-1.999999` is a slip. */
export const RANGE_MAX = 100;

/** Reads what is said of dependencies. Remarks in brackets name nothing. */
export function readDependencies(text: string): Named {
  const said = text.replace(/[*_`]/g, "").trim();
  if (said === "" || NOTHING.test(said)) return { tasks: [], phases: [] };
  let rest = said.replace(/\([^()]*\)/g, " ");
  const phases: string[] = [];
  const tooLong: string[] = [];
  rest = rest.replace(PHASES, (_, list: string) => {
    phases.push(...numbersIn(list, tooLong));
    return " ";
  });
  const tasks: string[] = [];
  rest = rest.replace(IDS, (_, first: string, last?: string) => {
    tasks.push(...(last === undefined ? [first] : idRange(first, last, tooLong)));
    return " ";
  });
  rest.replace(NUMBERS, (_, list: string) => {
    tasks.push(...numbersIn(list, tooLong));
    return " ";
  });
  if (tasks.length + phases.length === 0) {
    const bareNumbers = /^#?\d+(?:\s*(?:,|&|and)\s*#?\d+)*$/.test(rest.trim());
    if (!bareNumbers) return { tasks, phases, unread: said };
    tasks.push(...numbersIn(rest, tooLong));
  }
  return { tasks, phases, ...(tooLong.length === 0 ? {} : { tooLong }) };
}

/** `1-3, 5` as 1, 2, 3, 5. */
function numbersIn(list: string, tooLong: string[]): string[] {
  return list.split(/,|&|\band\b/i).flatMap((part) => {
    const [first, last] = part.split(BETWEEN).map((text) => text.replace(/[#\s]/g, ""));
    if (first === undefined || first === "") return [];
    return last === undefined || last === "" ? [first] : countUp(["", first], ["", last], tooLong);
  });
}

/** `1.2-1.4` as 1.2, 1.3, 1.4; two ends that don't belong together are two ids. */
function idRange(first: string, last: string, tooLong: string[]): string[] {
  const [head, from] = endOf(first);
  const [tail, to] = endOf(last);
  if (head.toLowerCase() !== tail.toLowerCase() || from === "") return [first, last];
  return countUp([head, from], [tail, to], tooLong);
}

/** What stands before the number that an id ends with, and that number; no number, where it ends with a letter. */
function endOf(id: string): Ends {
  let start = id.length;
  while (/^\d$/.test(id.charAt(start - 1))) start -= 1;
  return [id.slice(0, start), id.slice(start)];
}

/** All numbers of a range, behind what stands before its first one; its ends alone, where it counts down or is too long. */
function countUp([head, first]: Ends, [tail, last]: Ends, tooLong: string[]): string[] {
  const steps = Number(last) - Number(first);
  if (steps >= RANGE_MAX) tooLong.push(`${head}${first}-${tail}${last}`);
  if (!(steps >= 0 && steps < RANGE_MAX)) return [`${head}${first}`, `${head}${last}`];
  const width = head === "" || head.endsWith(".") ? 1 : first.length;
  return Array.from({ length: steps + 1 }, (_, step) => `${head}${String(Number(first) + step).padStart(width, "0")}`);
}

/** One end of a range: what stands before its last number, and that number. */
type Ends = readonly [head: string, number: string];
