/** The texts of a new workflow: each says what belongs in its place, and all of them together are valid. Pure. */

export interface NewFile {
  readonly path: string;
  readonly text: string;
  readonly what: string;
}

/** Returns how a file of the workflow names one of the schemas for editors. */
export type SchemaAddress = (file: string, schema: "metadata.json" | "gate-definition.json") => string;

/** Returns the files of a workflow with as many phases. */
export function phasedFiles(type: string, count: number, address: SchemaAddress): NewFile[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const phases = numbers.map((number) => ({
    phase_number: number,
    phase_name: phaseName(number, count),
    purpose: "What is different when this phase is done",
    ...(number === 1 ? { tasks: [{ task_number: 1, name: "First task", file: "task-1-first.md" }] } : {}),
  }));
  return [
    metadata(type, address, { phases }),
    ...numbers.flatMap((number) => [
      {
        path: `phases/${number}/phase.md`,
        what: `what the agent reads in phase ${number}`,
        text: phaseText(number, phaseName(number, count)),
      },
      ...(number === 1
        ? [{ path: "phases/1/task-1-first.md", what: "a task; delete it if the phase needs none", text: TASK }]
        : []),
      gateFile(number, number === 1 ? FIRST_GATE : LATER_GATE, address),
    ]),
  ];
}

/** Returns the files of a workflow whose phases come from a plan. Phase 0 is its own: it reads the plan. */
export function plannedFiles(type: string, address: SchemaAddress): NewFile[] {
  const phases = [
    { phase_number: 0, phase_name: "Read the plan", purpose: "Know what is to be done, before it is begun" },
    { phase_number: "1-N", phase_name: "The phases of the plan" },
  ];
  const plan = {
    phases,
    total_phases: "dynamic",
    dynamic_phases: true,
    dynamic_config: {
      source_path_key: "spec_path",
      templates: { phase: "phases/dynamic/phase-template.md", task: "phases/dynamic/task-template.md" },
    },
  };
  return [
    metadata(type, address, plan),
    { path: "phases/0/phase.md", what: "what the agent reads before the phases of the plan", text: PLAN_PHASE },
    gateFile(0, PLAN_GATE, address),
    { path: "phases/dynamic/phase-template.md", what: "the text of each phase of the plan", text: PHASE_TEMPLATE },
    { path: "phases/dynamic/task-template.md", what: "the text of each of its tasks", text: TASK_TEMPLATE },
    { path: "example-tasks.md", what: "a plan to begin with; copy it to specs/NAME/tasks.md", text: EXAMPLE_PLAN },
  ];
}

export function routedFiles(type: string): NewFile[] {
  return [
    { path: "index.md", what: "its goal, and its steps in their order", text: indexText(type) },
    { path: "steps/begin.md", what: "a step with a gate", text: BEGIN },
    { path: "steps/work.md", what: "a step that may be repeated", text: WORK },
    { path: "steps/check.md", what: "the step that ends the work", text: CHECK },
  ];
}

/** Returns `Fix a bug` for `fix_a_bug`. */
function titleOf(type: string): string {
  const words = type.replace(/[_-]+/g, " ").trim();
  return words === "" ? type : words.charAt(0).toUpperCase() + words.slice(1);
}

function metadata(type: string, address: SchemaAddress, shape: object): NewFile {
  const path = "metadata.json";
  const content = {
    $schema: address(path, "metadata.json"),
    workflow_type: type,
    version: "1.0.0",
    name: titleOf(type),
    description: "Say in one sentence what the workflow is for, and when to use it",
    category: "development",
    estimated_duration: "1 hour",
    ...shape,
  };
  return { path, what: "what the workflow is for, and its phases", text: `${JSON.stringify(content, null, 2)}\n` };
}

function gateFile(phase: number, text: string, address: SchemaAddress): NewFile {
  const path = `phases/${phase}/gate-definition.yaml`;
  const comment = `# yaml-language-server: $schema=${address(path, "gate-definition.json")}\n`;
  return { path, what: `what phase ${phase} requires`, text: comment + text };
}

/** The first phase prepares, the last one verifies, and those between are work. */
function phaseName(number: number, count: number): string {
  if (number === count) return count === 1 ? "Work" : "Verify";
  if (number === 1) return count === 2 ? "Work" : "Prepare";
  return count === 3 ? "Work" : `Work, part ${number - 1}`;
}

const phaseText = (number: number, name: string) => `# Phase ${number}: ${name}

**Estimated Time:** 30 minutes

## Objective

Say what is to be reached in this phase. The agent reads this text when it enters the phase, and sees the next phase only
after this one has passed its gate.

## How

Say how to do it: the commands to run, the files to read, what to leave alone. Write for someone who is capable and knows
nothing about your project.
`;

const TASK = `# Task 1: First task

**Estimated Time:** 10 minutes

Tasks divide the text of a phase: the agent reads them one by one. List each task of a phase in metadata.json.

### Step 1: Do it

Say what to do, and what there is to see when it has worked.
`;

