import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

/** Returns the durations of the phases 1 to 3 of a plan that begins with an overview. */
function durations(overview: string): (string | undefined)[] {
  const phases = ["1", "2", "b"].map((key) => `## Phase ${key}: P\n- [ ] a task\n`);
  return parsePlan(`# Plan\n\n${overview}\n\n${phases.join("")}`).plan.phases.map(
    ({ estimatedDuration }) => estimatedDuration,
  );
}

describe("durations in overviews", () => {
  const NONE = undefined;
  it.each<readonly [string, (string | undefined)[]]>([
    ["- **Phase 1:** 2 days", ["2 days", NONE, NONE]],
    ["- **Phase 1**: 2 days (or more)", ["2 days", NONE, NONE]],
    ["- **Phase 1: Setup** - 2 days", ["2 days", NONE, NONE]],
    ["- **Phase 1** – 2-3 days\n- **Phase 2** — 1 week", ["2-3 days", "1 week", NONE]],
    ["- **phase 1**:\t2 days", ["2 days", NONE, NONE]],
    ["1. **Phase 1**: 4\n2. **Phase 2**: 4 - 6", ["4 hours", "4 - 6 hours", NONE]],
    ["- **Phase 1**: 2 days\n- **Phase 1**: 3 days", ["2 days", NONE, NONE]],
    ["- **Phase 1**: soon\n- **Phase 1**: 3 days", ["3 days", NONE, NONE]],
    ["- **Phase 1**: 4x", [NONE, NONE, NONE]],
    ["- **Phase 1**: about 4", [NONE, NONE, NONE]],
    ["- **Phase  1**: 12\n- **Phase 2**: 4-12", ["12 hours", "4-12 hours", NONE]],
    ["- **Phase 1**:2 days\n- **Phase 2** -3 days", ["2 days", "3 days", NONE]],
    ["- **Phase 1**:  - 2 days\n- **Phase 2** about: 3 days", ["2 days", "about: 3 days", NONE]],
    ["**Phase 1**: 2 days", [NONE, NONE, NONE]],
    ["- **Phase 12**: 2 days", [NONE, NONE, NONE]],
    ["- the **Phase 1**: 2 days", [NONE, NONE, NONE]],
    ["- Phase 1: 2 days", [NONE, NONE, NONE]],
    ["words: **Phase 1**: 2 days", [NONE, NONE, NONE]],
    ["- **After Phase 1**: 2 days", [NONE, NONE, NONE]],
  ])("of a list are read: %j", (overview, expected) => {
    expect(durations(overview)).toEqual(expected);
  });

  it.each<readonly [string, (string | undefined)[]]>([
    ["| Phase | Time |\n|---|---|\n| 1 | 2 days |\n| 2 | 3 days |", ["2 days", "3 days", NONE]],
    ["| # | Effort |\n|---|---|\n| 1 | 2 days |", ["2 days", NONE, NONE]],
    ["| Who | PHASE | Estimated hours |\n|---|---|---|\n| we | 2 | 4-6 |", [NONE, "4-6 hours", NONE]],
    ["| Phase | Duration |\n|---|---|\n| Phase 1: P | 2 days |\n| **Phase B** | 1 week |", ["2 days", NONE, "1 week"]],
    ["| Phase | Time |\n|---|---|\n| 1a | 2 days |\n| a1 | 2 days |\n| P | 3 days |", [NONE, NONE, NONE]],
    ["| **Phase** | **Time** |\n|---|---|\n| **1** | **2 days** |", ["2 days", NONE, NONE]],
    ["| Phase | Time\n|---|---\n| 1 | 2 days", ["2 days", NONE, NONE]],
    ["| Phase | Time |\n|---|---|\n| Phase 1 | 2 days |\n| 1. Phase 2 | 3 days |", ["2 days", "3 days", NONE]],
    ["| The | plan |\n|---|---|\n| Phase | Time |\n| 1 | 2 days |", ["2 days", NONE, NONE]],
    ["| Phase | plan |\n| Phase | Time |\n| 1 | 2 days |", ["2 days", NONE, NONE]],
    ["| Who | Time |\n| Phase | Time |\n| 1 | 2 days |", ["2 days", NONE, NONE]],
    ["Phase | Time\n---|---\n1 | 2 days", ["2 days", NONE, NONE]],
    ["| The phase | Time |\n|---|---|\n| 1 | 2 days |", [NONE, NONE, NONE]],
    ["| Phases | Time |\n|---|---|\n| 1 | 2 days |", [NONE, NONE, NONE]],
    ["| Phase | Who |\n|---|---|\n| 1 | 2 days |", [NONE, NONE, NONE]],
    ["| Phase | Time |\n|---|---|\n| 1 |\n| 2 | 3 days |", [NONE, "3 days", NONE]],
    [
      "| Phase | Time |\n|---|---|\n| 1 | 2 days |\n\nwords\n\n| Phase | Who | Time |\n|---|---|---|\n| 2 | 9 days | 3 days |",
      ["2 days", "3 days", NONE],
    ],
    ["| Phase | Time |\n|---|---|\n| 1 | 2 days |\n- **Phase 2**: 3 days", ["2 days", "3 days", NONE]],
    ["- | Phase | Time |\n- | 1 | 2 days |", [NONE, NONE, NONE]],
  ])("of a table are read: %j", (overview, expected) => {
    expect(durations(overview)).toEqual(expected);
  });

  it("of phases have numbers with any digits, also where headings have none", () => {
    const ten =
      "- **Phase 12**: 2 days\n\n| # | Time |\n|---|---|\n| 13 | 3 days |\n\n## Phase 12: A\n- [ ] a\n## Phase 13: B\n- [ ] b\n";
    const bare =
      "- **Phase 1**: 2 days\n- **Phase 2**: 3 days\n\n## Setup\n- [ ] a\n## Build\n- [ ] b (after Phase 1)\n";
    for (const text of [ten, bare])
      expect(parsePlan(text).plan.phases.map(({ estimatedDuration }) => estimatedDuration)).toEqual([
        "2 days",
        "3 days",
      ]);
    expect(parsePlan(bare).plan.phases[1]?.tasks[0]?.dependencies).toEqual(["1.1"]);
  });

  it("count less than those of a phase itself", () => {
    const overview = "# Plan\n\n- **Phase 1**: 1 day\n- **Phase 2**: 2 days\n- **Phase 3**: 3 days\n\n";
    const phases =
      "## Phase 1: A\n**Duration**: 5 days\n- [ ] a\n## Phase 2: B (6 days)\n- [ ] b\n## Phase 3: C\n- [ ] c\n";
    const { plan } = parsePlan(overview + phases);
    expect(plan.phases.map(({ estimatedDuration }) => estimatedDuration)).toEqual(["5 days", "6 days", "3 days"]);
  });
});

