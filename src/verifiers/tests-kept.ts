/**
 * The verifier `tests_kept`: the tests that were there when the phase was entered are still there, are not turned off, and assert
 * as much. It runs nothing: it reads the lines that declare tests, assert something, or turn tests off in the usual runners.
 */
import * as z from "zod";
import type { Sandbox } from "../sandbox/sandbox.js";
import { firstFew, shown } from "../workflow/names.js";
import { defineVerifier, recordedState } from "./define-verifier.js";
import { linesOf } from "./lines.js";
import { boundedReader, findNamed, namedFilesParams, pathsIn, plainPath, sinceWords } from "./named-files.js";
import { pathsParam } from "./params.js";
import { sha256, shownPath } from "./subject.js";

const params = z.strictObject({
  paths: namedFilesParams.paths.describe(
    "Files, folders and globs with tests. Default: those that runners look for by their names.",
  ),
  except: pathsParam.describe("Files, folders and globs that are not read. Default: none."),
  since: namedFilesParams.since,
});

type Params = z.infer<typeof params>;

/** Files with tests, as runners look for them. */
const TEST_FILES = [
  ...["test/**", "tests/**", "__tests__/**", "spec/**", "*.test.*", "*.spec.*", "*_test.*", "*_spec.*"],
  ...["test_*.py", "*Test.*", "*Tests.*", "*.rs"],
].map((name) => `**/${name}`);

/** A test: its name, the number of lines that assert something, and what identifies it under another name. */
const testSchema = z.tuple([z.string(), z.number(), z.string()]);

type Test = z.infer<typeof testSchema>;

const testsSchema = z.strictObject({
  tests: z.array(testSchema),
  /** The number of lines that turn tests off, by their files. */
  off: z.array(z.tuple([z.string(), z.number()])),
});

type Tests = z.infer<typeof testsSchema>;

export const testsKept = defineVerifier({
  about: "The tests that there were are still there, are not turned off, and assert as much.",
  params,
  keepsSnapshot: true,
  fixedPaths: pathsIn,
  snapshot: (given, { project: { sandbox } }) => testsIn(sandbox, given),
  async verify(given, { snapshot, snapshotTakenAt, project: { sandbox }, signal }) {
    const before = recordedState(testsSchema, snapshot, "tests");
    const now = await testsIn(sandbox, given, signal);
    const since = sinceWords(given, snapshotTakenAt);
    const wrong = lossesBetween(before, now);
    if (wrong.length > 0)
      return { ok: false, message: `${wrong.join("; ")} (${since}); restore what tests there were` };
    const count = `${before.tests.length} tests are still there, and ${now.tests.length} now`;
    return { ok: true, message: `all ${count} (${since})` };
  },
});

/** Returns the tests in files. Throws `TOO_LARGE` and `PATH_REFUSED`. */
async function testsIn(
  sandbox: Sandbox,
  { paths = TEST_FILES, except = [] }: Params,
  signal?: AbortSignal,
): Promise<Tests> {
  const read = boundedReader(sandbox, signal);
  const tests: Test[] = [];
  const off: [string, number][] = [];
  for (const { path, kind } of await findNamed(sandbox, paths.map(plainPath), except.map(plainPath))) {
    if (kind !== "file") continue;
    const lines = withoutComments(linesOf(new TextDecoder().decode(await read(path))));
    tests.push(...testsOf(lines));
    const marks = lines.filter((line) => OFF.test(line)).length;
    if (marks > 0) off.push([path, marks]);
  }
  return { tests, off };
}

