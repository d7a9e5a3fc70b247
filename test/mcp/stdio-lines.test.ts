import { describe, expect, it } from "vitest";
import { createStdioLines } from "../../src/mcp/stdio-messages.js";

/** Returns the lines that each of the chunks completes. */
function through(maxBytes: number, ...chunks: (string | Uint8Array)[]): string[][] {
  const lines = createStdioLines(maxBytes);
  return chunks.map((chunk) =>
    lines(Buffer.from(chunk)).map((line) => (line === "too long" ? line : Buffer.from(line).toString())),
  );
}

describe("the lines of a client", () => {
  it("are returned as soon as they are complete", () => {
    expect(through(100, "a", "b", "c\nd", "e\nf\ng", "\n")).toEqual([[], [], ["abc"], ["de", "f"], ["g"]]);
    expect(through(100, "\n\na\n")).toEqual([["", "", "a"]]);
  });

  it("are reported once if they are too long, and the next line is returned", () => {
    expect(through(4, "abc", "de", "fg", "\nhi\n")).toEqual([[], ["too long"], [], ["hi"]]);
    expect(through(4, "abcde\nfghi\n", "abcd\n")).toEqual([["too long", "fghi"], ["abcd"]]);
    expect(through(4, "abc", "de\nf\n")).toEqual([[], ["too long", "f"]]);
  });

  it("keep characters that are split between chunks", () => {
    const bytes = Buffer.from("é\n");
    expect(through(100, bytes.subarray(0, 1), bytes.subarray(1))).toEqual([[], ["é"]]);
  });

  it("use memory by their length, even if each byte is a chunk of its own", () => {
    const lines = createStdioLines(100_000);
    const count = 8192;
    let most = 0;
    for (let at = 0; at < count; at += 1) {
      // Each chunk is a view of a large buffer, as when Node reads a pipe.
      expect(lines(new Uint8Array(65_536).fill(120, 0, 1).subarray(0, 1))).toEqual([]);
      if (at % 64 === 0) most = Math.max(most, process.memoryUsage().arrayBuffers);
    }
    expect(most).toBeLessThan(count * 65_536 * 0.6);
    expect(lines(Buffer.from("\n"))).toEqual([new Uint8Array(count).fill(120)]);
  });
});
