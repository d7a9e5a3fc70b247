import type { SourcePosition } from "../../errors.js";

/** A run of text as it stands in a file, from the beginning of which line. */
export interface TextPiece {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** A text that several files went into, and where each of its lines comes from. */
export interface ExpandedText {
  readonly text: string;
  /** Where a line of it, from 1, stands in the file that it begins in. */
  place(line: number): SourcePosition;
}

/** Puts pieces together. A line belongs to the piece that its first character came from. */
export function joinPieces(pieces: readonly TextPiece[], file: string): ExpandedText {
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
