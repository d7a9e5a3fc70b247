/** Expands `{{file:path}}` in the texts of a routed workflow, from its folder and the allowed ones, within limits. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import { keptBack, parseRelativePath, shown } from "../names.js";
import type { Report } from "../report.js";

interface IncludeBudget {
  bytes: number;
  includes: number;
  /** True once the report says that one of the two is used up. */
  isTold: boolean;
  /** Includes that are circular or too deep, each reported once, not once for every path to it. */
  readonly refused: Set<string>;
}

/** Maximum size of all texts of a workflow, in bytes. A text counts each time it is included. */
const BYTES_MAX = 1024 * 1024;
/** Maximum number of includes of a workflow. The includes of a file count each time it is included. */
const INCLUDES_MAX = 1000;

export function newBudget(): IncludeBudget {
  return { bytes: BYTES_MAX, includes: INCLUDES_MAX, isTold: false, refused: new Set() };
}

export interface IncludeOptions {
  /** Returns a text by its path from the root; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
  isAllowed(path: string): boolean;
  readonly report: Report;
  /** Shared by all texts of a workflow. */
  readonly budget: IncludeBudget;
}

export interface ExpandedText {
  readonly text: string;
  /** Returns the original position of a line, from 1. */
  place(line: number): SourcePosition;
}

/** A piece of text, and the line of its file on which it begins. */
interface TextPiece {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Replaces `{{file:path}}` by the file, also in code. An include that can't be read is an error, and is removed. */
export async function expandIncludes(file: string, text: string, options: IncludeOptions): Promise<ExpandedText> {
  spend(options, { file, line: 1 }, text);
  const pieces: TextPiece[] = [];
  await takePieces(file, text, [file], options, pieces);
  return joinPieces(pieces, file);
}

/** Resolves a path that a file refers to, relative to its folder. Links are checked when the file is read. */
export function resolvePath(file: string, path: string): { readonly path: string } | { readonly reason: string } {
  if (/^[\\/~]|^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) return { reason: "it is absolute" };
  if (path.includes("\\")) return { reason: "it contains '\\'; write '/'" };
  const parts = file.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return { reason: "it leaves the folder of workflows" };
  }
  try {
    return { path: parseRelativePath(parts.join("/")) };
  } catch (error) {
    if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
    return { reason: error.details.reason };
  }
}

function spend(options: IncludeOptions, place: SourcePosition, text: string): boolean {
  const { budget } = options;
  budget.bytes -= utf8ToBytes(text).length;
  if (budget.bytes >= 0) return true;
  const message = `the texts of this workflow come to more than ${BYTES_MAX} bytes`;
  exhausted(options, place, message, "Include less, or split the workflow.");
  return false;
}

/** Reports the first text or include over the budget; more reports would say the same. */
function exhausted({ budget, report }: IncludeOptions, place: SourcePosition, message: string, hint: string): void {
  if (!budget.isTold) report.error("FOLDER_TOO_LARGE", place, message, hint);
  budget.isTold = true;
}

const INCLUDE = /\{\{file:([^{}\n]*)\}\}/g;

/** Adds the pieces of a text to a shared list: a million pieces can't be passed as arguments. */
async function takePieces(
  file: string,
  text: string,
  chain: readonly string[],
  options: IncludeOptions,
  pieces: TextPiece[],
): Promise<void> {
  let line = 1;
  let from = 0;
  const take = (to: number) => {
    const part = text.slice(from, to);
    pieces.push({ file, line, text: part });
    line += part.split("\n").length - 1;
  };
  for (const match of text.matchAll(INCLUDE)) {
    take(match.index);
    await include({ file, line }, (match[1] ?? "").trim(), chain, options, pieces);
    from = match.index + match[0].length;
    if (options.budget.isTold) return;
  }
  take(text.length);
}

const DEPTH_MAX = 10;

async function include(
  place: { readonly file: string; readonly line: number },
  named: string,
  chain: readonly string[],
  options: IncludeOptions,
  pieces: TextPiece[],
): Promise<void> {
  const { report, budget } = options;
  budget.includes -= 1;
  if (budget.includes < 0) {
    const hint = "Include less: the includes of a file count as often as it is included itself.";
    exhausted(options, place, `the texts of this workflow come to more than ${INCLUDES_MAX} includes`, hint);
    return;
  }
  const resolved = resolvePath(place.file, named);
  const reason = "reason" in resolved ? resolved.reason : refusal(resolved.path, options);
  if ("reason" in resolved || reason !== undefined) {
    const hint = "Name a file of this workflow, relative to the file that includes it.";
    report.error("PATH_REFUSED", place, `the include ${shown(named)} is refused: ${reason}`, hint);
    return;
  }
  const { path } = resolved;
  const isCircle = chain.includes(path);
  if (isCircle || chain.length > DEPTH_MAX) {
    const here = `${place.file}:${place.line}:${path}`;
    if (budget.refused.has(here)) return;
    budget.refused.add(here);
    if (isCircle) {
      const message = `files include one another in a circle: ${[...chain, path].join(" → ")}`;
      report.error("INCLUDE_CIRCULAR", place, message, "Take one of them out.");
    } else {
      const hint = `Files may include one another ${DEPTH_MAX} deep: put the text in directly.`;
      report.error("INCLUDE_TOO_DEEP", place, `the include ${shown(named)} is nested too deeply`, hint);
    }
    return;
  }
  const text = await options.read(path);
  if (text === undefined) {
    const hint = "Write the file, or correct the path: it is relative to the file that includes it.";
    report.error("INCLUDE_MISSING", place, `there is no file ${shown(path)} to include`, hint);
    return;
  }
  if (!spend(options, place, text)) return;
  // The line feed at the end of a file doesn't belong to the line that includes it.
  await takePieces(path, text.replace(/\r?\n$/, ""), [...chain, path], options, pieces);
}

function refusal(path: string, { isAllowed }: IncludeOptions): string | undefined {
  if (!isAllowed(path)) return "it is outside this workflow and the shared folders";
  return keptBack(path);
}

/** Joins pieces. A line belongs to the file of its first character. */
function joinPieces(pieces: readonly TextPiece[], file: string): ExpandedText {
  const origins: SourcePosition[] = [];
  let hasText = false;
  for (const piece of pieces) {
    for (const [index, line] of piece.text.split("\n").entries()) {
      const isNew = index > 0 || origins.length === 0;
      if (!isNew && hasText) continue;
      origins[isNew ? origins.length : origins.length - 1] = { file: piece.file, line: piece.line + index };
      hasText = line !== "";
    }
  }
  const text = pieces.map((piece) => piece.text).join("");
  return { text, place: (line) => origins[line - 1] ?? { file } };
}
