/** Plans of lines that people write, and of lines that nobody should write. */
import fc from "fast-check";

const MARKS = [" ", "x", "X", "-", "~", "", "  ", "\t", "!", "?", "/", "✓", " x", "x "];
const MARKERS = ["- ", "* ", "+ ", "1. ", "2) ", "10. ", "", "> - ", "-", "-\t", "> "];
const INDENTS = ["", "", "", "  ", "    ", "\t", "   ", "      ", "  \t"];
const AFTER = [" ", " ", " ", "* ", "", "\t", "(link) ", ": "];
const WORDS = [
  "**Task 1.1**: Name",
  "**Task 1.2: Name** (2 hours)",
  "Task 2.1: Name (depends on Task 1.1)",
  "1.1 Name",
  "1.2 Name",
  "2. Name",
  "T001 [P] [US1] Create a model in src/a.ts (depends on T002)",
  "T002 Name",
  "do this `- [ ]` and [x] that",
  "**bold** text",
  "a list[ ] and [-] a mark",
  "Ünïcode 🎯 text",
  "",
  "**Acceptance Criteria:**",
  "`code` [ ]",
];

const BLOCKS = [
  "# Plan",
  "## Phase 1: One",
  "### Phase 1: One",
  "## Phase 2) Two",
  "## Phase 2: Test the task reader",
  "## Phase N: Last",
  "**Phase 3: Bold**",
  "## 1. Setup",
  "## 2. Build",
  "### Phase 1 Tasks",
  "## Tasks / Subtasks",
  "#### Task 1.1: Name",
  "### Task 2.1: Name",
  "##### Acceptance Criteria",
  "## [ ] Task 1.3: In a heading",
  "Phase 4: Set",
  "-------",
  "=======",
  "**Acceptance Criteria:**",
  "Acceptance Criteria:",
  "- **Acceptance Criteria**:",
  "  - *Acceptance Criteria*:",
  "**Validation Gate:**",
  "## Validation Gate",
  "## Phase Validation Gates",
  "### 🛑 Phase 1 Validation Gate",
  "**Checkpoint**: all is well",
  "**Dependencies**: Task 1.1, Task 1.2 and 1.3",
  "- **Dependencies:** Phase 1 complete",
  "_Requirements: 1.2_",
  "_Prompt: Role: dev | Task: [ ] all_",
  "## Risks",
  "**Deliverables:**",
  "| Phase | Duration |",
  "|---|---|",
  "| 1 | [ ] 2 hours |",
  "**[ ] Task 1.4**: bare and bold",
  "*[x]* slanted",
  "[ ] bare",
  "[x](https://example.org)",
  "[x]: https://example.org",
  "- [ ]*",
  "- []",
  "- [ ]\\",
  "\\- [ ] escaped",
  "\\[ ] escaped",
  "---",
  "***",
  "```",
  "```python",
  "```markdown",
  "````",
  "````markdown",
  "~~~",
  "~~~ts",
  "  ```",
  "    ```js",
  "- ```",
  "- [ ] ```",
  "> ```",
  "```inline``` [ ]",
  "``` with ` tick",
  "`multi",
  "line` [ ]",
  "<!-- one line -->",
  "<!-- begins",
  "ends -->",
  "text <!-- - [ ] inside --> [ ] outside",
  "<!---->[ ]",
  "<!-->",
  "<details>",
  "</details>",
  "<summary>S [ ]</summary>",
  "<pre>",
  "</pre>",
  "<script>",
  "<?php",
  "<![CDATA[",
  "]]>",
  "<div>",
  "- - - [ ] deep",
  "1. - > [ ] deep",
  "> > [ ] quoted",
  "      - [ ] far in",
  "\u00a0- [ ] no-break space",
  "\u2028- [ ] line separator",
  "\f- [ ] form feed",
  "- [ ] nul \0",
  "-   [ ]   wide",
  "-     [ ] wider than code",
  "\t- [ ] tab",
  "-\t[ ] tab after",
  "",
  "",
  "",
];

const checkboxLine = fc
  .tuple(
    fc.constantFrom(...INDENTS),
    fc.constantFrom(...MARKERS),
    fc.constantFrom(...MARKS),
    fc.constantFrom(...AFTER),
    fc.constantFrom(...WORDS),
  )
  .map(([indent, marker, mark, after, words]) => `${indent}${marker}[${mark}]${after}${words}`);

const usualLine = fc
  .tuple(fc.constantFrom("", "", "  ", "    "), fc.constantFrom(" ", " ", "x"), fc.constantFrom(...WORDS))
  .map(([indent, mark, words]) => `${indent}- [${mark}] ${words}`);

const line = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...BLOCKS) },
  { weight: 3, arbitrary: usualLine },
  { weight: 2, arbitrary: checkboxLine },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...INDENTS), fc.constantFrom(...BLOCKS)).map((parts) => parts.join("")),
  },
);

/** Texts that look more or less like plans. */
export const arbitraryPlan = fc
  .tuple(
    fc.constantFrom("", "", "", "\uFEFF"),
    fc.constantFrom("", "## Phase 1: One", "# Plan\n\n## 1. Setup", "## Phase 1: One\n\n- [ ] **Task 1.1**: First"),
    fc.array(line, { maxLength: 25 }),
    fc.constantFrom("\n", "\n", "\r\n", "\r"),
  )
  .map(([mark, head, lines, end]) => mark + [...head.split("\n"), ...lines].join(end));
