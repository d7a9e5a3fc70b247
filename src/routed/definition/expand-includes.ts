import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Report } from "../../definition/folder/report.js";
import { keptBack } from "../../definition/kept-back.js";
import { shown } from "../../definition/names.js";
import { type ExpandedText, joinPieces, type TextPiece } from "./expanded-text.js";
import { resolvePath } from "./resolve-path.js";

/** How deep files may include one another. */
const DEPTH_MAX = 10;
/** How much all texts of a workflow may come to, in bytes, each counted as often as it is included. */
export const INCLUDED_MAX = 1024 * 1024;

const INCLUDE = /\{\{file:([^{}\n]*)\}\}/g;

/** What includes are looked up in. */
export interface IncludeOptions {
  /** A text by its path from the root; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
  /** Whether files may be included from there. */
  isAllowed(path: string): boolean;
  readonly report: Report;
  /** Shared by all texts of a workflow. */
  readonly budget: { bytes: number };
}

/**
 * Puts files in the place of `{{file:path}}`, relative to the file that names them, in fences and comments too: what is
 * included may well be code. Every include that can't be had is an error with its line, and leaves nothing behind.
 */
export async function expandIncludes(file: string, text: string, options: IncludeOptions): Promise<ExpandedText> {
  spend(options, { file, line: 1 }, text);
  return joinPieces(await piecesOf(file, text, [file], options), file);
}

async function piecesOf(
  file: string,
  text: string,
  chain: readonly string[],
  options: IncludeOptions,
): Promise<TextPiece[]> {
  const pieces: TextPiece[] = [];
  let line = 1;
  let from = 0;
  const take = (to: number) => {
    const part = text.slice(from, to);
    pieces.push({ file, line, text: part });
    line += part.split("\n").length - 1;
  };
  for (const match of text.matchAll(INCLUDE)) {
    take(match.index);
    pieces.push(...(await included({ file, line }, (match[1] ?? "").trim(), chain, options)));
    from = match.index + match[0].length;
  }
  take(text.length);
  return pieces;
}

async function included(
  place: { readonly file: string; readonly line: number },
  named: string,
  chain: readonly string[],
  options: IncludeOptions,
): Promise<TextPiece[]> {
  const { report } = options;
  const resolved = resolvePath(place.file, named);
  const reason = "reason" in resolved ? resolved.reason : refusal(resolved.path, options);
  if ("reason" in resolved || reason !== undefined) {
    const hint = "Name a file of this workflow, relative to the file that includes it.";
    report.error("PATH_REFUSED", place, `the include ${shown(named)} is refused: ${reason}`, hint);
    return [];
  }
  const { path } = resolved;
  if (chain.includes(path)) {
    const circle = [...chain, path].join(" → ");
    report.error(
      "INCLUDE_CIRCULAR",
      place,
      `files include one another in a circle: ${circle}`,
      "Take one of them out.",
    );
    return [];
  }
  if (chain.length > DEPTH_MAX) {
    const hint = `Files may include one another ${DEPTH_MAX} deep: put the text in directly.`;
    report.error("INCLUDE_TOO_DEEP", place, `the include ${shown(named)} is nested too deeply`, hint);
    return [];
  }
  const text = await options.read(path);
  if (text === undefined) {
    const hint = "Write the file, or correct the path: it is relative to the file that includes it.";
    report.error("INCLUDE_MISSING", place, `there is no file ${shown(path)} to include`, hint);
    return [];
  }
  if (!spend(options, place, text)) return [];
  // The line end at the end of a file ends the file, not the line that it is included in.
  return piecesOf(path, text.replace(/\r?\n$/, ""), [...chain, path], options);
}

function refusal(path: string, { isAllowed }: IncludeOptions): string | undefined {
  if (!isAllowed(path)) return "it lies outside this workflow and the folders that may be included from";
  return keptBack(path);
}

/** Whether there was still room; the first text without it is reported. */
function spend({ budget, report }: IncludeOptions, place: { file: string; line: number }, text: string): boolean {
  const had = budget.bytes;
  budget.bytes -= utf8ToBytes(text).length;
  if (budget.bytes >= 0) return true;
  if (had >= 0) {
    const message = `the texts of this workflow come to more than ${INCLUDED_MAX} bytes`;
    report.error("FOLDER_TOO_LARGE", place, message, "Include less, or split the workflow.");
  }
  return false;
}
