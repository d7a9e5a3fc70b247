import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { phaseValues, renderPhase, renderTask, taskValues } from "../../src/template/template.js";
import { PHASE_PLACEHOLDERS, TASK_PLACEHOLDERS } from "../../src/workflow/placeholders.js";
import type { PhaseDefinition, TaskDefinition } from "../../src/workflow/structure.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";

const REASON = skipReason("spec_execution_v1");

const OWN = { target: "src/a.ts", plan: "specs/tasks.md" };

const TASK: TaskDefinition = {
  number: 2,
  name: "Write [TASK_ID] of $& tests",
  plan: {
    id: "1.3",
    description: "Cover the parser",
    estimatedTime: "2 hours",
    dependencies: ["1.1", "1.2"],
    acceptanceCriteria: ["Runs", "Is green"],
    requirements: ["1.1", "FR-002"],
    state: "pending",
    optional: false,
    parallel: false,
  },
};
const PHASE: PhaseDefinition = {
  number: 4,
  name: "Parsing",
  skippable: false,
  tasks: [TASK],
  gate: {
    kind: "plan",
    allowOverride: false,
    tasks: [{ id: "1.3", optional: false }],
    items: ["All green", "Reviewed"],
  },
  plan: { number: 3, goal: "Read every plan", estimatedDuration: "3 days" },
};

describe("the values of placeholders", () => {
  it("exist for each placeholder", () => {
    expect(Object.keys(phaseValues(PHASE, 5))).toEqual(PHASE_PLACEHOLDERS);
    expect(Object.keys(taskValues(PHASE, TASK))).toEqual(TASK_PLACEHOLDERS);
  });

  it("come from the plan, with the session's phase number and the plan's task id", () => {
    const template =
      "[PHASE_NUMBER] [PHASE_NAME]: [PHASE_DESCRIPTION], [ESTIMATED_DURATION], [TASK_COUNT]\n[VALIDATION_GATE]\n[NEXT_PHASE_NUMBER]";
    expect(renderPhase(template, PHASE, 5, OWN).text).toBe(
      "4 Parsing: Read every plan, 3 days, 1\n- [ ] All green\n- [ ] Reviewed\n5",
    );
    const ofTask =
      "[TASK_ID] [TASK_NAME] ([PHASE_NUMBER] [PHASE_NAME]): [TASK_DESCRIPTION], [ESTIMATED_TIME], [DEPENDENCIES]\n[ACCEPTANCE_CRITERIA]\nFor [REQUIREMENTS]\n[NEXT_TASK_NUMBER]";
    expect(renderTask(ofTask, PHASE, TASK, OWN).text).toBe(
      "1.3 Write [TASK_ID] of $& tests (4 Parsing): Cover the parser, 2 hours, 1.1, 1.2\n- [ ] Runs\n- [ ] Is green\nFor 1.1, FR-002\n3",
    );
  });

  it("tell the number of the phase as the plan has it", () => {
    const template = "[PHASE_NUMBER] is [PHASE_IN_PLAN]";
    const written = { ...PHASE, plan: { number: 3, written: "2.5" } };
    expect(renderPhase(template, written, 5, OWN).text).toBe("4 is 2.5");
    expect(renderTask(template, { ...PHASE, plan: { number: 3 } }, TASK, OWN).text).toBe("4 is 3");
    expect(renderTask(template, { ...PHASE, plan: { number: 4 } }, TASK, OWN).text).toBe("4 is 4");
  });

  it("are a default text if the plan lacks them", () => {
    const task: TaskDefinition = { number: 1, name: "Dig" };
    const phase: PhaseDefinition = { ...PHASE, plan: { number: 3 }, gate: { kind: "open", allowOverride: false } };
    const inPhase = "[PHASE_DESCRIPTION], [ESTIMATED_DURATION]";
    expect(renderPhase(inPhase, phase, 5, OWN).text).toBe("Parsing, Variable");
    expect(renderPhase("[PHASE_NAME]: [VALIDATION_GATE]", phase, 5, OWN).text).toBe("Parsing: None");
    expect(renderTask("[TASK_ID] [TASK_DESCRIPTION] [ESTIMATED_TIME]", phase, task, OWN).text).toBe("1 Dig Variable");
    const listed = "[TASK_ID] [DEPENDENCIES] [ACCEPTANCE_CRITERIA] [REQUIREMENTS]";
    expect(renderTask(listed, phase, task, OWN).text).toBe("1 None None None");
  });

  it("take their paragraph with them if it says nothing else, but no code and no text of its own", () => {
    const task: TaskDefinition = { number: 1, name: "Dig" };
    const bare: PhaseDefinition = { ...PHASE, gate: { kind: "open", allowOverride: false } };
    const ofTask = "# [TASK_NAME]\n\nAfter: [DEPENDENCIES].\n\nServes [REQUIREMENTS],\n[ACCEPTANCE_CRITERIA]\n\nEnd\n";
    expect(renderTask(ofTask, PHASE, task, OWN).text).toBe("# Dig\n\nEnd\n");
    expect(renderTask(ofTask, PHASE, TASK, OWN).text).toContain(
      "\n\nAfter: 1.1, 1.2.\n\nServes 1.1, FR-002,\n- [ ] Runs",
    );
    expect(renderPhase("Go.\n\nThis holds:\n[VALIDATION_GATE]\n", bare, 5, OWN).text).toBe("Go.\n");
    const kept = '```\n[DEPENDENCIES]\n\n[DEPENDENCIES]\n```\n\n[REQUIREMENTS or "no rule"]\n\n[N]\n';
    expect(renderTask(kept, PHASE, task, OWN).text).toBe("```\nNone\n\nNone\n```\n\nno rule\n\n[N]\n");
  });

  it("are none of these where the template has a text of its own for that", () => {
    const task: TaskDefinition = { number: 1, name: "Dig" };
    const phase: PhaseDefinition = { ...PHASE, plan: { number: 3 } };
    const inPhase = '[PHASE_DESCRIPTION or "Go on."] [ESTIMATED_DURATION or a day]';
    expect(renderPhase(inPhase, phase, 5, OWN).text).toBe("Go on. a day");
    const inTask = "[TASK_DESCRIPTION or Do it] [ESTIMATED_TIME or soon] [DEPENDENCIES or nothing]";
    expect(renderTask(inTask, phase, task, OWN).text).toBe("Do it soon nothing");
  });

  it("are the default text of the placeholder if the plan has no value", () => {
    const task: TaskDefinition = { number: 1, name: "Dig" };
    const template = '[REQUIREMENTS or "nothing"] [ACCEPTANCE_CRITERIA or see the plan] [TASK_NAME or "x"]';
    expect(renderTask(template, PHASE, task, OWN)).toEqual({ text: "nothing see the plan Dig", leftOut: [] });
    expect(renderPhase("[NEXT_PHASE_NUMBER or the end]", PHASE, undefined, OWN).text).toBe("the end");
  });

  it("that describe what the template names elsewhere are left out, with their paragraph, if nothing fills them", () => {
    const task: TaskDefinition = { number: 1, name: "Dig" };
    const described = "# [TASK_NAME]\n\n[TASK_DESCRIPTION]\n\nSoon.";
    expect(renderTask(described, PHASE, task, OWN)).toEqual({ text: "# Dig\n\nSoon.", leftOut: [] });
    expect(renderTask("Do: [TASK_DESCRIPTION]", PHASE, task, OWN).text).toBe("Do: Dig");
    const deep = { ...task, purpose: "Deep." };
    expect(renderTask(described, PHASE, deep, OWN).text).toBe("# Dig\n\nDeep.\n\nSoon.");
    const bare = { ...PHASE, purpose: undefined, plan: undefined };
    const text = "# [PHASE_NAME]\n\n[PHASE_DESCRIPTION]\n";
    expect(renderPhase(text, bare, undefined, OWN).text).toBe("# Parsing\n");
  });

  it("are left out if nothing fills them, and named once", () => {
    const last = renderPhase("Go to [NEXT_PHASE_NUMBER].\n[TASK_NAME] [NEXT_PHASE_NUMBER]", PHASE, undefined, OWN);
    expect(last).toEqual({ text: "Go to .\n ", leftOut: ["[NEXT_PHASE_NUMBER]", "[TASK_NAME]"] });
    const prose = "[N] [PASS or FAIL] [README](x.md) [list of files] [N.1] [x]";
    expect(renderPhase(prose, PHASE, 5, OWN)).toEqual({ text: prose, leftOut: [] });
  });

  it("are inserted for {target} and {plan}, but not for these texts in a name of the plan", () => {
    const task: TaskDefinition = { ...TASK, name: "Write {target}" };
    const variable = ["$", "{plan}"].join("");
    expect(renderTask(`[TASK_NAME] for {target} as {plan} says; {{plan}}, ${variable}`, PHASE, task, OWN).text).toBe(
      `Write {target} for src/a.ts as specs/tasks.md says; {plan}, ${variable}`,
    );
  });
});