/** A line that is a comment as a whole, so that tests in it don't run: `#[test]` is not a comment. */
const COMMENT = /^\s*(?:\/\/|#(?!\[)|--\s)/;

/** Returns the lines that are neither in a comment nor in a text of several lines. */
function withoutComments(lines: readonly string[]): string[] {
  let open: string | undefined;
  return lines.filter((line) => {
    const wasOpen = open !== undefined;
    if (!wasOpen && COMMENT.test(line)) return false;
    open = openAfter(line, open);
    return !wasOpen && !/^\s*\/\*/.test(line);
  });
}

/** The beginnings of comments and texts. */
const BEGINS = /\/[/*]|"""|'''|["'`]|^=begin\b/g;
/** The ends of those that may have several lines. */
const ENDS = new Map([
  ["/*", "*/"],
  ['"""', '"""'],
  ["'''", "'''"],
  ["=begin", "=end"],
]);

/** Returns the end of the comment or the text that a line leaves open; undefined if it leaves none open. */
function openAfter(line: string, openBefore: string | undefined): string | undefined {
  let open = openBefore;
  // A quotation mark without its partner, such as an apostrophe.
  const alone = new Set<string>();
  for (let at = 0; ; ) {
    if (open !== undefined) {
      const end = line.indexOf(open, at);
      if (end === -1) return open;
      at = end + open.length;
    }
    BEGINS.lastIndex = at;
    const [mark] = BEGINS.exec(line) ?? [];
    if (mark === undefined || mark === "//") return undefined;
    at = BEGINS.lastIndex;
    open = ENDS.get(mark);
    if (open !== undefined || alone.has(mark)) continue;
    const end = closedAt(line, mark, at);
    if (end === -1) alone.add(mark);
    else at = end;
  }
}

function closedAt(line: string, quote: string, from: number): number {
  for (let at = from; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === quote) return at + 1;
  }
  return -1;
}

/** Lines that declare a test with its name: as a text, or as the name of a function. */
const DECLARES = [
  /(?:^|[^.\w])(?:it|test|specify|scenario|@test)(?:\.\w+)*[ (]\s*["'`]([^"'`]+)/,
  /^\s*(?:\]|(?:it|test)\.each\b.*)\)\(["'`]([^"'`]+)/,
  /\bt\.(?:test|Run)\(\s*["'`]([^"'`]+)/,
  /^\s*(?:async )?def (test\w*)/,
  /^\s*func (?:\([^)]*\) )?((?:[Tt]est|Fuzz|Example)\w*)/,
  /\bpublic function (test\w*)/,
];

/** Lines before the function of a test. */
const ATTRIBUTE =
  /#\[(?:\w+::)*test\b|^\s*@(?:Test|ParameterizedTest|RepeatedTest)\b|^\s*\[(?:Fact|Theory|Test|TestMethod|TestCase)\b/;
const FUNCTION = /(?<!\w)(\w+|`[^`]+`) ?\(/;

const ASSERTS =
  /\b(?:expect|assert|should|verify|raises|throws)|\b(?:require|t)\.(?:error|fatal|fail|is|ok|equal|deep|not|true|false|same|like|len|nil)/i;

/** Marks that turn tests off, in the words of the usual runners. */
const OFF = new RegExp(
  [
    /\b(?:it|test|describe|context|suite|specify)(?:\.\w{1,20}){0,3}\.(?:skip|only|todo|fails|failing)/,
    /(?:^|[^.\w])[xf](?:it|test|describe|context|specify)\(/,
    /\b(?:skip|todo): ?(?:true|["'`]|[1-9])|, :(?:skip|pending)\b|\b[Ss]kip ?= ?"|\.disabled\(/,
    /@(?:\w+\.)*(?:skip|xfail|expectedFailure|Disabled|Ignore)|\bmark\.(?:skip|xfail)|__test__ ?= ?False|#\[ignore|\bcfg_attr\(.{0,99}\bignore\b|\[(?:Ignore|Explicit)\b/,
    /\b(?:pytest|self|this|ctx|context|t|tb|b)\.(?:skip|Skip|xfail)|\b(?:XCTSkip|SkipTest|markTestSkipped|markTestIncomplete|Assert\.(?:Ignore|Inconclusive))\b/,
    /^\s*(?:skip|pending)(?:\s*$|\(|\s["'])/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

function testsOf(lines: readonly string[]): Test[] {
  const found: { name: string; lines: string[] }[] = [];
  let isNext = false;
  for (const line of lines) {
    const rest = line.replace(ATTRIBUTE, "");
    isNext ||= rest !== line;
    const patterns: readonly RegExp[] = isNext ? [FUNCTION] : DECLARES;
    // Another attribute of the same test has no name.
    const isMore: boolean = rest === line && /^\s*[#@[]/.test(line) && isNext;
    const name: string | undefined = isMore
      ? undefined
      : patterns.flatMap((pattern) => pattern.exec(rest)?.[1] ?? [])[0];
    isNext &&= name === undefined;
    if (name === undefined) found.at(-1)?.lines.push(line.trim());
    else found.push({ name: name.slice(0, NAME_MAX), lines: [line.replace(name, "").trim()] });
  }
  return found.map(({ name, lines: own }) => {
    const digest = sha256(Buffer.from(own.join("\n"))).slice(0, DIGITS);
    return [name, own.filter((line) => ASSERTS.test(line)).length, digest];
  });
}

const NAME_MAX = 100;
const DIGITS = 12;

/** The tests of one name: how many there are, and how many lines assert something in them. */
function byName(tests: readonly Test[]): Map<string, { count: number; asserts: number }> {
  const all = new Map<string, { count: number; asserts: number }>();
  for (const [name, asserts] of tests) {
    const known = all.get(name) ?? { count: 0, asserts: 0 };
    all.set(name, { count: known.count + 1, asserts: known.asserts + asserts });
  }
  return all;
}

/** Returns what was lost of the tests, in words. A test that is the same under another name is still there. */
function lossesBetween(before: Tests, now: Tests): string[] {
  const [were, are] = [byName(before.tests), byName(now.tests)];
  const renamed = new Set(now.tests.flatMap(([name, , digest]) => (were.has(name) ? [] : [digest])));
  const gone: string[] = [];
  const weaker: string[] = [];
  for (const [name, { count, asserts }] of were) {
    const left = are.get(name) ?? { count: 0, asserts: 0 };
    const isRenamed = before.tests.every(([one, , digest]) => one !== name || renamed.has(digest));
    if (left.count < count && !isRenamed) gone.push(shown(name));
    else if (left.asserts < asserts && !isRenamed)
      weaker.push(`${shown(name)} (${left.asserts} lines with an assertion, ${asserts} before)`);
  }
  const offBefore = new Map(before.off);
  const files = now.off.flatMap(([path, marks]) => (marks > (offBefore.get(path) ?? 0) ? [shownPath(path)] : []));
  const off = marksIn(now) > marksIn(before) ? files : [];
  return [
    ...(gone.length === 0 ? [] : [`tests are gone: ${firstFew(gone, 5)}`]),
    ...(weaker.length === 0 ? [] : [`tests assert less: ${firstFew(weaker, 5)}`]),
    ...(off.length === 0 ? [] : [`tests are turned off in ${firstFew(off, 5)}`]),
  ];
}

function marksIn({ off }: Tests): number {
  return off.reduce((sum, [, marks]) => sum + marks, 0);
}
