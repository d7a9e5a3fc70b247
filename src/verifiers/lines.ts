/**
 * Lines of files: counts those that match a pattern, in linear time, and defines the parameters that say how often something
 * must match. The verifier `line_exists` checks that the places that the evidence names are lines of files, and have the
 * quoted text. A quotation can only be given by somebody who has read the line.
 */
import { setImmediate } from "node:timers/promises";
import { RE2JS } from "@bufbuild/re2";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { requireSmallPattern } from "../rules/patterns.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { isInvisible, visibleText } from "../workflow/field-types.js";
import type { JsonValue } from "../workflow/json.js";
import { firstFew, parseRelativePath, shown } from "../workflow/names.js";
import { defineVerifier, type Project } from "./define-verifier.js";
import { isNamedBy, pathsIn, plainPath, productAt } from "./named-files.js";
import { countParam, pathsParam, textParam, WrongParam } from "./params.js";
import { readSubject, shownPath } from "./subject.js";

/** Parameters for the number of matches. */
export const howOftenParams = {
  min: countParam.optional().describe("The least number of matches. Default: 1, or 0 if `max` is given."),
  max: countParam.optional().describe("The largest number of matches. Default: any number."),
  count: countParam.optional().describe("The exact number of matches, in place of `min` and `max`."),
};

/** The expected number of matches. Default: at least 1. */
type HowOften = z.infer<z.ZodObject<typeof howOftenParams>>;

/** Throws `WrongParam` if the numbers contradict each other. */
export function checkHowOften({ min, max, count }: HowOften): void {
  if (count !== undefined && (min !== undefined || max !== undefined)) {
    throw new WrongParam("count", "it is the exact number: leave out min and max");
  }
  if (min !== undefined && max !== undefined && min > max) throw new WrongParam("max", "it is less than min");
}

/** Checks a number of matches, and returns the expected number in words. */
export function isOftenEnough(found: number, { min, max, count }: HowOften): { ok: boolean; expected: string } {
  if (count !== undefined) return { ok: found === count, expected: `exactly ${count}` };
  const least = min ?? (max === undefined ? 1 : 0);
  const ok = found >= least && (max === undefined || found <= max);
  if (max === undefined) return { ok, expected: `at least ${least}` };
  return { ok, expected: least === 0 ? `at most ${max}` : `${least} to ${max}` };
}

/** Parameters of a pattern and its number of matches. */
export const patternParams = {
  pattern: textParam.describe("A pattern in RE2 syntax."),
  flags: z
    .string()
    .regex(/^[ims]{0,3}$/, "the flags are i, and with scope: file also m and s")
    .optional()
    .describe(
      "`i` ignores case; with `scope: file` also `m` (`^` and `$` at each line) and `s` (`.` matches line ends). Default: none.",
    ),
  scope: z
    .enum(["line", "file"])
    .optional()
    .describe(
      "`line` counts the lines that match; `file` matches the whole text, once or not at all. Default: `line`.",
    ),
  ...howOftenParams,
};

/** A pattern and the expected number of matches. */
type PatternParams = z.infer<z.ZodObject<typeof patternParams>>;

/** Throws `WrongParam` for a pattern that is invalid, or that can't be matched in linear time. */
export function checkPattern(params: PatternParams): void {
  compile(params);
  checkHowOften(params);
  if (params.scope !== "file" && /[ms]/.test(params.flags ?? "")) {
    throw new WrongParam("flags", "m and s need scope: file, because lines are matched one by one");
  }
}

/**
 * Maximum number of steps at once. The engine's time is linear in text × pattern, about 60 ns a step if its cache
 * doesn't help, so more steps would block the host for more than a second.
 */
const STEPS_MAX = 2 ** 24;
/** Time for matching lines before other work gets a turn, in milliseconds. */
const TURN_MS = 20;

/** Returns the number of lines that match; with `scope: file`, 1 if the text matches and 0 if not. */
export async function countMatches(params: PatternParams, text: string, signal: AbortSignal): Promise<number> {
  const compiled = compile(params);
  const longest = Math.floor(STEPS_MAX / compiled.re2().prog.numInst());
  const parts = params.scope === "file" ? [text] : linesOf(text);
  let count = 0;
  let turn = performance.now();
  for (const part of parts) {
    if (part.length > longest) throw tooLong(part.length, longest);
    if (compiled.test(part)) count += 1;
    if (performance.now() - turn < TURN_MS) continue;
    await setImmediate();
    signal.throwIfAborted();
    turn = performance.now();
  }
  return count;
}

function compile({ pattern, flags = "" }: PatternParams): RE2JS {
  const bits =
    (flags.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes("m") ? RE2JS.MULTILINE : 0) |
    (flags.includes("s") ? RE2JS.DOTALL : 0);
  try {
    requireSmallPattern(pattern);
    return RE2JS.compile(pattern, bits);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it can't be read";
    throw new WrongParam("pattern", `${reason}; use RE2 syntax, which has no lookaround and no backreferences`);
  }
}

/** Returns the lines of a file. Throws the errors of the sandbox. */
export async function linesIn({ sandbox, limits }: Project, path: string): Promise<string[]> {
  return linesOf((await readSubject(sandbox, { path }, undefined, limits.maxFileBytes)).text);
}

