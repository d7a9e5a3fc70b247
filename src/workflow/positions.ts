/** Positions in source texts: from an offset or a path of keys to line and column. */
import type { SourcePosition } from "../errors.js";
import type { JsonValue } from "./json.js";
/** The path to a value: keys and indexes from the top. */
export type KeyPath = readonly (string | number)[];

/** A parsed value and the positions of its parts in the text. */
export interface ParsedSource {
  readonly value: JsonValue;
  /** Returns the position of a key or element, or of the nearest one around it if it doesn't exist. */
  place(path: KeyPath): SourcePosition;
}

/** Returns a function that turns an offset in a text into line and column, from 1. */
export function linesOf(file: string, text: string): (offset: number) => SourcePosition {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (offset) => {
    const line = lastAtMost(starts, offset);
    return { file, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** Returns the index of the last number that is at most `bound`, in an ascending list that begins with 0. */
function lastAtMost(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= bound) low = middle;
    else high = middle - 1;
  }
  return low;
}
