import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Diagnostic } from "../diagnostic.js";
import { linesOf } from "./positions.js";
import type { Report } from "./report.js";

/** The largest file of a definition, in bytes. */
export const FILE_MAX = 1024 * 1024;

/** A text and where it lies in the workflow's folder. */
interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** The texts of a workflow's folder, by path. */
export interface WorkflowFiles {
  /** All paths, sorted; those that could not be read, too. */
  readonly paths: readonly string[];
  /** Whether there is a file, readable or not: one that isn't has its diagnostic already. */
  has(path: string): boolean;
  /** A text without byte order mark. */
  text(path: string): string | undefined;
}

/**
 * Takes the texts, and looks at each for what is wrong with files of any kind. `unreadable` says of
 * which files there is no text.
 */
export function takeFiles(
  files: readonly NamedText[],
  unreadable: readonly Diagnostic[],
  report: Report,
): WorkflowFiles {
  const texts = new Map<string, string>();
  const paths = new Set([...files.map(({ path }) => path), ...unreadable.map(({ file }) => file)]);
  for (const { path, text } of files) {
    if (isTooLarge(text)) {
      report.error("FILE_TOO_LARGE", { file: path }, `the file is larger than ${FILE_MAX} bytes`, "Split it.");
      continue;
    }
    lookAt(path, text, report);
    texts.set(path, withoutMark(text));
  }
  return { paths: [...paths].sort(), has: (path) => paths.has(path), text: (path) => texts.get(path) };
}

/** A text without the byte order mark that some editors put before it. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function isTooLarge(text: string): boolean {
  // A character is one to three bytes: only those in between have to be counted.
  return text.length > FILE_MAX || (text.length * 3 > FILE_MAX && utf8ToBytes(text).length > FILE_MAX);
}

function lookAt(file: string, text: string, report: Report): void {
  if (text !== withoutMark(text)) {
    const hint = "Save the file as UTF-8 without one.";
    report.warn("BOM", { file, line: 1, column: 1 }, "the file begins with a byte order mark", hint);
  }
  const crlf = text.indexOf("\r\n");
  if (crlf === -1) return;
  const hint = "Save the file with line ends of one character (LF).";
  report.warn("CRLF", linesOf(file, text)(crlf), "the file has Windows line ends (CRLF)", hint);
}
