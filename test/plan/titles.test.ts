import { describe, expect, it } from "vitest";
import { codePrefixes, idReader, type TaskIds } from "../../src/plan/ids.js";
import {
  type Field,
  fieldOf,
  isGateTitle,
  labelOf,
  loosePhaseTitle,
  mentionedPhase,
  NO_TASKS,
  NO_TASKS_HEADING,
  namedPhaseNumber,
  numberedTitle,
  phaseTitle,
} from "../../src/plan/titles.js";
import { vocabularyOf } from "../../src/plan/words.js";

const WORDS = vocabularyOf();
const IDS = idReader(WORDS.taskWord, codePrefixes(["T-001: Name", "T-HF01: Name"]));

describe("the title of a phase", () => {
  it.each([
    ["Phase 2: Name", "2", "Name"],
    ["phase  12 - Name", "12", "Name"],
    ["### Phase 2", "2", ""],
    ["2.1. Phase 3 – X", "3", "X"],
    ["1.   Phase 3: X", "3", "X"],
    ["Phase 3 [1-2]: X", "3", "X [1-2]"],
    ["Phase 3:   X", "3", "X"],
    ["10 Phase 3 | X", "3", "X"],
    ["1) Phase 3) X", "3", "X"],
    ["10.22 Phase 3. X", "3", "X"],
    ["Phase iv: X", "iv", "X"],
    ["Phase IX. X", "ix", "X"],
    ["Phase B — X", "b", "X"],
    ["PHASE TWO: X", "2", "X"],
    ["Phase2: X", "2", "X"],
    ["Fase 3: X", "3", "X"],
    ["Фаза 1: X", "1", "X"],
    ["阶段 1：X", "1", "X"],
    ["第十二阶段：X", "12", "X"],
    ["フェーズ2: X", "2", "X"],
    ["3단계: X", "3", "X"],
    ["Phase: X", undefined, "X"],
    ["Phase 2A: X", "2a", "X"],
    ["Phase 11.55: X", "11.55", "X"],
    ["Phase 2 (Week 1) - Name", "2", "Name (Week 1)"],
    ["Phase 2(Week 1): b: c ", "2", "b: c (Week 1)"],
    ["Phase 2 (Week 1)", "2", "(Week 1)"],
    ["Phase 2 (Week (1))", "2", "(Week (1))"],
    ["Phase 2 (a) (b)", "2", "(a) (b)"],
    ["**Phase 2:** Name", "2", "Name"],
    ["__Phase 2__", "2", ""],
    ["Phase 2:-: Name", "2", "Name"],
    ["Phase 2:\nName", "2", "Name"],
    ["[Phase 2](b.md): Name", "2", "Name"],
    ["[Phase 2: Name](b.md)", "2", "Name"],
    ["Phase 2: [a] [Name](b.md)", "2", "[a] Name"],
    ["Phase 2 [P]: Name", "2", "Name [P]"],
    ["Phase 2 [P]", "2", "[P]"],
    ["Phase #2: Name", "2", "Name"],
    ["Phase#2: Name", "2", "Name"],
    ["Phase-2: Name", "2", "Name"],
    [" 🛑 Phase 2: Name ", "2", "Name"],
  ])("is read from %j", (title, key, name) => {
    expect(phaseTitle(title, WORDS)).toEqual({ key, name });
  });

  it.each([
    ...["1Phase 3: X", "Phase 2 -3: x", "Phase 2-3: x", "Phases 2: x", "my Phase 2: x", "Phase 2 Name"],
    ...[
      "Phase ab: x",
      "Phase -2: x",
      "Phase ##2: x",
      "Phase 2 [a] x",
      "Phase 2 [a] [b]: x",
      "Phase 2 (a) x",
      "Phase 2 (a b",
      "Phase 2a3: x",
      "1 a Phase 2: x",
      "",
    ],
  ])("is not %j", (title) => expect(phaseTitle(title, WORDS)).toBeUndefined());

  it.each([
    ["Phase 2 Name", "2", "Name"],
    ["## Phase 12  Big name ", "12", "Big name"],
    ["**Phase 2** __Name__", "2", "Name"],
    ["PHASE  2  Gateway ", "2", "Gateway"],
    ["Phase 1 Setup and Configuration", "1", "Setup and Configuration"],
    ["Phase 1 Release notes page", "1", "Release notes page"],
    ["[Phase #1](a.md) Name", "1", "Name"],
    ["Phase-1 Name", "1", "Name"],
  ])("may have no punctuation: %j", (title, key, name) => {
    expect(loosePhaseTitle(title)).toEqual({ key, name });
  });

  it.each([
    ...["Acceptance Criteria", "Key Deliverables:", "Final Summary ", "Estimated Timeline", "Release notes"].map(
      (part) => `Phase 2 ${part}`,
    ),
    ...["Phase 2: Name", "Phase a Name", "my Phase 2 Name", "Phase 2 3 Name", "Phase 2", "Phase2 Name"],
    ...["task", "tasks", "gate", "gates", "checkpoint", "criteria", "deliverable", "deliverables", "summary"].map(
      (part) => `Phase 2 ${part}`,
    ),
    ...["result", "results", "status", "complete", "completed", "success", "dependency", "dependencies", "depends"].map(
      (part) => `Phase 2 ${part} x`,
    ),
    ...[
      "risk",
      "risks",
      "note",
      "notes",
      "overview",
      "timeline",
      "goal",
      "goals",
      "and",
      "to",
      "is",
      "can",
      "must",
    ].map((part) => `Phase 2 ${part.toUpperCase()} x`),
  ])("is not a part of a phase: %j", (title) => expect(loosePhaseTitle(title)).toBeUndefined());

  it("may be only numbered", () => {
    expect(numberedTitle("3.  Setup ")).toEqual({ key: "3", name: "Setup" });
    expect(numberedTitle("## **12) Set__up** it ")).toEqual({ key: "12", name: "Setup it" });
    expect(numberedTitle("[3. Setup](a.md)")).toEqual({ key: "3", name: "Setup" });
    for (const title of ["3 Setup", "3.Setup", "3. ", "a 3. Setup", "3.1 Setup", "3.1. Setup"])
      expect(numberedTitle(title), title).toBeUndefined();
  });
});

