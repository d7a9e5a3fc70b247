import type { SourcePosition } from "../errors.js";
import type { JsonValue } from "./json.js";
/** The way to a value: keys and indexes from the top. */
export type KeyPath = readonly (string | number)[];

/** A value and where its parts stand in the text that it was read from. */
export interface ParsedSource {
  readonly value: JsonValue;
  /** Where a key or an element stands; that of the nearest one around it if it isn't there. */
  place(path: KeyPath): SourcePosition;
}

/** Gives line and column, from 1, for an offset into a text. */
export function linesOf(file: string, text: string): (offset: number) => SourcePosition {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (offset) => {
    const line = lastAtMost(starts, offset);
    return { file, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** The index of the last number that is not above a bound, in an ascending list that begins with 0. */
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