describe("a checkbox without a place", () => {
  const HEAD = "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n";
  /** Returns the places of the checkboxes without a place as `3:5 why`. */
  const unplaced = (text: string) =>
    parsePlan(text)
      .diagnostics.filter(({ code }) => code === "CHECKBOX_UNPLACED")
      .map(({ line, column, message }) => `${line}:${column} ${message.split("no gate, ")[1]}`);

  it.each<readonly [string, string[]]>([
    ["### Risks\n- [ ] late\n", ["5:4 below 'Risks'"]],
    ["### Risks\n> 1. - [x] late [ ] now\n", ["5:9 below 'Risks'", "5:18 in the middle of a line"]],
    ["### Risks\n#### [ ] late\n", ["5:7 below 'late'"]],
    ["### Risks\n  #######[ ] late\n", ["5:11 in the middle of a line"]],
    ["### Risks\n\n| a | [ ] |\n|---|---|\n", ["6:8 in the middle of a line"]],
    ["### Risks\nwords [ ] and words\n### More\n- [ ] late\n", ["5:8 in the middle of a line", "7:4 below 'More'"]],
    ["### Risks\n- [ ] a\n### More\n### Most\n- [ ] b\n", ["5:4 below 'Risks'", "8:4 below 'Most'"]],
    ["### Risks\n12. [ ] a\n> [ ] b\n", ["5:6 below 'Risks'", "6:4 below 'Risks'"]],
    ["### Risks\n##  [ ] a\n", ["5:6 below 'a'"]],
    ["### Risks\n# [ ] a\n", ["5:4 below 'a'"]],
    ["### Risks\n-[ ] a\n1234567890. [ ] b\n", ["5:3 below 'Risks'", "6:14 in the middle of a line"]],
    ["<!--\n- [ ] a\n-->\n", ["5:4 in a comment"]],
    ["```\n- [ ] a\n", ["5:4 in code that is never closed"]],
    ["<!--\n- [ ] a\n", ["5:4 in a comment"]],
    ["```\n- [ ] a\n```\n", []],
    ["````md\n```\n- [ ] a\n```\n- [ ] b\n````\n", []],
    ["```md\n```js\n- [ ] a\n```\n- [ ] b\n```\n- [ ] **Task 1.2**: c\n", ["8:4 in a sample in a sample"]],
  ])("is reported with its place and the reason: %j", (text, expected) => {
    expect(unplaced(HEAD + text)).toEqual(expected);
  });

  it("may be before the first heading", () => {
    expect(unplaced(`words [ ] here\n[x] there\n\n${HEAD}`)).toEqual([
      "1:8 in the middle of a line",
      "2:2 before the first heading",
    ]);
  });
});

