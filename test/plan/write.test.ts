import { parsePlan, planToMarkdown } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import type { Plan, PlanPhase, PlanTask } from "../../src/plan/plan.js";

/** A plan as it is written: all that a plan can have, and the spelling of each. */
const PRAXIS = `Legend: [ ] pending, [!] blocked

## Phase 1: Foundations

**Goal**: Everyone can build.

**Duration**: 1-2 days

- [x] **Task 1.1**: Set up the build

  Use the tools of the team.

  The handbook lists them.

  - **Estimated Time**: 2 hours
  - **Requirements**: FR-001
  - **Files**: src/build.ts
  - **Acceptance Criteria**:
    - [x] It builds
      - on all machines
    - [ ] ~~It is quick~~
    - Nobody waits
- [!] **Task 1.2**: [P] [US1] Rent a server
  - **Dependencies**: Task 1.1
  - **Requirements**:
    - FR-002
    - FR-003
  - **Files**:
    - ops/net.ts
    - ops/server.ts
- [~]* **Task 1.3**: Order a desk
  - **Dependencies**: Task 1.1, Task 1.2
- [-] **Task 1.4**: Move in
- [ ] **Task 1.5**: ~~Throw a party~~

**Validation Gate**:

- [x] The build passes
  - twice
- Nobody waits
- [ ] ~~The party was good~~

## Phase 2: Later
`;

const NUMBERS = PRAXIS.replace(/\*\*Task (\S+)\*\*:/g, "$1");

