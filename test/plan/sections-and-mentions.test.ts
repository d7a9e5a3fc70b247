import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

type Case = readonly [name: string, plan: string, read: readonly string[]];

const check = (_: string, plan: string, read: readonly string[]) => expect(outline(plan)).toEqual(read);

const VAIHE: readonly Case[] = [
  [
    "without tasks are no phases",
    "## Vaihe 3: A\n- [ ] one\n## Vaihe 4: B\nLater.\n## Vaihe 5: C\n- [ ] two\n",
    ["3 Vaihe 3: A @1", "[ ] 3.1 one @2", "5 Vaihe 5: C @5", "[ ] 5.1 two @6"],
  ],
  [
    "may have a checkbox without an id alone",
    "## Vaihe 3: A\n- [ ] 3.1 one\n## Vaihe 4: B\n- [ ] plain\n## Vaihe 5: C\n- [ ] 5.1 two\n",
    ["3 Vaihe 3: A @1", "[ ] 3.1 one @2", "4 Vaihe 4: B @3", "[ ] 4.1 plain @4", "5 Vaihe 5: C @5", "[ ] 5.1 two @6"],
  ],
  [
    "have their numbers, and headings below them begin no phase",
    `## Vaihe 3: Runko
### Koodi
- [ ] one
### Testit
- [ ] two
## Vaihe 5: Julkaisu
- [ ] three
`,
    ["3 Vaihe 3: Runko @1", "[ ] 3.1 one @3", "[ ] 3.2 two @5", "5 Vaihe 5: Julkaisu @6", "[ ] 5.1 three @7"],
  ],
  [
    "do not count before a task above all headings",
    "- [ ] zero\n## Vaihe 3: A\n- [ ] one\n## Vaihe 5: B\n- [ ] two\n",
    ["1 Vaihe 3: A @2", "[ ] 1.1 one @3", "2 Vaihe 5: B @4", "[ ] 2.1 two @5", "! CHECKBOX_UNPLACED 1"],
  ],
  [
    "have the word that most headings have",
    "# Osa 7: A\n## Vaihe 3: B\n- [ ] one\n## Vaihe 5: C\n- [ ] two\n# Osa 9: D\n## Vaihe 6: E\n- [ ] three\n",
    ["3 Vaihe 3: B @2", "[ ] 3.1 one @3", "5 Vaihe 5: C @4", "[ ] 5.1 two @5", "6 Vaihe 6: E @7", "[ ] 6.1 three @8"],
  ],
  [
    "have a word that is no part of a word for notes",
    "## Footnote 3: A\n- [ ] one\n## Footnote 5: B\n- [ ] two\n## Notebook 6: C\n",
    ["3 Footnote 3: A @1", "[ ] 3.1 one @2", "5 Footnote 5: B @3", "[ ] 5.1 two @4"],
  ],
  [
    "have a word that only begins like one for notes",
    "## Tablet 3: A\n- [ ] one\n## Tablet 5: B\n- [ ] two\n",
    ["3 Tablet 3: A @1", "[ ] 3.1 one @2", "5 Tablet 5: B @3", "[ ] 5.1 two @4"],
  ],
  [
    "are not ranges of tasks",
    "## Tasks 3-4: A\n- [ ] one\n## Tasks 5-6: B\n- [ ] two\n",
    ["1 Tasks 3-4: A @1", "[ ] 1.1 one @2", "2 Tasks 5-6: B @3", "[ ] 2.1 two @4"],
  ],
  [
    "are headings, not items",
    "- [ ] Vaihe 3: A\n  - [ ] one\n- [ ] Vaihe 5: B\n  - [ ] two\n",
    ["1 Tasks @1", "[ ] 1.1 Vaihe 3: A @1 0/1", "[ ] 1.2 Vaihe 5: B @3 0/1"],
  ],
];

describe("headings with a word that is not known, and a number", () => {
  it.each(VAIHE)("%s", check);
});