/** Everything that some program shows as a line end, so that none hides a line from a pattern that begins with `^`. */
const LINE_END = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/** Returns the lines of a text. A line end at its end begins no other line. */
export function linesOf(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function tooLong(length: number, limit: number): PhasegateError<"TOO_LARGE"> {
  const message = `${length} characters in one piece are too many for this pattern`;
  return new PhasegateError("TOO_LARGE", message, {
    remedy: `Break long lines, or use a smaller pattern; this one matches at most ${limit} characters at once.`,
    details: { bytes: length, limit },
  });
}

const params = z.strictObject({
  quote: z.boolean().optional().describe("True if each place must quote its line. Default: false."),
  paths: pathsParam.describe("Files, folders and globs: a place must be in one of them. Default: any file."),
  except: pathsParam.describe("Files, folders and globs in which no place may be. Default: none."),
  min: countParam.optional().describe("Minimum number of places in a list. Default: 1."),
});

/** Maximum number of places in one field. */
const PLACES_MAX = 200;

/** A line of a file, counted from 1. Other keys, such as what was found there, are the author's. */
const placeSchema = z.object({ file: textParam, line: z.int().min(1), quote: textParam.optional() });

type Place = z.infer<typeof placeSchema>;

/** Checks whether lines of files exist, and have the quoted text. */
export const lineExists = defineVerifier({
  about: "Places that the evidence names, as file:line, exist.",
  params,
  fixedPaths: pathsIn,
  async verify(given, { value, project, signal }) {
    const { sandbox } = project;
    const places = placesIn(value, given.min ?? 1);
    const texts = new Map<string, readonly string[]>();
    const wrong: string[] = [];
    for (const place of places) {
      signal.throwIfAborted();
      const file = parseRelativePath(place.file);
      const outside = outsideOf(file, given) ?? (await inProduct(sandbox, file, given));
      const lines = texts.get(file) ?? (await linesIn(project, place.file));
      texts.set(file, lines);
      const fault = outside ?? faultOf(place, lines, given.quote === true);
      if (fault !== undefined) wrong.push(`${shownPath(place.file)}:${place.line}: ${fault}`);
    }
    const ran = [...texts.keys()].map(shownPath).join(", ");
    const there = places.length === 1 ? "the line is there" : `${places.length} lines are there`;
    return { ok: wrong.length === 0, message: wrong.length === 0 ? there : firstFew(wrong, SHOWN_MAX, "; "), ran };
  },
});

/** Maximum number of wrong places that are named. */
const SHOWN_MAX = 5;

/** Reads `file:line`, an object with `file` and `line`, or a list of these. Throws `WrongParam`. */
function placesIn(value: JsonValue | undefined, least: number): readonly Place[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length > PLACES_MAX) throw wrongPlace(`more than ${PLACES_MAX} places are named`);
  if (items.length < least) throw wrongPlace(`${items.length} of at least ${least} places are named`);
  return items.map((item) => {
    if (typeof item === "string") return placeIn(item);
    const place = placeSchema.safeParse(item);
    if (place.success) return place.data;
    const [issue] = place.error.issues;
    throw wrongPlace(`${shown(item)} is not a place: ${issue?.path.join(".")}: ${issue?.message}`);
  });
}

/** Reads `file:line`. Throws `WrongParam`. */
export function placeIn(text: string): Place {
  const [, file, line] = /^(.+):([1-9][0-9]{0,8})$/.exec(text.trim()) ?? [];
  if (file !== undefined && line !== undefined) return { file, line: Number(line) };
  throw wrongPlace(`${shown(text)} is not a place: it needs a file and a line`);
}

function wrongPlace(reason: string) {
  return new WrongParam("", `${reason}; write {"file": "src/a.js", "line": 12, "quote": "the text of that line"}`);
}

function outsideOf(file: string, { paths, except = [] }: z.infer<typeof params>): string | undefined {
  if (paths !== undefined && !paths.some((path) => isNamedBy(plainPath(path), file))) {
    return `it must be in one of ${listed(paths)}`;
  }
  const found = except.find((path) => isNamedBy(plainPath(path), file));
  return found === undefined ? undefined : `it must not be in ${shownPath(found)}`;
}

/** What a tool writes is not compared by the verifiers to which gates give the same paths. */
async function inProduct(
  sandbox: Sandbox,
  file: string,
  { paths }: z.infer<typeof params>,
): Promise<string | undefined> {
  const product = paths === undefined ? undefined : await productAt(sandbox, file);
  return product === undefined ? undefined : `it must not be in ${shownPath(product)}, which a tool writes`;
}

function listed(paths: readonly string[]): string {
  const first = paths.slice(0, SHOWN_MAX).map(shownPath).join(", ");
  return paths.length > SHOWN_MAX ? `${first}, … (${paths.length} in all)` : first;
}

/** The shortest part of a line that counts as a quotation, in characters; a shorter line is quoted as a whole. */
const QUOTE_MIN = 8;

/** Returns how many characters a text shows; blanks between words count as one. */
function shownLength(text: string): number {
  return visibleText(text).replace(/\s+/g, " ").length;
}

function faultOf({ line, quote }: Place, lines: readonly string[], mustQuote: boolean): string | undefined {
  const text = lines[line - 1]?.trim();
  if (text === undefined) return `the file has ${lines.length} lines`;
  if (isInvisible(text)) return "the line is blank";
  if (quote === undefined) return mustQuote ? "quote the text of this line" : undefined;
  const quoted = quote.trim();
  if (isInvisible(quoted)) return "the quoted text has no visible character; quote the text of this line";
  if (!text.includes(quoted)) return `the line does not contain the quoted text ${shown(quoted)}`;
  return shownLength(quoted) < Math.min(QUOTE_MIN, shownLength(text)) ? "quote more of this line" : undefined;
}
