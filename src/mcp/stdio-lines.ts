const LINE_FEED = 10;
const FIRST_BYTES = 4096;

/** A line without its end, or that a line is longer than it may be. */
export type StdioLine = Uint8Array | "too long";

/**
 * Makes a function that cuts chunks into lines: it returns those that a chunk ends. Bytes of a line that has no end yet are
 * copied into one buffer, so that a line in chunks of one byte takes no more memory than its length. A line over `maxBytes`
 * is reported once it is over, and the rest of it is dropped.
 */
export function createStdioLines(maxBytes: number): (chunk: Uint8Array) => StdioLine[] {
  let held = new Uint8Array(0);
  let length = 0;
  let dropping = false;

  const hold = (part: Uint8Array) => {
    if (length + part.length > held.length) {
      const larger = new Uint8Array(Math.max(held.length * 2, length + part.length, FIRST_BYTES));
      larger.set(held.subarray(0, length));
      held = larger;
    }
    held.set(part, length);
    length += part.length;
  };
  const release = (): Uint8Array => {
    const line = held.subarray(0, length);
    held = new Uint8Array(0);
    length = 0;
    return line;
  };
  const ended = (part: Uint8Array): StdioLine | undefined => {
    if (dropping) {
      dropping = false;
      return undefined;
    }
    if (length + part.length > maxBytes) {
      release();
      return "too long";
    }
    if (length === 0) return part;
    hold(part);
    return release();
  };

  return (chunk) => {
    const lines: StdioLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      const line = ended(chunk.subarray(from, end));
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    if (dropping || rest.length === 0) return lines;
    if (length + rest.length <= maxBytes) hold(rest);
    else {
      release();
      dropping = true;
      lines.push("too long");
    }
    return lines;
  };
}