const LISTED: readonly Case[] = [
  [
    "have the items below them as tasks, not bullets that are named like phases",
    "- Phase 1: A\n  - Phase 0: must be done\n  - [ ] one\n- Phase 2: B\n  - [ ] two\n",
    ["1 A @1", "[ ] 1.1 one @3", "2 B @4", "[ ] 2.1 two @5"],
  ],
  [
    "are tasks where one with a checkbox has nothing but a bullet",
    "- [ ] Phase 1: A\n  - with care\n- [ ] Phase 2: B\n  - [ ] two\n",
    ["1 Tasks @1", "[ ] 1.1 Phase 1: A @1", "[ ] 1.2 Phase 2: B @3 0/1"],
  ],
  [
    "may have tasks without ids beside others with ids",
    "- [ ] Phase 1: A\n  - [ ] 1.1 one\n- [ ] Phase 2: B\n  - [ ] two\n",
    ["1 A @1", "[ ] 1.1 one @2", "2 B @3", "[ ] 2.1 two @4", "! CHECKBOX_UNPLACED 1", "! CHECKBOX_UNPLACED 3"],
  ],
];

describe("phases in a list", () => {
  it.each(LISTED)("%s", check);
});

const BESIDE: readonly Case[] = [
  [
    "is the one on the level of the phases, not one below it",
    "## Phase 1: A\n- [ ] 1.1 one\n## Hotfixes\n### Urgent\n- [ ] 9.1 two\n### Later\n- [ ] 9.2 three\n",
    ["1 A @1", "[ ] 1.1 one @2", "2 Hotfixes @3", "[ ] 9.1 two @5", "[ ] 9.2 three @7"],
  ],
  [
    "is the nearest heading, not an item, if none is on this level",
    "## Work\n### Phase 1: A\n- [ ] 1.1 one\n## Hotfixes\n- Login\n  - [ ] 9.1 two\n",
    ["1 A @2", "[ ] 1.1 one @3", "2 Hotfixes @4", "[ ] 9.1 two @6"],
  ],
  [
    "is none above a task that is a higher heading than the phases",
    "# Plan\n### Phase 1: A\n## Task 1.1: One\n- [ ] done\n## Task 1.2: Two\n- [ ] done\n",
    ["1 A @2", "[ ] 1.1 One @3 0/1", "[ ] 1.2 Two @5 0/1"],
  ],
  [
    "is one that follows an overview of its tasks",
    "## Overview\n- [ ] 9.1 two\n## Phase 1: A\n- [ ] 1.1 one\n## Hotfixes\n- [ ] 9.1 two\n",
    ["1 A @3", "[ ] 1.1 one @4", "2 Hotfixes @5", "[ ] 9.1 two @6", "! CHECKBOX_UNPLACED 2"],
  ],
  [
    "is not one that repeats the tasks of another one",
    "## Phase 1: A\n- [ ] 1.1 one\n## Hotfixes\n- [ ] 9.1 two\n## Rollout\n- [ ] 9.1 two\n",
    ["1 A @1", "[ ] 1.1 one @2", "2 Hotfixes @3", "[ ] 9.1 two @4", "! CHECKBOX_UNPLACED 6"],
  ],
];

describe("a section with tasks beside phases", () => {
  it.each(BESIDE)("%s", check);
});

