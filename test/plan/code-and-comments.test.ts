import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline } from "./outline.js";

const HEAD = "## Phase 1: A\n\n- [ ] **Task 1.1**: B\n\n";
const LAST = "\n- [ ] **Task 1.2**: C\n";

describe("code and comments", () => {
  it.each([
    ["backticks", "```\n## Phase 9: No\n- [ ] **Task 9.9**: no\n```\n"],
    ["a language", "```markdown\n## Phase 9: No\n- [ ] **Task 9.9**: no\n```\n"],
    ["tildes", "~~~\n## Phase 9: No\n- [ ] no\n~~~\n"],
    ["more backticks outside", "````markdown\n```python\n- [ ] no\n```\n## Phase 9: No\n````\n"],
    ["a list item", "- note\n  ```\n  - [ ] no\n  ```\n"],
    ["an item's first line", "- ```\n  - [ ] no\n  ```\n"],
    ["a quote", "> ```\n> - [ ] no\n> ```\n"],
    ["pre", "<pre>\n- [ ] no\n</pre>\n"],
  ])("hide text that looks like a plan: %s", (_, sample) => {
    expect(outline(HEAD + sample + LAST)).toEqual(["1 A @1", "[ ] 1.1 B @3", expect.stringMatching(/^\[ ] 1\.2 C/)]);
  });

  it("are closed correctly for a sample in a sample, with a warning", () => {
    const sample = "```markdown\n## Phase 9: No\n```python\ndo()\n```\nmore\n```\n";
    expect(outline(HEAD + sample + LAST)).toEqual(["1 A @1", "[ ] 1.1 B @3", "[ ] 1.2 C @13", "! FENCE_NESTED 5"]);
  });

  it("report checkboxes that strict Markdown would find in a sample in a sample", () => {
    const sample = "```markdown\n```python\ndo()\n```\n- [ ] sample\n```\n";
    expect(outline(HEAD + sample + LAST)).toContain("! CHECKBOX_UNPLACED 9");
  });

  it("continue to the end if they are not closed, and hidden checkboxes are reported", () => {
    expect(outline(`${HEAD}\`\`\`ts\n${LAST}`)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "! FENCE_UNCLOSED 5",
      "! CHECKBOX_UNPLACED 7",
    ]);
    expect(outline(`${HEAD}<!-- later\n${LAST}`)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "! FENCE_UNCLOSED 5",
      "! CHECKBOX_UNPLACED 7",
    ]);
  });

  it("end with their list item or block quote", () => {
    expect(outline(`${HEAD}- note\n  \`\`\`\n  do()\n${LAST}`).slice(0, 3)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "[ ] 1.2 C @9",
    ]);
    expect(outline(`${HEAD}- note\n\n  \`\`\`\n  do()\n${LAST}\n> \`\`\`\n`).slice(0, 3)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "[ ] 1.2 C @10",
    ]);
    expect(outline(`${HEAD}> \`\`\`\n> do()\n${LAST}`)).toEqual(["1 A @1", "[ ] 1.1 B @3", "[ ] 1.2 C @8"]);
  });

  it("in a list may be indented less than the item, up to their fence", () => {
    expect(outline(`${HEAD}- note\n  \`\`\`py\ndef f():\n  return 1\n  \`\`\`\n${LAST}`).slice(0, 3)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "[ ] 1.2 C @11",
    ]);
  });

  it("in a comment contain no tasks, but their checkboxes are reported", () => {
    expect(outline(`${HEAD}<!--\n- [ ] **Task 1.9**: no\n-->\n${LAST}`)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "[ ] 1.2 C @9",
      "! CHECKBOX_UNPLACED 6",
    ]);
    expect(outline(`${HEAD}- [ ] **Task 1.2**: C <!-- later -->\n`)).toContain("[ ] 1.2 C @5");
  });
});

it.each<readonly [string, string[]]>([
  ["```\n- [ ] **Task 1.2**: c\n", ["FENCE_UNCLOSED 5 this code", "CHECKBOX_UNPLACED 6"]],
  ["words\n<!--\n- [ ] **Task 1.2**: c\n", ["FENCE_UNCLOSED 6 this comment", "CHECKBOX_UNPLACED 7"]],
  ["```\ncode\n```\n<!-- words -->\n", []],
  ["```md\n```js\ncode\n```\n```\n- [ ] **Task 1.2**: c\n", ["FENCE_NESTED 5 in line 8"]],
])("code that is not closed, or in other code, is reported where it begins: %j", (text, expected) => {
  const { diagnostics } = parsePlan(HEAD + text);
  const words = /this (?:code|comment)|in line \d+/;
  expect(
    diagnostics.map(({ code, line, message }) => {
      const said = code.startsWith("FENCE") ? ` ${words.exec(message.replace("this sample", ""))}` : "";
      return `${code} ${line}${said}`;
    }),
  ).toEqual(expected);
});

describe("checkboxes without a meaning in a plan", () => {
  it.each([
    ["| a | [ ] |\n|---|---|\n", 5],
    ["Tick [x] when done.\n", 5],
    ["**Risks:**\n- [ ] late\n", 6],
    ["- note\n  [ ](no link to speak of)\n", 6],
  ])("are reported: %j", (text, line) => {
    expect(outline(HEAD + text)).toContain(`! CHECKBOX_UNPLACED ${line}`);
  });

  it.each([
    ["[x](https://example.org)\n"],
    ["`- [ ]` and ``[x] ` [ ]``\n"],
    ["returns string[] or map[-]\n"],
    ["[P] and [1]\n"],
  ])("do not include %j", (text) => {
    expect(outline(HEAD + text)).toEqual(["1 A @1", "[ ] 1.1 B @3"]);
  });
});

it("a fence that GitHub shows as a list of tasks is no code", () => {
  const text =
    "## Phase 1: A\n\n```[tasklist]\n### Parts\n- [ ] a\n- [x] b\n```\n\n- [ ] c\n\n```[tasklist]\n- [ ] d\n";
  expect(outline(text)).toEqual([
    "1 A @1",
    "[ ] 1.1 a @5",
    "[x] 1.2 b @6",
    "[ ] 1.3 c @9",
    "[ ] 1.4 d @12",
    "! FENCE_UNCLOSED 11",
  ]);
});
