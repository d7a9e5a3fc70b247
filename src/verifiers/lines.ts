/**
 * Counts the lines of a file that match a pattern, in linear time, and defines the parameters that say how often
 * something must match.
 */
import { setImmediate } from "node:timers/promises";
import { RE2JS } from "@bufbuild/re2";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { requireSmallPattern } from "../rules/patterns.js";
import { countParam, textParam, wrongParam } from "./define-verifier.js";

/** Parameters for the number of matches. */
export const howOftenParams = {
  min: countParam.optional().describe("The least number of matches. Default: 1, or 0 if `max` is given."),
  max: countParam.optional().describe("The largest number of matches. Default: any number."),
  count: countParam.optional().describe("The exact number of matches, in place of `min` and `max`."),
};

/** The expected number of matches. Default: at least 1. */
interface HowOften {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly count?: number | undefined;
}

/** Throws `INVALID_INPUT` if the numbers contradict each other. */
export function checkHowOften(verifier: string, { min, max, count }: HowOften): void {
  if (count !== undefined && (min !== undefined || max !== undefined)) {
    throw wrongParam(verifier, "count", "it is the exact number: leave out min and max");
  }
  if (min !== undefined && max !== undefined && min > max) throw wrongParam(verifier, "max", "it is less than min");
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
interface PatternParams extends HowOften {
  readonly pattern: string;
  readonly flags?: string | undefined;
  readonly scope?: "line" | "file" | undefined;
}

/** Throws `INVALID_INPUT` for a pattern that is invalid, or that can't be matched in linear time. */
export function checkPattern(verifier: string, params: PatternParams): void {
  compile(verifier, params);
  checkHowOften(verifier, params);
  if (params.scope !== "file" && /[ms]/.test(params.flags ?? "")) {
    throw wrongParam(verifier, "flags", "m and s need scope: file, because lines are matched one by one");
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
export async function countMatches(
  verifier: string,
  params: PatternParams,
  text: string,
  signal: AbortSignal,
): Promise<number> {
  const compiled = compile(verifier, params);
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

function compile(verifier: string, { pattern, flags = "" }: PatternParams): RE2JS {
  const bits =
    (flags.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes("m") ? RE2JS.MULTILINE : 0) |
    (flags.includes("s") ? RE2JS.DOTALL : 0);
  try {
    requireSmallPattern(pattern);
    return RE2JS.compile(pattern, bits);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it can't be read";
    throw wrongParam(verifier, "pattern", `${reason}; use RE2 syntax, which has no lookaround and no backreferences`);
  }
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