describe.skipIf(REASON !== "")(`templates from real projects${REASON}`, () => {
  const template = (name: string) =>
    readFileSync(join(CORPUS, "spec_execution_v1", "phases", "dynamic", `${name}-template.md`), "utf8");

  it("are rendered, and keep prose in brackets", () => {
    const { text: phase } = renderPhase(template("phase"), PHASE, 5, OWN);
    expect(phase).toContain("# Phase 4: Parsing");
    expect(phase).toContain("\n- [ ] All green\n- [ ] Reviewed\n\nAdditional mandatory validation:");
    expect(phase).toContain('"tasks_completed": [list of task IDs]');
    expect(phase).toContain("task_number=[N]");
    const { text: task, leftOut } = renderTask(template("task"), PHASE, TASK, OWN);
    expect(task).toContain("# Task 1.3: Write [TASK_ID] of $& tests");
    expect(task).toContain("Dependencies: 1.1, 1.2\n");
    expect(task).not.toContain("TASK_STEPS");
    expect(leftOut).toEqual(["[TASK_STEPS or general guidance based on task type]"]);
    expect(renderPhase(template("phase"), PHASE, undefined, OWN)).toMatchObject({
      text: expect.not.stringContaining("Phase None"),
      leftOut: ["[NEXT_PHASE_NUMBER]"],
    });
    expect(task).toContain("\n\n- [ ] Runs\n- [ ] Is green\n\nAdditional mandatory criteria:");
    for (const name of [...PHASE_PLACEHOLDERS, ...TASK_PLACEHOLDERS.filter((key) => key !== "TASK_ID")]) {
      expect(`${phase}${task}`).not.toContain(`[${name}]`);
    }
  });
});
