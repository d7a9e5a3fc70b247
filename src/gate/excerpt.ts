/**
 * Which lines of a long output are kept and shown: those that tell what failed, with what was expected, and the last ones, where
 * most programs have their summary. By the words of test runners and compilers.
 */

/** Stands for lines that are left out. */
const LEFT_OUT = "…";

/** Begins with, or has, what runners and compilers write before a failure. Lines are matched without the blanks around them. */
const FAILURE =
  /^(?:FAIL(?:ED|URE|URES)?\b|not ok\b|--- FAIL|[✗✖✕×●]|E {2,}\S|\d+\) \S|Traceback\b|Failed asserting|ERROR\b|error\b)|\bFAILED\b|\[FAIL\]|<<< (?:FAILURE|ERROR)|\bpanicked at\b|(?:Error|Exception|Failure)(?: \[\w+\])?(?::|$| at )|\berror(?:\[\w+\])?(?:: | TS\d)| {2}error {2}/;

/** What was compared. */
const COMPARED =
  /^(?:[│|] *)?(?:(?:[-+>→E]|\[ERROR\]) *)?(?:expect(?:ed)?|received|actual|got|want|left|right|but was|assert\w*)\b|^[-+](?![-+]{2}) *\S|^E {2,}\S|^Diff(?:erence)?:/i;
/** The heads of two columns that are compared. */
const HEADS = /^[-+]{1,3} (?:Expected|Received|Actual)$/i;

/** How many lines behind a failure may say what was compared. */
const NEAR = 12;
/** The last lines that are kept. */
const LAST = 2;

interface Line {
  readonly at: number;
  readonly text: string;
}

/**
 * Returns the lines of an output; of more than `most`, at least 4, those that tell what failed, and the last ones. The first failure
 * whose comparison the output has comes with it; other failures as far as there is room.
 */
export function excerpt(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= most) return lines;
  const end = lines.length - LAST;
  const last = lines.slice(end);
  const failures = failuresIn(lines.slice(0, end));
  // Nothing tells of a failure: the beginning, and as much as fits of the end.
  if (failures.length === 0) {
    const isAtEnd = last.some((line) => FAILURE.test(line.trim()));
    return [...(isAtEnd ? [] : lines.slice(0, 2)), LEFT_OUT, ...lines.slice((isAtEnd ? 1 : 3) - most)];
  }
  const first = failures.slice(0, 1).flatMap((failure) => failure.slice(0, 1));
  const told = failures.find((failure) => failure.length > 1) ?? [];
  const wanted = new Set([...first, ...told, ...failures.flat()]);
  const chosen = [...wanted].slice(0, most - LAST - 1).sort((one, other) => one.at - other.at);
  const isNext = chosen.at(-1)?.at === end - 1;
  return [...chosen.map(({ text }) => text), ...(isNext ? [] : [LEFT_OUT]), ...last];
}

/** Returns the failures in an output: of each the line that tells of it, and those near it that say what was compared. */
function failuresIn(lines: readonly string[]): readonly (readonly Line[])[] {
  const found: Line[][] = [];
  let open: Line[] = [];
  let begun = Number.NEGATIVE_INFINITY;
  for (const [at, text] of lines.entries()) {
    const line = text.trim();
    if (at - begun <= NEAR && COMPARED.test(line)) {
      if (!HEADS.test(line)) open.push({ at, text });
    } else if (FAILURE.test(line)) {
      [open, begun] = [[{ at, text }], at];
      found.push(open);
    }
  }
  return found;
}
