/**
 * Counts the lines of a file that match a pattern, in linear time, and defines the parameters that say how often
 * something must match.
 */
import { setImmediate } from "node:timers/promises";
import { RE2JS } from "@bufbuild/re2";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { requireSmallPattern } from "../rules/compile.js";
import { countParam, textParam, wrongParam } from "./define-verifier.js";

/** Params that say how often something must be there. */
export const howOftenParams = {
  min: countParam.optional(),
  max: countParam.optional(),
  /** Exactly so often. */
  count: countParam.optional(),
};

/** How often something must be there; 1 or more where nothing is said. */
interface HowOften {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly count?: number | undefined;
}

/** Throws `INVALID_INPUT` where the numbers contradict each other. */
export function checkHowOften(verifier: string, { min, max, count }: HowOften): void {
  if (count !== undefined && (min !== undefined || max !== undefined)) {
    throw wrongParam(verifier, "count", "it says exactly how often, so min and max can't stand beside it");
  }
  if (min !== undefined && max !== undefined && min > max) throw wrongParam(verifier, "max", "it is less than min");
}

/** Checks whether a number of matches is as wanted, and returns the wanted number in words. */
export function isOftenEnough(found: number, { min, max, count }: HowOften): { ok: boolean; wanted: string } {
  if (count !== undefined) return { ok: found === count, wanted: `exactly ${count}` };
  const least = min ?? (max === undefined ? 1 : 0);
  const ok = found >= least && (max === undefined || found <= max);
  if (max === undefined) return { ok, wanted: `at least ${least}` };
  return { ok, wanted: least === 0 ? `at most ${max}` : `${least} to ${max}` };
}

/** Params of a pattern and how often it must match. */
export const patternParams = {
  /** In RE2's syntax. */
  pattern: textParam,
  /** `i`: case doesn't count; with `scope: file` also `m` (`^` and `$` at each line) and `s` (`.` takes line ends). */
  flags: z
    .string()
    .regex(/^[ims]{0,3}$/, "flags are i, and with scope: file m and s")
    .optional(),
  /** What is counted: lines that match, or with `file` the whole text, once or not at all. */
  scope: z.enum(["line", "file"]).optional(),
  ...howOftenParams,
};

/** A pattern and how often it must match. */
interface PatternParams extends HowOften {
  readonly pattern: string;
  readonly flags?: string | undefined;
  readonly scope?: "line" | "file" | undefined;
}

/** Throws `INVALID_INPUT` for a pattern that isn't one, or that has what no linear-time engine can have. */
export function checkPattern(verifier: string, params: PatternParams): void {
  compile(verifier, params);
  checkHowOften(verifier, params);
  if (params.scope !== "file" && /[ms]/.test(params.flags ?? "")) {
    throw wrongParam(verifier, "flags", "m and s mean something with scope: file only; lines are matched one by one");
  }
}

/**
 * The engine's time is linear in text × pattern, about 60 ns a step where its cache is of no use: more
 * steps than these at once would hold up the host for more than a second.
 */
const STEPS_MAX = 2 ** 24;
/** How long lines are matched before others get their turn, in milliseconds. */
const TURN_MS = 20;

/** Returns how many lines of a text match, or with `scope: file` whether the text does (1 or 0). */
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
    throw wrongParam(verifier, "pattern", `${reason}; patterns are RE2's: no look-around and no back-references`);
  }
}

/** All that some program shows as the end of a line: none hides a line from a pattern that begins with `^`. */
const LINE_END = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/** Returns the lines of a text; a line end at its end begins no other line. */
function linesOf(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function tooLong(length: number, limit: number): PhasegateError<"TOO_LARGE"> {
  const message = `there are ${length} characters in one piece, too many to be matched with this pattern`;
  return new PhasegateError("TOO_LARGE", message, {
    remedy: `Break long lines, or use a smaller pattern: at most ${limit} characters are matched at once.`,
    details: { bytes: length, limit },
  });
}
