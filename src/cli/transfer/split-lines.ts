import { notImported } from "./log-lines.js";

/** A line of a file, without its end. */
export interface Line {
  /** 1 for the first. */
  readonly number: number;
  /** The byte at which it begins. */
  readonly offset: number;
  readonly data: Buffer;
  /** Whether a line end came after it: if not, the file may have been cut within it. */
  readonly ended: boolean;
}

/** Longer ones are no commits: a text of them could not be held. */
const LINE_MAX = 400 * 1024 * 1024;
const NEWLINE = 10;

/** A file's lines, one at a time; from a place on, if one is given. */
export async function* splitLines(
  input: AsyncIterable<Buffer>,
  { offset, number }: Pick<Line, "offset" | "number"> = { offset: 0, number: 1 },
): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  const line = (ended: boolean): Line => ({ number, offset, data: Buffer.concat(parts), ended });
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, at));
      size += at - from;
      yield line(true);
      offset += size + 1;
      number += 1;
      [parts, size, from] = [[], 0, at + 1];
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > LINE_MAX) throw notImported(number, "the line has no end", "Name a file that `phasegate export` wrote.");
  }
  if (size > 0) yield line(false);
}
