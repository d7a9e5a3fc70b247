import { describe, expect, it } from "vitest";
import { findRegions, SourceText } from "../../src/plan/source.js";

/** Returns the regions of a text as `code 0-3`: from a line to before another one. */
function regionsOf(text: string): string {
  const regions = findRegions(new SourceText(text)).map(({ kind, start, end, strictEnd, unclosed }) => {
    const strict = strictEnd === undefined ? "" : ` strict ${strictEnd}`;
    return `${kind} ${start}-${end}${unclosed ? " unclosed" : ""}${strict}`;
  });
  return regions.join(", ");
}

describe("code and comments", () => {
  it.each([
    ["```\na\n```\nb", "code 0-3"],
    ["~~~\na\n~~~", "code 0-3"],
    ["````\n```\na\n````\nb", "code 0-4"],
    ["```\na\n````\nb", "code 0-3"],
    ["```\na\n~~~\nb\n```", "code 0-5"],
    ["``\na\n``", ""],
    ["```js\na\n```js\nb\n```\nc\n```\nd", "code 0-7 strict 5"],
    ["```a`b\nc\n```", "code 2-3 unclosed"],
    ["~~~a`b\nc\n~~~", "code 0-3"],
    ["- ```\n  a\n  ```\nb", "code 0-3"],
    ["- ```\n  a\nb\n```", "code 0-4 strict 2"],
    ["- ```\n  a\n- b\n", "code 0-2"],
    ["- ```\n  a\n1. b\n", "code 0-2"],
    ["- ```\n  a\n# b\n", "code 0-2"],
    ["- ```\n  a\nb\n", "code 0-2"],
    ["1. ```\n   a\n   ```\n", "code 0-3"],
    ["> ```\n> a\n> ```\nb", "code 0-3"],
    ["> ```\n> a\nb", "code 0-2"],
    ["> ```\n>     a\n     > b\n> ```", "code 0-4 strict 2"],
    ["- - ```\n    a\n    ```", "code 0-3"],
    ["-\t```\n\ta\n\t```", "code 0-3"],
    ["- a\n  ```\n  b\n  ```\nc", "code 1-4"],
    ["- a\n\n      ```\n  b", "code 2-4 unclosed"],
    ["a\n- b\n```\nc\n```", "code 2-5"],
    ["- a\nb\n  ```\n  c\n```\nd\n```", "code 2-5 strict 4, code 6-7 unclosed"],
    ["a\n2. b\n   ```\n  c\n   ```", "code 2-5"],
    ["a\n1. b\n   ```\n  c\n   ```", "code 2-5 strict 3"],
    ["2. b\n   ```\n  c\n   ```", "code 1-4 strict 2"],
    ["# a\n2. b\n   ```\n  c\n   ```", "code 2-5 strict 3"],
    ["<!-- a -->\nb", "comment 0-1"],
    ["<!--\na\n-->\nb", "comment 0-3"],
    ["<!-->\na\n-->", "comment 0-1"],
    ["<!---->\na", "comment 0-1"],
    ["- <!--\na\n--> b\nc", "comment 0-3"],
    ["> <!-- a\nb", "comment 0-2 unclosed"],
    ["a <!-- b\nc -->", ""],
    ["<!-- a --> <!-- b\nc", "comment 0-1"],
    ["<pre>\na\n</pre>\nb", "code 0-3"],
    ["<PRE class>a\n</Pre>\nb", "code 0-2"],
    ["<pre>a</pre>\nb", "code 0-1"],
    ["<prefix>\na", ""],
    ["<script>\na", "code 0-2 unclosed"],
    ["<style>\na\n</style>", "code 0-3"],
    ["<textarea>\na\n</textarea>\nb", "code 0-3"],
    ["- <pre>\n  a\nb", ""],
    ["- a\n  <pre>\n  b\nc", "code 1-3"],
    ["> <pre>\n> a\nb", "code 0-2"],
    ["    <pre>\n    a\n", ""],
    ["   <pre>\na\n</pre>\nb", "code 0-3"],
    ["<pre>\n\n\n</pre>\nb", "code 0-4"],
    ["```md\n```js\na\n```\nb\n```\nc", "code 0-6 strict 4"],
    ["```md\n```js\na\n```\n# x\nb\n```\nc", "code 0-7 strict 4"],
    ["```md\n```js\na\n```\n## Phase 1: x\n```\nc", "code 0-6 strict 4"],
    ["```js\n```ts\na\n```\n## Phase 1: x\n```\nc", "code 0-4, code 5-7 unclosed"],
    ["```js\n## Task 1.1 x\na\n```\nb", "code 0-4"],
    ["```md\n## Phase 1\n```", "code 0-3"],
    ["```js\n## Phase 1\n```ts\n```\nb\n```", "code 0-4, code 5-6 unclosed"],
    ["```md\n```js\na\n```\nb", "code 0-4"],
    ["```\na", "code 0-2 unclosed"],
    ["- ```\na\n```\nb\n```", "code 0-3 strict 1, code 4-5 unclosed"],
    ["* ```\n  a\n\n  b\n  ```\nc", "code 0-5"],
    ["- ```\n\n\n  a\n\nb", "code 0-5"],
    ["```\na\n```  \nb", "code 0-3"],
    ["```\na\n``` x\nb\n```\nc\n```", "code 0-7 strict 5"],
    ["   ```\na\n   ```\nb", "code 0-3"],
    ["    ```\na\n    ```", "code 0-3"],
    ["\t```\na\n\t```\nb", "code 0-3"],
    ["10. ```\n    a\n    ```\nb", "code 0-3"],
    ["1234567890. ```\na\n```", "code 2-3 unclosed"],
    ["- a\n***\n  ```\n b\n  ```", "code 2-5"],
    ["- a\n\n\n  ```\n b\n  ```", "code 3-6 strict 4"],
    ["- a\nlazy\n  ```\n b\n  ```", "code 2-5 strict 3"],
    ["- a\n# h\n  ```\n b\n  ```", "code 2-5"],
    ["- a\n> q\n  ```\n b\n  ```", "code 2-5"],
    ["- a\n  - b\n    ```\n  c\n    ```", "code 2-5 strict 3"],
    ["- a\n  - b\n c\n    ```\n  d\n    ```", "code 3-6 strict 4"],
  ])("in %j are %j", (text, regions) => {
    expect(regionsOf(text)).toBe(regions);
  });

  it("are searched for nested samples only within a budget", () => {
    const sample = (count: number) => `\`\`\`md\n\`\`\`js\n\`\`\`\n${"a\n".repeat(count)}\`\`\``;
    expect(regionsOf(sample(1500))).toBe("code 0-1504 strict 3");
    // Each of the many samples is searched to the end; then the budget is used up.
    const many = `${"```md\n```js\n```\n".repeat(60)}${"a\n".repeat(60)}`;
    expect(regionsOf(many).split(", ").length).toBeGreaterThan(1);
  });
});