describe("the number of a phase", () => {
  it.each([
    ["MVP — Phase 4: A", "4"],
    ["Phases 2-3: Build", "2"],
    ["the phase #12", "12"],
    ["Phase-3.1A, phase 5", "3.1a"],
    ["Phase  3.14: A", "3.14"],
    ["After phase 1 and before phase 2", "1"],
  ])("is in any title: %j", (title, key) => {
    expect(namedPhaseNumber(title)).toBe(key);
  });

  it.each(["Phase A: x", "phase2", "2 phases", "before Phase 2", "Work → Phase 2", "Phase 2ab", "multiphase 2"])(
    "is not in %j",
    (title) => expect(namedPhaseNumber(title)).toBeUndefined(),
  );
});

describe("the title of a task", () => {
  it.each<readonly [string, TaskIds, string, string]>([
    ["Task 1.1: Name", "task", "1.1", "Name"],
    ["**Task 1.1**: Name", "task", "1.1", "Name"],
    ["task  #12 - Name", "task", "12", "Name"],
    ["Task-3 Name", "task", "3", "Name"],
    ["Task 11.22.33a) Name", "task", "11.22.33a", "Name"],
    ["Task 1", "task", "1", ""],
    ["Task 1.1 2 x", "task", "1.1", "2 x"],
    ["Task 1.1 – ~x~", "task", "1.1", "~x~"],
    ["Task 1.1:: x", "task", "1.1", "x"],
    ["Task 1.1(x)", "task", "1.1", "(x)"],
    ["Task 1.1—x", "task", "1.1", "x"],
    ["T012 [P] Name", "T", "T012", "[P] Name"],
    ["T11.22.33a: Name", "T", "T11.22.33a", "Name"],
    ["TXXX Name", "T", "TXXX", "Name"],
    ["**T1** - Name", "T", "T1", "Name"],
    ["_T1_ x", "T", "T1", "x"],
    ["__T1__: x", "T", "T1", "x"],
    ["__Task 1.1:__ x", "task", "1.1", "x"],
    ["T1", "T", "T1", ""],
    ["Task1: Name", "task", "1", "Name"],
    ["T1(x)", "T", "T1", "(x)"],
    ["T-001: Name", "T", "T-001", "Name"],
    ["T-HF01 Name", "T", "T-HF01", "Name"],
    ["T068A Name", "T", "T068A", "Name"],
    ["Task FE-01: Name", "task", "FE-01", "Name"],
    ["1.1 Name", "number", "1.1", "Name"],
    ["1.1a Name", "number", "1.1a", "Name"],
    ["1.1a. Name", "number", "1.1a", "Name"],
    ["9a. Name", "number", "9a", "Name"],
    ["1.a Name", "number", "1.a", "Name"],
    ["1.1(x)", "number", "1.1", "(x)"],
    ["11.22.33. Name", "number", "11.22.33", "Name"],
    ["12. Name", "number", "12", "Name"],
    ["1) Name", "number", "1", "Name"],
    ["* 1.1 x", "number", "1.1", "x"],
    ["1.1) __proto__ x", "number", "1.1", "__proto__ x"],
    ["1.1 _private", "number", "1.1", "_private"],
    ["1.1 __ x", "number", "1.1", "x"],
    ["1.1_x", "number", "1.1", "_x"],
  ])("is read from %j in the form %s", (text, form, id, rest) => {
    expect(IDS.read(text, [form])).toMatchObject({ id, rest });
    expect(IDS.read(text, ["task", "T", "number"])).toMatchObject({ id, rest });
    for (const other of (["task", "T", "number"] as const).filter((one) => one !== form))
      expect(IDS.read(text, [other])).toBeUndefined();
    expect(IDS.read(text, [])).toBeUndefined();
  });

  it.each([
    ...["Task 12ab Name", "Task 1–3", "Task 1-3: x", "Task 1.1-1.3: x", "Task 1.1b3: x", "my Task 1: x", "PART1: x"],
    ...["Tasks 1: x", "t1 x", "T1ab x", "T x", "my T1 x", "1 Name", "a 1.1 x"],
  ])("is not %j", (text) => {
    expect(IDS.read(text, ["task", "T", "number"])).toBeUndefined();
  });
});