describe("planToMarkdown", () => {
  it.each([
    ["all parts", "praxis-os", PRAXIS],
    ["all parts", "plain", PRAXIS],
    ["all parts", "kiro", NUMBERS],
    // There a heading without tasks is no phase.
    ["all parts", "openspec", NUMBERS.replace("## Phase 1:", "## 1.").replace("\n## Phase 2: Later\n", "")],
    // There `~` is blocked, so that nothing is queued.
    [
      "all parts",
      "spec-workflow",
      NUMBERS.replace(/^Legend.*\n\n/, "")
        .replace("[~]", "[ ]")
        .replace("[!]", "[~]"),
    ],
    ["all parts", "spec-kit", PRAXIS.replace(/\*\*Task 1\.(\d)\*\*:/g, "T00$1").replace(/Task 1\.(\d)/g, "T00$1")],
    ["ids without a dot", "kiro", "## Phase 1: A\n\n- [ ] 9a. Saw\n- [ ] 12. Nail\n  - **Dependencies**: Task 9a\n"],
    ["a phase between two", "plain", "## Phase 1.5: A\n\n- [ ] **Task 1.1**: Saw\n"],
  ])("writes a plan in its own form as it stands: %s, %s", (_, dialect, text) => {
    const { plan } = parsePlan(text, { dialect });
    expect(planToMarkdown(plan, { dialect })).toBe(text);
  });

  it("writes praxis-os unless told otherwise", () => {
    expect(planToMarkdown(parsePlan(PRAXIS).plan)).toBe(PRAXIS);
  });

  it("writes a plan although ids and files are read in another order, which has no meaning", () => {
    const { plan } = parsePlan("## Phase 1: A\n- [ ] Task 1.1: Saw\n- [ ] Task T-2: Nail\n- [ ] Task 1.3: Paint\n");
    const waiting = (task: PlanTask) => (task.id === "1.3" ? { ...task, dependencies: ["1.1", "T-2"] } : task);
    const written = planToMarkdown({
      ...plan,
      phases: plan.phases.map((phase) => ({ ...phase, tasks: phase.tasks.map(waiting) })),
    });
    expect(written).toContain("**Dependencies**: Task 1.1, T-2\n");
    expect(parsePlan(written).plan.phases[0]?.tasks[2]?.dependencies).toEqual(["T-2", "1.1"]);
  });

  it("does not explain marks of which there are none", () => {
    const { plan } = parsePlan("## Phase 1: A\n\n- [-] **Task 1.1**: Saw\n");
    expect(planToMarkdown(plan)).toBe("## Phase 1: A\n\n- [-] **Task 1.1**: Saw\n");
  });

  const PLAN = parsePlan("## Phase 1: A\n- [ ] **Task 1.1**: Name\n- [ ] Task 1.2: B\n- [ ] Task 1.3: C\n").plan;
  const withPhase = (change: (phase: PlanPhase) => PlanPhase): Plan => ({ ...PLAN, phases: PLAN.phases.map(change) });
  const inPhase = (fields: Partial<PlanPhase>) => withPhase((phase) => ({ ...phase, ...fields }));
  const numbered = (...numbers: number[]): Plan => ({
    ...PLAN,
    phases: PLAN.phases.flatMap((phase) => numbers.map((number) => ({ ...phase, number, tasks: [] }))),
  });
  /** Returns the plan with another first task. */
  function changed(fields: Partial<PlanTask>): Plan {
    const change = (task: PlanTask, index: number) => (index === 0 ? { ...task, ...fields } : task);
    return withPhase((phase) => ({ ...phase, tasks: phase.tasks.map(change) }));
  }
  const item = (text: string) => ({ text, checked: false, position: { line: 1, column: 1, offset: 0 } });
  const ticked = { ...item("Saw"), checked: true };

  it("keeps blanks in empty lines of a description", () => {
    const description = "First\n \nThen";
    expect(parsePlan(planToMarkdown(changed({ description }))).plan.phases[0]?.tasks[0]).toMatchObject({ description });
  });

  it.each(["a[0] = `[x]` and *b*", "`- [ ]`", "see **all** of __it__", "<!--", "1.2 numbers", "#1 | 2"])(
    "keeps the name %j",
    (name) => {
      expect(parsePlan(planToMarkdown(changed({ name }))).plan.phases[0]?.tasks[0]?.name).toBe(name);
    },
  );

  it.each<[string, Plan, string, string]>([
    ["phases of the plan", { ...PLAN, phases: [] }, "[]", "nothing"],
    ["phases of the plan", numbered(2, 1), "[2,1]", "[2,3]"],
    ["written of phase 1", inPhase({ written: "one" }), '"one"', "nothing"],
    ["name of phase 1", inPhase({ name: "A (1 week)" }), '"A (1 week)"', '"A"'],
    ["goal of phase 1", inPhase({ goal: "a\nb" }), '"a\\nb"', '"a"'],
    ["estimatedDuration of phase 1", inPhase({ estimatedDuration: "1\n2" }), '"1\\n2"', '"1"'],
    ["tasks of phase 1", changed({ name: "B\n- [ ] Task 9: C" }), '["1.1","1.2","1.3"]', '["1.1","9","1.2","1.3"]'],
    ["gate of phase 1", inPhase({ validationGate: [ticked] }), "", ""],
    ["name of task 1.1", changed({ name: "two\nlines" }), '"two\\nlines"', '"two"'],
    ["name of task 1.1", changed({ name: "~~struck~~" }), '"~~struck~~"', '"struck"'],
    ["name of task 1.1", changed({ name: "Name (2 hours)" }), '"Name (2 hours)"', '"Name"'],
    ["description of task 1.1", changed({ description: "Time: 2h" }), '"Time: 2h"', "nothing"],
    ["estimatedTime of task 1.1", changed({ estimatedTime: "1\n2" }), '"1\\n2"', '"1"'],
    ["dependencies of task 1.1", changed({ dependencies: ["9.9"] }), '["9.9"]', "[]"],
    ["dependencies of task 1.1", changed({ name: "B, depends on 1.2" }), "[]", '["1.2"]'],
    ["requirements of task 1.1", changed({ requirements: ["None"] }), '["None"]', "[]"],
    ["files of task 1.1", changed({ files: ["a\n- b"] }), '["a\\n- b"]', '["a"]'],
    ["name of task 1.1", changed({ story: "mine" }), '"Name"', '"[mine] Name"'],
    ["acceptanceCriteria of task 1.1", changed({ acceptanceCriteria: [ticked] }), "", ""],
    // Only the phase that is read says more: a list of durations.
    ["estimatedDuration of phase 1", changed({ description: "- **Phase 1**: 3 hours" }), "nothing", '"3 hours"'],
    ["name of task 1.1", changed({ name: `${"long ".repeat(50)}\n` }), `"${"long ".repeat(50).slice(0, 199)}`, ""],
  ])("refuses what Markdown can't say: the %s", (part, plan, said, read) => {
    const words = said === "" && read === "" ? "" : `, ${said}: it would be read as ${read}`;
    expect(() => planToMarkdown(plan)).toThrowError(
      expect.objectContaining({
        code: "INVALID_INPUT",
        message: expect.stringContaining(`a praxis-os tasks.md can't say the ${part}${words}`),
        details: { field: "plan", expected: "a plan that the dialect can say" },
      }),
    );
  });

  it("refuses what the dialect can't say, and an unknown dialect", () => {
    const refused = (words: string) =>
      expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining(words) });
    expect(() => planToMarkdown(changed({ id: "main/1" }), { dialect: "spec-kit" })).toThrowError(refused("can't say"));
    expect(() => planToMarkdown(changed({ state: "queued" }), { dialect: "spec-workflow" })).toThrowError(
      refused('can\'t say the state of task 1.1, "queued": it would be read as "blocked"'),
    );
    expect(() => planToMarkdown(PLAN, { dialect: "none" })).toThrowError(refused("there is no dialect 'none'"));
  });
});