const FIRST_GATE = `# The gate of this phase: what the agent must submit before it may go on. Anything else that it says does not count.

checkpoint:
  # false: rules ("validator") only warn. Missing values, wrong types and verifiers still block.
  strict: true

evidence_schema:
  # One entry for each thing that the agent must show. It is shown to the agent, with its description.
  summary:
    # boolean, integer, number, string, object, list or any
    type: string
    description: "What was done, in one or two sentences"
    # a named validator, or a rule such as "size(value) >= 20"
    validator: min_length_20
  notes:
    type: string
    description: "The file with your notes, relative to the project"
    example: notes.md
    # A verifier looks at the project itself: the file that the evidence names must exist and not be empty.
    verify: file_exists

# Checks of the project that need no evidence. A command needs \`phasegate serve --allow-command npm\`.
# verify:
#   - {verifier: command, argv: [npm, test]}
#   - git_clean
`;

const LATER_GATE = `# The gate of this phase. Every key is described in docs/gates.md, and where the cursor is, if your editor knows the schema.

checkpoint:
  strict: true

evidence_schema:
  checked:
    # A required boolean must be true. Nothing proves it: prefer a verifier where one fits.
    type: boolean
    description: "The result was read once more against the objective of the phase"
  files:
    type: list
    description: "The files that were written or changed, relative to the project"
    example: [notes.md]
    # Each of these files must exist, and have new content since the phase was entered: {verifier: changed_since_phase_start, within: .}
    verify: file_exists

# A person who must approve the evidence once it is complete: \`phasegate approve\`.
# approval:
#   prompt: Is this good enough?
`;

const PLAN_PHASE = `# Phase 0: Read the plan

**Estimated Time:** 10 minutes

## Objective

Read the whole plan, {plan}, before its first task is begun. Say what to do about what is unclear: ask, or note it.
`;

const PLAN_GATE = `# The gate of phase 0. The phases of the plan have no gate file: the plan says what they require, all of their tasks and
# each item of their validation gates.

checkpoint:
  strict: true

evidence_schema:
  tasks_read:
    type: integer
    description: "How many tasks the plan has"
    validator: greater_than_0
  unclear:
    type: list
    required: false
    description: "What the plan leaves open, if anything"
    example: ["task 1.2 does not say which format"]
`;

const PHASE_TEMPLATE = `# Phase [PHASE_NUMBER]: [PHASE_NAME]

[PHASE_DESCRIPTION]

It has [TASK_COUNT] tasks. Do them one by one, then tell the gate which of them are done.

Tell it, too, that each of these holds:
[VALIDATION_GATE]
`;

const TASK_TEMPLATE = `# Task [TASK_ID]: [TASK_NAME]

[TASK_DESCRIPTION]

After: [DEPENDENCIES].

It is done when
[ACCEPTANCE_CRITERIA]
`;

const EXAMPLE_PLAN = `# Tasks

A plan has phases, and each phase has tasks. Their boxes are ticked when the gate of the phase has passed.

## Phase 1: Prepare

**Objective:** Say what is to be reached in this phase.

- [ ] **Task 1.1**: Say what is to be done first
  - **Acceptance Criteria:**
    - [ ] Say how one can see that it is done
- [ ] **Task 1.2**: Say what comes after it
  - **Dependencies:** Task 1.1

**Validation Gate:**
- [ ] Say what must hold before the next phase is begun

## Phase 2: Work

**Objective:** Say what is to be reached in this phase.

- [ ] **Task 2.1**: Say what is to be done

**Validation Gate:**
- [ ] All tests pass
`;

const indexText = (type: string) => `# Workflow: ${titleOf(type)}

## Overall Goal

Say what is reached when the work is done. The decider, usually a language model, reads it before it picks a step.

## High-Level Plan

1. [Begin](steps/begin.md)
2. [Work](steps/work.md)
3. [Check](steps/check.md)
`;

const BEGIN = `---
# The steps that may follow. Without this line, any step may.
next: [Work]
# The most visits of this step in one session.
max_visits: 3
# What the report must have, in its details, before the decider is asked. The keys are those of a gate file.
gate:
  evidence_schema:
    task:
      type: string
      description: "What is to be done, in one sentence"
      validator: min_length_20
---

# Orchestrator Guidance

This is for the decider. Say how it knows what comes next: if the task is clear, go on with "Work".

# Client Instructions

This is for the agent. Say what to do in this step, and what to report. Report the task in \`details.task\`.
`;

const WORK = `---
next: [Work, Check]
max_visits: 10
---

# Orchestrator Guidance

If the report says that work is left, stay on "Work". If nothing is left, go on with "Check".

# Client Instructions

Do the next part of the work. Report what is done, and what is left.
`;

const CHECK = `---
next: [Work, FINISH]
---

# Orchestrator Guidance

If the result is what the goal asks for, the work is done: FINISH. Else go back to "Work".

# Client Instructions

Compare the result with the goal. Report what is missing, or that nothing is.
`;
