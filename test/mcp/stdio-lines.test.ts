import { describe, expect, it } from "vitest";
import { createStdioLines } from "../../src/mcp/stdio-lines.js";

/** What comes out for chunks that are written one after the other. */
function through(maxBytes: number, ...chunks: string[]): string[] {
  const lines = createStdioLines(maxBytes);
  const seen: string[] = [];
  for (const chunk of chunks) {
    lines.write(chunk);
    const read: unknown = lines.read();
    seen.push(read === null ? "" : String(read));
  }
  return seen;
}

describe("lines on their way to the SDK", () => {
  it("are handed on whole", () => {
    expect(through(100, "a", "b", "c\nd", "e\nf\ng", "\n")).toEqual(["", "", "abc\n", "de\nf\n", "g\n"]);
  });

  it("are handed on as they are if too long", () => {
    expect(through(4, "abc", "de", "fg", "\n")).toEqual(["", "abcde", "", "fg\n"]);
  });

  it("keep characters that are cut in two", () => {
    const [one, other] = [Buffer.from("é\n").subarray(0, 1), Buffer.from("é\n").subarray(1)];
    const lines = createStdioLines(100);
    lines.write(one);
    lines.write(other);
    expect(String(lines.read())).toBe("é\n");
  });
});