const SECTIONS: readonly Case[] = [
  [
    "without tasks but with criteria is no phase",
    "## A\n- [ ] one\n## B\n### Acceptance criteria\n- [ ] fast\n",
    ["1 A @1", "[ ] 1.1 one @2", "! CHECKBOX_OF_PLAN 5"],
  ],
  [
    "has a name without the blanks in its bold",
    "## **Setup **\n- [ ] one\n## **Build **\n- [ ] two\n",
    ["1 Setup @1", "[ ] 1.1 one @2", "2 Build @3", "[ ] 2.1 two @4"],
  ],
  [
    "has tasks without ids beside sections with ids",
    `## Setup
- [ ] 1.1 one
- [ ] 1.2 two
## Release
- [ ] tag it
- [ ] tell all
## Risks
- [ ] data loss
## Docs
### API
- [ ] 3.1 three
`,
    [
      "1 Setup @1",
      "[ ] 1.1 one @2",
      "[ ] 1.2 two @3",
      "2 Release @4",
      "[ ] 2.1 tag it @5",
      "[ ] 2.2 tell all @6",
      "3 API @10",
      "[ ] 3.1 three @11",
      "! CHECKBOX_UNPLACED 8",
    ],
  ],
  [
    "with nothing but criteria is no phase beside sections with ids, nor is one on another level",
    "## A\n- [ ] 1.1 one\n- [ ] 1.2 two\n## B\n### Acceptance criteria\n- [ ] fast\n### C\n- [ ] three\n",
    ["1 A @1", "[ ] 1.1 one @2", "[ ] 1.2 two @3", "! CHECKBOX_OF_PLAN 6", "! CHECKBOX_UNPLACED 8"],
  ],
  [
    "keeps a name that one below a parent has, too, if it has no parent itself",
    "# Steps\n- [ ] one\n# Plan\n## Steps\n- [ ] two\n",
    ["1 Steps @1", "[ ] 1.1 one @2", "2 Plan @3", "[ ] 2.1 two @5"],
  ],
  [
    "keeps a name that others have if its parent has tasks",
    "## Parser\n- [ ] zero\n### Steps\n- [ ] one\n## Printer\n### Steps\n- [ ] two\n",
    ["1 Parser @1", "[ ] 1.1 zero @2", "2 Steps @3", "[ ] 2.1 one @4", "3 Printer @5", "[ ] 3.1 two @7"],
  ],
];

describe("a section", () => {
  it.each(SECTIONS)("%s", check);
});

const MENTIONS: readonly Case[] = [
  [
    "above all headings repeat no task",
    "- [ ] 1.1 a\n\n## Phase 1: A\n- [ ] 1.1 a\n  - with care\n",
    ["1 A @3", "[ ] 1.1 a @4", "! CHECKBOX_UNPLACED 1"],
  ],
  [
    "with a whole number that are headings are sections",
    "## Phase 12: A\n### 12. Overview\nWords.\n### 12.1 Tables\n- [ ] done\n",
    ["12 A @1", "[ ] 12.1 Tables @4 0/1"],
  ],
  [
    "in lines and bullets make no other checkbox a task with a code",
    "## Phase 1: A\n- [ ] M4 runner\n- [ ] cache\n\nM1 is too old.\n\n- M2 is too slow.\n- M3 is sold out.\n",
    ["1 A @1", "[ ] 1.1 M4 runner @2", "[ ] 1.2 cache @3"],
  ],
  [
    "of a checklist are tasks where only a line has their name",
    "## Phase 1: A\n- [ ] one\n\nParser\n\n### Printer\n## Phase 2: Checklist\n- [ ] Parser\n- [ ] Printer\n- [ ] One\n",
    ["1 A @1", "[ ] 1.1 one @2", "2 Checklist @7", "[ ] 2.1 Parser @8", "[ ] 2.2 Printer @9", "! CHECKBOX_REPEATED 10"],
  ],
  [
    "that are headings are tasks also in a section about progress",
    "## Phase 1: A\n### Task 1.1: One\n- [ ] done\n## Phase 2: Progress\n### Task 1.1: Two\n",
    ["1 A @1", "[ ] 1.1 One @2 0/1", "2 Progress @4", "[ ] 1.1-2 Two @5", "! TASK_ID_REPEATED 5"],
  ],
  [
    "with whole numbers begin anew in each section",
    "## Phase 1: A\n- [ ] 12. Write tests\n  - all of them\n## Phase 2: B\n- [ ] 12. Write tests\n",
    ["1 A @1", "[ ] 12 Write tests @2", "2 B @4", "[ ] 12-2 Write tests @5", "! TASK_ID_REPEATED 5"],
  ],
  [
    "with a number that has a dot repeat it under the same name",
    "## Phase 1: A\n- [ ] 1.1 Write tests\n  - all of them\n## Phase 2: B\n- [ ] 1.1 Write the tests\n- [ ] 2.1 two\n",
    ["1 A @1", "[ ] 1.1 Write tests @2", "2 B @4", "[ ] 2.1 two @6", "! CHECKBOX_REPEATED 5"],
  ],
  [
    "with a number that has a dot are two tasks under names without a common word",
    "## Phase 1: A\n- [ ] 1.1 Write tests\n  - all of them\n## Phase 2: B\n- [ ] 1.1 Deploy\n",
    ["1 A @1", "[ ] 1.1 Write tests @2", "2 B @4", "[ ] 1.1-2 Deploy @5", "! TASK_ID_REPEATED 5"],
  ],
  [
    "with a table below are the task, and those without anything repeat it",
    "## Phase 1: A\n- [ ] 1.1 One\n## Phase 2: B\n- [ ] 1.1 One\n\n| a | b |\n|---|---|\n| c | d |\n\n- [ ] 2.1 two\n",
    ["1 A @1", "2 B @3", "[ ] 1.1 One @4", "[ ] 2.1 two @10", "! PHASE_EMPTY 1", "! CHECKBOX_REPEATED 2"],
  ],
  [
    "that are headings with a checkbox are tasks above their subtasks",
    "## Phase 1: A\n### [ ] Task 1.1: One\n- [ ] Task 1.1.1: two\n- [x] Task 1.1.2: three\n",
    ["1 A @1", "[ ] 1.1 One @2", "[ ] 1.1.1 two @3", "[x] 1.1.2 three @4"],
  ],
  [
    "that are headings without a checkbox are sections above their subtasks",
    "## Phase 1: A\n### Task 1.1: One\n- [ ] Task 1.1.1: two\n- [x] Task 1.1.2: three\n",
    ["1 A @1", "[ ] 1.1.1 two @3", "[x] 1.1.2 three @4"],
  ],
  [
    "that are the name of a file are no tasks",
    "## Phase 1: A\n- [ ] **Task 1.1**: One\n\n- task-2-notes.md has more\n- Task 1.2\n- See Task 1.3 later\n\nTask 1.4 needs **care**.\n",
    ["1 A @1", "[ ] 1.1 One @2", "[ ] 1.2 Task 1.2 @5"],
  ],
  [
    "in a table are no tasks",
    "## Phase 1: A\na | b\n--- | ---\n**Task 1.1** | One\n\nThis comes first.\n\n- [ ] **Task 1.1**: One\n",
    ["1 A @1", "[ ] 1.1 One @8"],
  ],
];

