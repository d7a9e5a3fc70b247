/**
 * Which lines of a long output are kept and shown: those that tell what failed, with what was expected, and the last ones, where
 * most programs have their summary. By the words of test runners and compilers.
 */

/** Stands for lines that are left out. */
const LEFT_OUT = "…";

/** Begins with, or has, what runners and compilers write before a failure. */
const FAILURE =
  /^\s*(?:FAIL(?:ED|URE|URES)?\b|not ok\b|--- FAIL|[✗✖✕×●]|E {2,}\S|\d+\) \S|Traceback\b|Failed asserting|ERROR\b|error\b)|\bFAILED\b|\[FAIL\]|<<< (?:FAILURE|ERROR)|\bpanicked at\b|\b\w*(?:Error|Exception|Failure)\b(?: \[\w+\])?(?::|\s*$| at )|\berror(?:\[\w+\])?(?:: | TS\d)|\s{2,}error\s{2,}/;

/** What was compared. */
const COMPARED =
  /^\s*(?:[│|]\s*)?(?:(?:[-+E>→] |\[ERROR\] )?\s*(?:expect(?:ed)?|received|actual|got|want|left|right|but was|assert\w*)\b|[-+](?![-+]{2})\s*\S|E {2,}\S|Diff(?:erence)?:)/i;
/** The heads of two columns that are compared. */
const HEADS = /^\s*[-+]{1,3} (?:Expected|Received|Actual)\s*$/i;

/** How many lines behind a failure may say what was compared. */
const NEAR = 12;
/** The last lines that are kept. */
const LAST = 2;

/**
 * Returns the lines of an output; of more than `most`, at least 4, those that tell what failed, and the last ones. The first failure
 * whose comparison the output has comes with it; other failures as far as there is room.
 */
export function excerpt(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most) return lines;
  const last = lines.flatMap((line, at) => (line.trim() === "" ? [] : [at])).slice(-LAST);
  const room = most - last.length - 1;
  const failures = failuresIn(lines, last[0] ?? lines.length);
  // Nothing tells of a failure: the beginning, and as much as fits of the end.
  if (failures.length === 0) {
    const isAtEnd = last.some((at) => FAILURE.test(lines[at] ?? ""));
    return [...(isAtEnd ? [] : lines.slice(0, 2)), LEFT_OUT, ...lines.slice((isAtEnd ? 1 : 3) - most)];
  }
  const told = failures.find(({ compared }) => compared.length > 0) ?? failures[0];
  const [first] = failures;
  const wanted = [
    first?.at,
    told?.at,
    ...(told?.compared ?? []),
    ...failures.flatMap(({ at, compared }) => [at, ...compared]),
  ];
  const chosen = [...new Set(wanted.filter((at) => at !== undefined))].slice(0, room).sort((one, other) => one - other);
  const isNext = (chosen.at(-1) ?? 0) + 1 === last[0];
  return [...chosen, ...(isNext ? [] : [undefined]), ...last].map((at) =>
    at === undefined ? LEFT_OUT : (lines[at] ?? ""),
  );
}

/** A line that tells of a failure, and the lines near it that say what was compared. */
interface Failure {
  readonly at: number;
  readonly compared: readonly number[];
}

function failuresIn(lines: readonly string[], end: number): readonly Failure[] {
  const found: { at: number; compared: number[] }[] = [];
  for (const [at, line] of lines.slice(0, end).entries()) {
    const open = found.at(-1);
    if (open !== undefined && at - open.at <= NEAR && COMPARED.test(line)) {
      if (!HEADS.test(line)) open.compared.push(at);
    } else if (FAILURE.test(line)) found.push({ at, compared: [] });
  }
  return found;
}
