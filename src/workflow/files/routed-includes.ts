import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import { keptBack } from "../kept-back.js";
import { parseRelativePath, shown } from "../names.js";
import type { Report } from "../report.js";

/** What is left for the texts of a workflow. It is spent while they are expanded. */
interface IncludeBudget {
  bytes: number;
  includes: number;
  /** Whether it was said that one of the two is used up. */
  isTold: boolean;
  /** Where an include was found to lead back into a circle, or too deep: said once, not once for each way there. */
  readonly refused: Set<string>;
}

/** How much all texts of a workflow may come to, in bytes, each counted as often as it is included. */
const BYTES_MAX = 1024 * 1024;
/** How many includes all texts of a workflow may come to, each counted as often as its file is included. */
const INCLUDES_MAX = 1000;

/** The budget of a workflow that is about to be read. */
export function newBudget(): IncludeBudget {
  return { bytes: BYTES_MAX, includes: INCLUDES_MAX, isTold: false, refused: new Set() };
}

/** What includes are looked up in. */
export interface IncludeOptions {
  /** A text by its path from the root; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
  /** Whether files may be included from there. */
  isAllowed(path: string): boolean;
  readonly report: Report;
  /** Shared by all texts of a workflow. */
  readonly budget: IncludeBudget;
}

/** A text that several files went into, and where each of its lines comes from. */
export interface ExpandedText {
  readonly text: string;
  /** Where a line of it, from 1, stands in the file that it begins in. */
  place(line: number): SourcePosition;
}

/** A run of text as it stands in a file, from the beginning of which line. */
interface TextPiece {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * Puts files in the place of `{{file:path}}`, relative to the file that names them, in fences and comments too: what is
 * included may well be code. Every include that can't be had is an error with its line, and leaves nothing behind.
 */
export async function expandIncludes(file: string, text: string, options: IncludeOptions): Promise<ExpandedText> {
  spend(options, { file, line: 1 }, text);
  const pieces: TextPiece[] = [];
  await takePieces(file, text, [file], options, pieces);
  return joinPieces(pieces, file);
}

/** Where a path leads, or why it may not lead there. */
type ResolvedPath = { readonly path: string } | { readonly reason: string };

/**
 * Where a path leads that stands in a file: relative to that file's folder, `/` as separator, from the root that all
 * texts lie below. It may climb with `..`, but not out of the root. Pure; whoever reads it looks for links as well.
 */
export function resolvePath(file: string, path: string): ResolvedPath {
  if (/^[\\/~]|^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) return { reason: "it is absolute" };
  if (path.includes("\\")) return { reason: "it holds a '\\'; write '/'" };
  const parts = file.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return { reason: "it leads out of the folder of workflows" };
  }
  try {
    return { path: parseRelativePath(parts.join("/")) };
  } catch (error) {
    if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
    return { reason: error.details.reason };
  }
}

/** Whether there was still room for a text. */
function spend(options: IncludeOptions, place: { file: string; line: number }, text: string): boolean {
  const { budget } = options;
  budget.bytes -= utf8ToBytes(text).length;
  if (budget.bytes >= 0) return true;
  const message = `the texts of this workflow come to more than ${BYTES_MAX} bytes`;
  exhausted(options, place, message, "Include less, or split the workflow.");
  return false;
}

/** Reports the first text or include that there is no room for; the others would say the same. */
function exhausted(
  { budget, report }: IncludeOptions,
  place: { file: string; line: number },
  message: string,
  hint: string,
): void {
  if (!budget.isTold) report.error("FOLDER_TOO_LARGE", place, message, hint);
  budget.isTold = true;
}

const INCLUDE = /\{\{file:([^{}\n]*)\}\}/g;

/** Adds the pieces of a text to those before it. One list for all: a million of them can't be handed on as arguments. */
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

/** How deep files may include one another. */
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
    if (!budget.refused.has(here)) refuseWay(place, named, isCircle ? [...chain, path] : undefined, report);
    budget.refused.add(here);
    return;
  }
  const text = await options.read(path);
  if (text === undefined) {
    const hint = "Write the file, or correct the path: it is relative to the file that includes it.";
    report.error("INCLUDE_MISSING", place, `there is no file ${shown(path)} to include`, hint);
    return;
  }
  if (!spend(options, place, text)) return;
  // The line end at the end of a file ends the file, not the line that it is included in.
  await takePieces(path, text.replace(/\r?\n$/, ""), [...chain, path], options, pieces);
}

function refusal(path: string, { isAllowed }: IncludeOptions): string | undefined {
  if (!isAllowed(path)) return "it lies outside this workflow and the folders that may be included from";
  return keptBack(path);
}

/** Reports an include that leads into a circle, or too deep. */
function refuseWay(place: SourcePosition, named: string, circle: readonly string[] | undefined, report: Report): void {
  if (circle === undefined) {
    const hint = `Files may include one another ${DEPTH_MAX} deep: put the text in directly.`;
    report.error("INCLUDE_TOO_DEEP", place, `the include ${shown(named)} is nested too deeply`, hint);
    return;
  }
  const message = `files include one another in a circle: ${circle.join(" → ")}`;
  report.error("INCLUDE_CIRCULAR", place, message, "Take one of them out.");
}

/** Puts pieces together. A line belongs to the piece that its first character came from. */
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