describe("mentions", () => {
  it.each(MENTIONS)("%s", check);
});

const NUMBERS: readonly Case[] = [
  [
    "without a dot go on after one with a dot",
    "- [ ] 9. apples\n- [ ] 10  pears\n- [ ] 11 plums\n",
    ["1 Tasks @1", "[ ] 9 apples @1", "[ ] 10 pears @2", "[ ] 11 plums @3"],
  ],
  [
    "without a dot count things in a plan whose ids have one",
    "## Phase 1: A\n- [ ] 1.1 soup\n  - [ ] 1 pot\n  - [ ] 2 spoons\n",
    ["1 A @1", "[ ] 1.1 soup @2 0/2"],
  ],
  ["of bullets are no ids", "## A\n- [ ] soup\n  - 1 pot\n  - 2 spoons\n", ["1 A @1", "[ ] 1.1 soup @2"]],
  [
    "of headings are no ids, also with a checkbox",
    "## [ ] 1 A\n- [ ] one\n## [ ] 2 B\n- [ ] two\n",
    ["1 1 A @1", "[ ] 1.1 one @2", "2 2 B @3", "[ ] 2.1 two @4", "! CHECKBOX_UNPLACED 1", "! CHECKBOX_UNPLACED 3"],
  ],
  [
    "without a dot are no ids in a dialect with codes",
    "## Phase 1: A\n- [ ] T001 one\n  - [ ] 1 pot\n  - [ ] 2 spoons\n",
    ["1 A @1", "[ ] T001 one @2 0/2"],
  ],
  [
    "of a group above checkboxes are no ids without a part behind a dot",
    "## Phase 1: A\n- **12.** Kitchen\n  - [ ] soup\n- **1.** Cellar\n  - [ ] wine\n",
    ["1 A @1", "[ ] 1.1 soup @3", "[ ] 1.2 wine @5"],
  ],
  [
    "of a bullet above checkboxes are ids with such a part",
    "## Phase 1: A\n- 1.1 Kitchen\n  - [ ] soup\n- 1.2 Exit criteria:\n  - [ ] wine\n",
    ["1 A @1", "[ ] 1.1 Kitchen @2 0/1", "gate wine"],
  ],
  [
    "of a bullet that is a label without a meaning are ids",
    "## Phase 1: A\n- 1.1 Kitchen:\n  - [ ] soup\n- **1.2 Cellar:**\n  - [ ] wine\n",
    ["1 A @1", "[ ] 1.1 Kitchen: @2 0/1", "[ ] 1.2 Cellar: @4 0/1"],
  ],
];

