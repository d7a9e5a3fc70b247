import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { missingRequirements, requirementTitles } from "../../src/plan/requirements.js";

/** A document as spec tools write it. */
const DOCUMENT = `# Requirements

### Requirement 1: Log in

#### Acceptance criteria

1. WHEN a user logs in THEN the page opens
1. IF the password is wrong THEN the page says so

### Requirement 2: **Log out**

### 3.1 Reset

- **FR-001**: Passwords have ten characters
| NFR-2 | Fast |
See AC-7.
`;

function missing(cited: string, document = DOCUMENT): string[] {
  const { plan } = parsePlan(`## Phase 1: A\n- [ ] **Task 1.1**: Name\n  - _Requirements: ${cited}_\n`);
  return missingRequirements(plan, document).map(({ id }) => id);
}

describe("a requirement that a task cites", () => {
  it.each([
    ["1", []],
    ["1.1, 1.2", []],
    ["1.3", ["1.3"]],
    ["1.1-1.3", ["1.3"]],
    ["1.1 – 1.2", []],
    // The items below the second title have no numbers: any of them may be there.
    ["2.1, 2.9", []],
    ["2.12", []],
    ["2.1.1", ["2.1.1"]],
    ["3.1.4", []],
    ["3.1.4.5", ["3.1.4.5"]],
    ["3.1", []],
    ["3.2", ["3.2"]],
    ["4", ["4"]],
    ["FR-001", []],
    ["fr-001", []],
    ["FR-002, FR-002", ["FR-002"]],
    ["NFR-2, AC-7, AC-8", ["AC-8"]],
    // Of these there are none in the document, so that they may be in another one.
    ["US-1", []],
    ["FR-7–9", []],
    ["9.1-9.2a", []],
    ["it is fast", []],
  ])("is missing from the document, or not: %s", (cited, expected) => {
    expect(missing(cited)).toEqual(expected);
  });

  it("is named with the first task that cites it", () => {
    const text =
      "## Phase 1: A\n- [ ] **Task 1.1**: B\n  - _Requirements: 9_\n- [ ] **Task 1.2**: C\n  - _Requirements: 9_\n";
    const found = missingRequirements(parsePlan(text).plan, DOCUMENT);
    expect(found.map(({ id, task }) => [id, task.name])).toEqual([["9", "B"]]);
  });

  it.each([
    ["a heading of the same level ends a section", "## 1 A\n1. x\n## Other\n2. y\n", "1.2", ["1.2"]],
    ["a heading of a lower level does not", "## 1 A\n### Other\n2. y\n", "1.2", []],
    ["an item needs a blank after its number", "## 1 A\n1. x\n2.y\n", "1.2", ["1.2"]],
    ["an item may have a bracket, and three blanks before it", "## 1 A\n   2) y\n", "1.2", []],
    ["four blanks make it code", "## 1 A\n1. x\n    5. y\n", "1.5", ["1.5"]],
    ["seven marks are no heading", "####### 1 A\n## 2 B\n", "1", ["1"]],
    ["three words before a number make it a part of a sentence", "## all of the 1\n## 2 B\n", "1", ["1"]],
    ["a number that goes on as a word is none", "## 1st\n## 2 B\n", "1", ["1"]],
    ["a number may have several digits", "## Requirement 12: A\n", "12, 13", ["13"]],
    ["so may its parts", "## 3.12 A\n1. x\n", "3.12.1, 3.12.2", ["3.12.2"]],
    ["a title may begin with marks", "###### [**7** A\n", "7, 8", ["8"]],
    ["a word stands before a number, with any blanks", "## User  requirement\t7 A\n", "7, 8", ["8"]],
    ["blanks before the marks do not make a heading lower", "   ## 1 A\n### Other\n2. y\n", "1.2, 1.3", ["1.3"]],
    ["codes of one kind may differ in length", "FR-001\n", "FR-120", ["FR-120"]],
    ["an item may have several digits", "## 1 A\n12. y\n", "1.12, 1.13", ["1.13"]],
    ["a number may stand anywhere", "See 12.34.56, 1.2\n", "12.34.56, 12.34, 1.2", ["12.34"]],
    ["a number that goes on as a word does not count", "See 1.2b, 1.3\n", "1.2", ["1.2"]],
    ["a code may have parts", "See NFR-SEC-12.34, AC12.3.\n", "NFR-SEC-12.34, NFR-SEC-12, AC12.3", ["NFR-SEC-12"]],
    ["letters are of one kind without the hyphen", "See FR1\n", "FR-2, FR1, NFR-1", ["FR-2"]],
    ["an item needs a title above", "1. x\n## 1 A\n1. x\n", "1.1, 1.2", ["1.2"]],
    ["lines may end as on Windows", "## 1 A\r\n1. x\r\n", "1.2", ["1.2"]],
  ])("%s", (_, document, cited, expected) => {
    expect(missing(cited, document)).toEqual(expected);
  });
});

describe("requirementTitles", () => {
  it("are those of headings, items and codes", () => {
    expect([...requirementTitles(DOCUMENT)]).toEqual([
      ["1", "Log in"],
      ["1.1", "WHEN a user logs in THEN the page opens"],
      ["1.2", "IF the password is wrong THEN the page says so"],
      ["2", "Log out"],
      ["3.1", "Reset"],
      ["FR-001", "Passwords have ten characters"],
      ["NFR-2", "Fast"],
    ]);
  });

  it.each([
    ["the first of two holds", "## 1 A\n## 1 B\n", [["1", "A"]]],
    ["a number alone has none", "## 1\n## 2:\n", []],
    [
      "an item is one of the section that is open",
      "1. x\n## 1 A\n2. y\n## Other\n3. z\n",
      [
        ["1", "A"],
        ["1.2", "y"],
        ["1.1", "y"],
      ],
    ],
    [
      "a code may have parts",
      "- **NFR-SEC-12.34** a\nAC12: b\n",
      [
        ["NFR-SEC-12.34", "a"],
        ["AC12", "b"],
      ],
    ],
    ["marks before a title are no part of it", "## 1 -- [x] A\n", [["1", "[x] A"]]],
    ["a code in a quote or a list counts", "> - `FR-1` – a\n", [["FR-1", "a"]]],
    ["a code that goes on as a word does not", "FR-1a b\n", []],
    ["one in the middle of a line does not", "See FR-1 b\n", []],
  ])("%s", (_, document, expected) => {
    expect([...requirementTitles(document)]).toEqual(expected);
  });
});