describe("a title that names a phase, but is not read as one", () => {
  /** Returns the titles that are reported as `3:4 title (key)`. */
  const unread = (text: string) =>
    parsePlan(`## Phase 1: A\n- [ ] **Task 1.1**: b\n${text}`)
      .diagnostics.filter(({ code }) => code === "PHASE_UNREAD")
      .map(({ line, column, message, hint = "" }) => {
        const [, key] = /'## Phase (\S+): Name'/.exec(hint) ?? [];
        return `${line}:${column} ${/'(.*)' is not read as a phase/.exec(message)?.[1]} (${key})`;
      });

  it.each<readonly [string, string[]]>([
    ["## Phases 2-3: Build\n- [ ] a\n- [ ] b\n", ["3:4 Phases 2-3: Build (2)"]],
    ["## Then phase 2B\nwords\n### Part\n- [ ] b\n", ["3:4 Then phase 2B (2b)"]],
    ["**Phase 2: B**\n- [ ] a\n**Phase 3: C**\n- [ ] b\n", ["3:1 **Phase 2: B** (2)", "5:1 **Phase 3: C** (3)"]],
    ["## Then phase 2\n### Not phase 3\n- [ ] b\n", ["4:5 Not phase 3 (3)"]],
    ["## Then phase 2\n- b\n\n  ### [ ] c\n", ["3:4 Then phase 2 (2)"]],
    ["## Then phase 2\n## Other\n- [ ] b\n", []],
    ["# All of phase 7\n## Phase 2: B\n- [ ] **Task 2.1**: c\n", []],
    ["**Phase 2: B**\n### Other\n- [ ] b\n", []],
    ["## Then phase 2\n### Phase 1 again\n- [ ] b\n", ["3:4 Then phase 2 (2)"]],
    ["## Then phase 2\n- words\nwords\n", []],
    ["## Phase 1 Tasks\n- [ ] a\n", []],
    ["## Phase 2 Gate\n- [ ] a\n", []],
    ["## On to phase 2\n- [ ] a\n", []],
    ["### Task 1.2: Begin phase 2\n- [ ] a\n", []],
    ["## Phase 2: C\n- [ ] **Task 2.1**: d\n### Phase 2 Tasks\n- [ ] a\n", []],
    ["- **Phase 2: C**\n- [ ] a\n", []],
  ])("is reported if checkboxes are below it: %j", (text, expected) => {
    expect(unread(text)).toEqual(expected);
  });
});