it("an id with other letters than T is one where several lines have it, or one with a leading zero", () => {
  const reads = (texts: string[], text: string) => idReader(WORDS.taskWord, codePrefixes(texts)).read(text, ["T"])?.id;
  expect(reads([], "BE-4 x")).toBeUndefined();
  expect(reads(["BE-04 x"], "BE-5 x")).toBe("BE-5");
  expect(reads(["WP1 x", "WP2 x", "WP3 x"], "WP2 x")).toBe("WP2");
  expect(reads(["BE-4: x"], "BE-4: x")).toBe("BE-4");
  expect(reads(["UTF-8: x", "UTF-16: x", "UTF-32: x"], "UTF-8: x")).toBeUndefined();
});

describe("the title of a gate", () => {
  it.each([
    ...["Phase 2 Validation Gate", "validation gates", "Quality  Gate", "Exit gate", "Phase Gate", "Phase 12 gate"],
    ...[
      "GATE 1",
      "🛑 Gate: x",
      "Gates",
      "Gate – x",
      "Gate-x",
      "Gate—x",
      "Checkpoint",
      "Exit criteria",
      "my gate  criteria",
    ],
    "phase\t12\tgate",
    "Phase  12  gate",
  ])("is %j", (title) => expect(isGateTitle(title)).toBe(true));

  it.each([
    ...["Phase 12345 gate", "Gate x", "the gate 1", "Gateway", "checkpoints", "a.checkpointed", "aggregate criteria"],
    ...["invalidation gate", "validation gatekeeper", "exit criterias", "Phases gate"],
  ])("is not %j", (title) => expect(isGateTitle(title)).toBe(false));

  it.each([
    ["Gate of phase 2", "2"],
    ["Phase 1 gate → Phase 2", "1"],
    ["Phase 1 -> Phase 2", "1"],
    ["Phase 1 =>phase 2", "1"],
    ["Phase  22.33 gate", "22.33"],
    ["phase 2A", "2a"],
    ["Phase 2 gate before phase 12", "2"],
    ["Phase 2 gate before phase two", "2"],
    ["Phase B", "b"],
    ["onto phase 3", "3"],
    ["before phase 2 and Into Phase 44 of phase 3", "3"],
    ["FINAL gate", "final"],
    ["final gate of phase 3", "3"],
  ])("mentions the phase that it belongs to: %j", (title, key) => {
    expect(mentionedPhase(title)).toBe(key);
  });

  it.each([
    ...["before Phase 2", "to phase 3", "into  Phase 3", "entering phase 3", "starting phase 33", "Finally", "gate"],
    ...["Phases 2", "phase AB", "allphase 2", "semifinal", "Gate -> Phase 2", "Gate =>Phase 22", "→  phase  2"],
  ])("mentions none in %j", (title) => expect(mentionedPhase(title)).toBeUndefined());
});