describe("numbers", () => {
  it.each(NUMBERS)("%s", check);

  it("below a task are criteria in a dialect whose subtasks are criteria", () => {
    const plan =
      "## Tasks / Subtasks\n- [ ] Task 1: One\n  - [x] 1.1 two\n  - [ ] 2. three\n- [ ] Task 2: Four (after 1)\n";
    expect(outline(plan)).toEqual(["1 Tasks / Subtasks @1", "[ ] 1 One @2 1/2", "[ ] 2 Four @5 < 1"]);
  });

  it("below headings are criteria in such a dialect", () => {
    const plan =
      "## Tasks / Subtasks\n### Task 1: One\n- [x] 1.1 two\n  - [ ] 1.1.1 three\n### Task 2: Four\n- [ ] 2.1 five\n";
    expect(outline(plan)).toEqual(["1 Tasks / Subtasks @1", "[ ] 1 One @2 1/2", "[ ] 2 Four @5 0/1"]);
  });
});

const PHASES: readonly Case[] = [
  [
    "have gates that name the next phase",
    "## Phase 1: A\n- [ ] one\n## Phase 1 - Validation Gate (before Phase 2: B)\n- [ ] green\n## Phase 2: B\n- [ ] two\n",
    ["1 A @1", "[ ] 1.1 one @2", "gate green", "2 B @5", "[ ] 2.1 two @6"],
  ],
  [
    "may be in bold right below a table",
    "| a | b |\n|---|---|\n| c | d |\n**Phase 1: A**\n- [ ] one\n\n**Phase 2: B** (2 days)\n- [ ] two\n",
    ["1 A @4", "[ ] 1.1 one @5", "2 B @7", "[ ] 2.1 two @8"],
  ],
  [
    "without a number and without tasks are headings like others",
    "## Phase 1: A\n- [ ] one\n## Phase: Outlook\nMore will come.\n## Phase 2: B\n- [ ] two\n",
    ["1 A @1", "[ ] 1.1 one @2", "2 B @5", "[ ] 2.1 two @6"],
  ],
  [
    "without a number are not the ones that list the tasks again",
    "## Phase: A\n- [ ] 1.1 One\n## Phase: B\n- [ ] 2.1 Two\n## Phase: Recap\n- [ ] 1.1 One\n- [ ] 2.1 Two\n",
    ["1 A @1", "[ ] 1.1 One @2", "2 B @3", "[ ] 2.1 Two @4", "! CHECKBOX_UNPLACED 6", "! CHECKBOX_UNPLACED 7"],
  ],
];

describe("phases", () => {
  it.each(PHASES)("%s", check);

  it("V and U have letters, not Roman numbers", () => {
    const read = outline("## Phase U: A\n- [ ] one\n## Phase V: B\n- [ ] two\n");
    expect(read.slice(0, 4)).toEqual(["1 A @1", "[ ] 1.1 one @2", "2 B @3", "[ ] 2.1 two @4"]);
  });
});

describe("checkboxes without a code", () => {
  it.each([
    [19, "! CHECKBOX_UNPLACED 4"],
    [20, "[ ] 1.2 b @4"],
  ])("in another part of the phase are no tasks if there are few: %i", (others, read) => {
    expect(outline(`## Phase 1: A\n- [ ] T001 a\n### Part\n${"- [ ] b\n".repeat(others)}`)).toContain(read);
  });
});