it("a plan has nothing that its source does not say", () => {
  const text = "## Phase 1\n### Task 1.1: a\n- [x] c\n";
  const common = { dependencies: [], optional: false, parallel: false, requirements: [], files: [] };
  const at = (line: number, column: number, offset: number) => ({ line, column, offset });
  expect(parsePlan(text)).toStrictEqual({
    plan: {
      dialect: "praxis-os",
      phases: [
        {
          ...{ number: 1, name: "Phase 1", validationGate: [], position: at(1, 4, 3) },
          tasks: [
            {
              ...{ ...common, id: "1.1", name: "a", state: "done", position: at(2, 5, 15) },
              acceptanceCriteria: [
                {
                  ...{ text: "c", checked: true, position: at(3, 3, 29) },
                  checkbox: { mark: "x", position: at(3, 4, 30) },
                },
              ],
            },
          ],
        },
      ],
    },
    diagnostics: [],
  });
});

describe("numbers and names of phases", () => {
  it("are those of the source, if they ascend", () => {
    const of = (...keys: string[]) => {
      const { plan, diagnostics } = parsePlan(keys.map((key) => `## Phase ${key}: P${key}\n- [ ] a\n`).join(""));
      const renumbered = diagnostics.map(({ line, message }) => `${line} ${/'.*?' .*?is phase \d+/.exec(message)}`);
      return [plan.phases.map(({ number }) => number).join(" "), ...renumbered];
    };
    expect(of("0", "3", "999999")).toEqual(["0 3 999999"]);
    expect(of("1", "1000000")).toEqual(["1 2", "3 'P1000000' (1000000) is phase 2"]);
    expect(of("2", "1a")).toEqual(["2 3", "3 'P1a' (1a) is phase 3"]);
    expect(of("a", "1")).toEqual(["1 2"]);
    expect(of("1", "1.5", "2", "3")).toEqual(["1 2 3 4", "3 'P1.5' (1.5) is phase 2"]);
  });

  it.each([
    ["## Phase N\n- [ ] a\n", "'Phase n' is phase 1", 1],
    ["## Prepare\n- [ ] 1.1 a\n## Run\n- [ ] 3.1 b\n## Mend\n- [ ] 2.1 c\n", "'Mend' (2) is phase 4", 5],
  ])("that change are reported by the title: %j", (text, message, line) => {
    const found = parsePlan(text).diagnostics.filter(({ code }) => code === "PHASE_RENUMBERED");
    expect(found).toMatchObject([{ message: `${message} here: numbers must be whole and ascending`, line }]);
  });

  it("of tasks without ids count in their phase, around the ids that others have", () => {
    const text = "## Phase 2: A\n- [ ] a\n- [ ] **Task 2.1**: b\n- [ ] **Task 2.1**: c\n- [ ] d\n";
    const { plan, diagnostics } = parsePlan(text);
    expect(plan.phases[0]?.tasks.map(({ id, name }) => `${id} ${name}`)).toEqual([
      ...["2.1-2 a", "2.1 b", "2.1-3 c", "2.4 d"],
    ]);
    expect(diagnostics.map(({ code, line, hint }) => `${code} ${line} ${hint}`)).toEqual([
      "TASK_WITHOUT_ID 2 Give it an id.",
      "TASK_ID_REPEATED 4 Give each task its own id.",
      "TASK_WITHOUT_ID 5 Give it an id.",
    ]);
  });

  it("of requirements and files of a task are listed once", () => {
    const text = "## Phase 1: A\n### Task 1.1: a\n_Requirements: 1.2, 1.3, 1.2_\n**Files**: `a/b.ts`, `a/b.ts`\n";
    const [task] = parsePlan(text).plan.phases[0]?.tasks ?? [];
    expect(task).toMatchObject({ requirements: ["1.2", "1.3"], files: ["a/b.ts"] });
  });
});