describe("the meaning of a label", () => {
  const MEANINGS: Readonly<Record<Field, string>> = {
    goal: "Goal, goals, Objective, Objectives, Purpose, Aim, **Goal**, Phase goal, Goal (all)",
    description: "Description, Summary, Details",
    time: `Estimate, Estimated, Estimates, Estimated time, Total estimated effort, Estimate hours, Estimated duration,
      Time estimate, Total final estimate, Effort estimates, Time estimates, Duration, Effort, Time, Human baseline`,
    dependencies: `Dependency, Dependencies, Depends, Depends on, depends_on, dependsOn, Requires, Blocked by, Blocked-by,
      Prerequisite, Prerequisites, Prerequisite tasks, Prior tasks`,
    blocks: "Blocks, Blocking, Unblocks",
    criteria: `Acceptance, Acceptance criteria, Acceptance test, Acceptance tests, Criteria, Validation criteria,
      Verification Criteria, Completion criteria, Done criteria, Done when, Definition of done, Subtasks, sub-tasks, Included subtasks,
      Task 1.1 criteria, Task 2 criteria, Task criteria`,
    success: "Success criteria, Phase 1 success criteria, Phase 1 criteria, Phase criteria",
    gate: `Validation gate, Quality gates, Exit gate, Phase gate, My checkpoint, Gate criteria, Exit criteria, Gate, Gates,
      Validation gate criteria, 2 gates, 12 gate, Phase 2 Completion Criteria, Phase 1 exit criteria, Final checkpoint,
      Phase 1 gate criteria, Phase 2 Validation Gate, Final Phase 2 gate, Phase 1.2 gate, Checkpoint criteria`,
    tasks: "Tasks, Task, Task list, Tasks list, Implementation tasks, Phase 1 tasks, Phase 1.2a tasks",
    files:
      "Files, File, Files modified, Files created, Files changed, Files to create, Files to modify, Files to change",
    requirements: "Requirement, Requirements, Traces to, Traceability, Validates, Implements, Ref, Refs, References",
    parallel: "Parallel, Parallelizable, Can run in parallel",
    status: "Status",
    other: `Other, My duration, My parallel, Goals of it, The goal, Phase, My description, Descriptions, Total, Times, My dependencies, Requires it,
      My acceptance, Criterias, My success criteria, Success criteria now, Gates now, My gate, My tasks, Tasks now, My files,
      Filesystem, My requirements, Refsx, My parallel, Parallel now, My status, Status now, Phase criteria now, Checkpoints, Precheckpoint`,
  };

  it.each(Object.entries(MEANINGS))("is %s", (field, names) => {
    for (const name of names.split(/,\s+/)) expect(fieldOf(name, WORDS), name).toBe(field);
  });

  it("none has tasks if it is about something else", () => {
    for (const name of [
      ...["Deliverables", "Notes", "risks", "open questions", "References", "Out of scope", "metrics", "Checklist"],
      "Test cases",
    ]) {
      expect(NO_TASKS.test(name), name).toBe(true);
      expect(NO_TASKS_HEADING.test(`Our ${name}:**`), name).toBe(true);
      expect(NO_TASKS_HEADING.test(`${name} API`), name).toBe(false);
      expect(NO_TASKS_HEADING.test(`${name}x`), name).toBe(false);
    }
    for (const name of ["Tasks", "Asterisk"]) expect(NO_TASKS.test(name), name).toBe(false);
  });
});

