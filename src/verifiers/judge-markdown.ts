/** Judges the headings of a Markdown file, and a plan. Loaded by the first check of one, since it parses Markdown. */
import { toString as textOf } from "mdast-util-to-string";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { builtInParsers } from "../plan/parse-plan.js";
import type { PlanReading, SourceParser } from "../plan/plan.js";
import { type Diagnostic, formatDiagnostic } from "../workflow/diagnostic.js";
import { visibleText } from "../workflow/field-types.js";
import { blocksOf, codeParts, endOfSection, headingName, plainText } from "../workflow/from-markdown.js";
import type { Asked, Outcome } from "./define-verifier.js";
import { isOftenEnough } from "./lines.js";
import type { HeadingParams, PlanParams } from "./markdown-params.js";
import { judgeText, outputLines, shownPath } from "./subject.js";

/** Maximum size of a file. The parser takes up to eight seconds for a megabyte of headings, and blocks the process. */
const MARKDOWN_MAX = 256 * 1024;

export function judgeHeadings(given: HeadingParams, asked: Asked): Promise<Outcome> {
  return judgeText(
    given,
    asked,
    (text, file, path) => {
      const found = headingsBelow(headingsOf(text, path), given);
      const { ok, expected } = isOftenEnough(found?.length ?? 0, given);
      const known = new Set(found?.map(({ text: name }) => headingName(name)));
      const missing = (given.names ?? []).filter((name) => !known.has(headingName(plainText(name))));
      const message = [
        found === undefined ? `there is no heading ${shownPath(given.under ?? "")}` : countText(found.length, given),
        `expected: ${expected}`,
        ...(missing.length === 0 ? [] : [`missing: ${missing.map(shownPath).join(", ")}`]),
      ].join("; ");
      return { ok: ok && found !== undefined && missing.length === 0, message: `${file}: ${message}` };
    },
    Math.min(asked.project.limits.maxFileBytes, MARKDOWN_MAX),
  );
}

interface Heading {
  readonly depth: number;
  readonly text: string;
}

/**
 * Returns the headings of a Markdown text, in order, without those in fences, comments, quotations and lists. Throws
 * `INVALID_INPUT` for a text that is not parsed.
 */
export function headingsOf(text: string, path: string): Heading[] {
  const blocks = blocksOf(text);
  if (blocks === undefined) {
    const why = "its lists or quotations are nested too deeply, or it has too many lines";
    throw new PhasegateError("INVALID_INPUT", `${shownPath(path)} can't be parsed: ${why}`, {
      remedy: "Make the document flatter, or its lines longer.",
      details: { field: path },
    });
  }
  return blocks.flatMap((block) => {
    const marked = block.type === "heading" ? textOf(block) : "";
    return block.type === "heading" && showsWords(marked) ? [{ depth: block.depth, text: plainText(marked) }] : [];
  });
}

type Selection = Pick<HeadingParams, "under" | "level">;

/** Returns the headings that are counted; undefined if there is no heading `under`. */
export function headingsBelow(headings: readonly Heading[], { under, level }: Selection): Heading[] | undefined {
  if (under === undefined) return headings.filter(({ depth }) => level === undefined || depth === level);
  const name = headingName(plainText(under));
  const starts = [...headings.keys()].filter((index) => headingName(headings[index]?.text ?? "") === name);
  if (starts.length === 0) return undefined;
  // A set, because one section of that name may be inside another.
  const found = new Set(starts.flatMap((start) => belowOne(headings, start, level)));
  return headings.filter((heading) => found.has(heading));
}

function countText(count: number, { under, level }: Selection): string {
  const depth = level === undefined ? "" : ` of level ${level}`;
  return `${count} headings${depth}${under === undefined ? "" : ` under ${shownPath(under)}`}`;
}

/** Checks whether a heading has a visible letter or digit, outside comments and tags. */
function showsWords(marked: string): boolean {
  const seen = codeParts(marked).map(({ code, text }) => (code ? text : withoutHtml(plainText(text))));
  return /[\p{L}\p{N}]/u.test(visibleText(seen.join("")));
}

/** Returns a text without comments and tags, in linear time. */
function withoutHtml(text: string): string {
  const [before = "", ...comments] = text.split("<!--");
  const behind = comments.map((comment) => comment.split("-->").slice(1).join("-->"));
  return [before, ...behind].join("").replace(/<\/?[a-z][^<>]*>/gi, "");
}

function belowOne(headings: readonly Heading[], start: number, level: number | undefined): Heading[] {
  const depth = headings[start]?.depth ?? 0;
  return headings
    .slice(start + 1, endOfSection(headings, start))
    .filter((heading) => heading.depth === (level ?? depth + 1));
}

export function judgePlan(given: PlanParams, asked: Asked): Promise<Outcome> {
  return judgeText(given, asked, (text, file, path) => {
    try {
      return judge(planParser().parse(text, path), given, file);
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      return { ok: false, message: `${error.message}. ${error.remedy}` };
    }
  });
}

/** Returns the parser that a session on this file would use. */
function planParser(): SourceParser {
  const parser = builtInParsers.markdown;
  if (parser === undefined) throw new Error("the built-in parsers are missing");
  return parser;
}

function judge({ plan, diagnostics }: PlanReading, given: PlanParams, file: string): Outcome {
  const wrong = diagnostics.filter(({ severity }) => severity === "error" || given.no_warnings === true);
  if (wrong.length > 0)
    return { ok: false, message: listed(wrong), output: outputLines(wrong.map(formatDiagnostic).join("\n")) };
  const tasks = plan.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
  const { min_phases: phases = 1, min_tasks: least = 1 } = given;
  const found = `${file} has ${plan.phases.length} phases and ${tasks} tasks`;
  const ok = plan.phases.length >= phases && tasks >= least;
  return { ok, message: ok ? found : `${found}; expected: at least ${phases} phases and ${least} tasks` };
}

function listed([first, ...others]: readonly Diagnostic[]): string {
  const hint = first?.hint === undefined ? "" : `; ${first.hint}`;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `the plan has problems: ${first === undefined ? "" : formatDiagnostic(first)}${hint}${more}`;
}
