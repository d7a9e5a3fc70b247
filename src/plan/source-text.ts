import type { PlanPosition } from "./plan.js";

/** One line of a source, without its line end. */
export interface SourceLine {
  readonly text: string;
  /** Where it begins, in characters of the source. */
  readonly offset: number;
}

/**
 * A source by its lines, whatever their ends are. Everything that is read later names its place by line
 * and column here, so that positions are those of the file: with CRLF, with a byte order mark, with tabs.
 */
export class SourceText {
  readonly lines: readonly SourceLine[];

  constructor(source: string) {
    const lines: SourceLine[] = [];
    const start = source.startsWith("\uFEFF") ? 1 : 0;
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = start;
    let offset = start;
    for (let end = ends.exec(source); end !== null; end = ends.exec(source)) {
      lines.push({ text: source.slice(offset, end.index), offset });
      offset = end.index + end[0].length;
    }
    lines.push({ text: source.slice(offset), offset });
    this.lines = lines;
  }

  /** The text of a line, from 0; empty for one that is not there. */
  text(line: number): string {
    return this.lines[line]?.text ?? "";
  }

  /** The place of a character: line and column from 0, as they are counted here. */
  position(line: number, column: number): PlanPosition {
    return { line: line + 1, column: column + 1, offset: (this.lines[line]?.offset ?? 0) + column };
  }

  /** The place of a character by its offset. */
  at(offset: number): PlanPosition {
    let [low, high] = [0, this.lines.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.lines[middle]?.offset ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.position(low, offset - (this.lines[low]?.offset ?? 0));
  }
}