describe("a label", () => {
  it.each([
    ["**Goal**: x", "goal", "Goal", "x"],
    ["**Goal:** x", "goal", "Goal", "x"],
    ["__Goal__: x", "goal", "Goal", "x"],
    ["**Goal** ", "goal", "Goal", ""],
    ["**Goal **: x", "goal", "Goal", "x"],
    ["**Goal:**", "goal", "Goal", ""],
    ["**Goal** :", "goal", "Goal", ""],
    ["**Goal: a: b** c", "goal", "Goal", "a: b c"],
    ["**Goal**:x", "goal", "Goal", "x"],
    ["**Goal** \t: x", "goal", "Goal", "x"],
    ["- → **Goal**: x", "goal", "Goal", "x"],
    ["_Goal: x_", "goal", "Goal", "x"],
    ["*Goal: x*", "goal", "Goal", "x"],
    ["*Goal:x*", "goal", "Goal", "x"],
    ["_Goal:_ x_y_", "goal", "Goal", "x_y_"],
    ["*Goal*: x", "goal", "Goal", "x"],
    ["_Goal_ : x y", "goal", "Goal", "x y"],
    ["*Goal:* _x_", "goal", "Goal", "_x_"],
    ["_Whatever: x_", "other", "Whatever", "x"],
    ["Goal: x", "goal", "Goal", "x"],
    ["→ Goal : x: y", "goal", "Goal", "x: y"],
    ["Goal:", "goal", "Goal", ""],
    ["Whatever: ", "other", "Whatever", ""],
    ["Goal 2 (all) & more/less - it's:", "other", "Goal 2 (all) & more/less - it's", ""],
    ["Total estimated effort:\tx", "time", "Total estimated effort", "x"],
    ["*Goal*: a *b*", "goal", "Goal", "a *b*"],
    ["_Goal_: a_", "goal", "Goal", "a_"],
    ["***Goal: x*** y", "goal", "*Goal", "x * y"],
    ["depends on T001", "dependencies", "depends on", "T001"],
    ["Requires 1.2", "dependencies", "Requires", "1.2"],
    ["blocked by\ttask 3", "dependencies", "blocked by", "task 3"],
    ["**Depends on** T012a", "dependencies", "Depends on", "T012a"],
    ["_requires_ 10.20.30b", "dependencies", "requires", "10.20.30b"],
    ["***Requires*** 1.1", "dependencies", "Requires", "1.1"],
    ["depends on T1, 2 & #3; 4.5", "dependencies", "depends on", "T1, 2 & #3; 4.5"],
    ["depends on tasks 1 to 3 and phase 2", "dependencies", "depends on", "tasks 1 to 3 and phase 2"],
    ["requires phases 1 through 12 complete.", "dependencies", "requires", "phases 1 through 12 complete."],
    ["depends on **1.1**, `1.2`, _1.3_", "dependencies", "depends on", "**1.1**, `1.2`, _1.3_"],
    ["depends on 1.1–1.3—1.4", "dependencies", "depends on", "1.1–1.3—1.4"],
    ["depends on T1 (the model) and T2 (all)", "dependencies", "depends on", "T1 (the model) and T2 (all)"],
    ["depends on task 1", "dependencies", "depends on", "task 1"],
    ["depends on 2a", "dependencies", "depends on", "2a"],
  ])("is read from %j", (text, field, name, rest) => {
    expect(labelOf(text, WORDS)).toEqual({ field, name, text: rest });
  });

  it.each([
    ...[
      "**Goal** x",
      "**Goal** a: b",
      "**Goal x",
      "** Goal**: x",
      "**:** x",
      "_Goal_ x",
      "__Goal: x_",
      "_ Goal: x_",
      "Goal:x",
      "Whatever: x",
    ],
    ...[
      "1. Goal: x",
      "[x] Goal: x",
      "`Goal: x`",
      "no label",
      "",
      ":",
      ": x",
      "a: b: ",
      "Goal:x y",
      "Goal*: x",
      "(Goal) Whatever: x",
      "2 Goal: x",
    ],
    ...["http://a.b:", "a:b:", "depends on the model", "depends on it", "requires tasks", "it depends on T1"],
    ...["depends onT1", "depends on T1ab", "depends on 1.1 or later", "depends on T", "requires v1", "Depends on"],
    ...["depends on T1 (of (both) kinds)", "requires 1.1ab", "depends on 1 taskss", "****Requires**** 1.1"],
    ...["depends on 1!", "requires 1.1 phasess", "and depends on 1"],
  ])("is not %j", (text) => expect(labelOf(text, WORDS)).toBeUndefined());
});