describe("the lines of a source", () => {
  it("end with any line end, and have the positions of the file", () => {
    const source = new SourceText("\uFEFFab\r\nc\rd\n\ne");
    expect(source.lines).toEqual([
      { text: "ab", offset: 1 },
      { text: "c", offset: 5 },
      { text: "d", offset: 7 },
      { text: "", offset: 9 },
      { text: "e", offset: 10 },
    ]);
    expect([source.text(1), source.text(9)]).toEqual(["c", ""]);
    expect(source.position(1, 2)).toEqual({ line: 2, column: 3, offset: 7 });
    expect(source.position(9, 2)).toEqual({ line: 10, column: 3, offset: 2 });
    const found = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11].map((offset) => source.at(offset));
    expect(found.map(({ line, column }) => `${line}:${column}`)).toEqual([
      ...["1:0", "1:1", "1:2", "1:4", "2:1", "2:2", "3:1", "3:2", "4:1", "5:1", "5:2"],
    ]);
    expect(found.map(({ offset }) => offset)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(new SourceText("").lines).toEqual([{ text: "", offset: 0 }]);
    expect(new SourceText("a\uFEFF\n").lines).toEqual([
      { text: "a\uFEFF", offset: 0 },
      { text: "", offset: 3 },
    ]);
  });
});
