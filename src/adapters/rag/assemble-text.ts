import type { Chunk } from "../../ports/retriever.js";

/** A text put together from pieces. */
export interface AssembledText {
  readonly text: string;
  /** The files of the pieces, each once, in order. */
  readonly files: readonly string[];
}

/**
 * Puts pieces into the order of their files and lines, and together: whole lines as they are, others each
 * on lines of their own. The same lines are taken once.
 */
export function assembleText(chunks: readonly Chunk[]): AssembledText {
  const ordered = [...chunks].sort(
    (one, other) => compare(one.file, other.file) || one.lines[0] - other.lines[0] || one.lines[1] - other.lines[1],
  );
  const pieces = ordered.filter((chunk, index) => !isSamePlace(chunk, ordered[index - 1]));
  const text = pieces.reduce((before, piece) => joined(before, piece.text), "");
  return { text, files: [...new Set(pieces.map(({ file }) => file))] };
}

function joined(before: string, text: string): string {
  return before === "" || /[\r\n]$/.test(before) ? before + text : `${before}\n\n${text}`;
}

function isSamePlace(one: Chunk, other: Chunk | undefined): boolean {
  return other?.file === one.file && other.lines[0] === one.lines[0] && other.lines[1] === one.lines[1];
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
