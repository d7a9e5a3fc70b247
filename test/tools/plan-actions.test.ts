import { describe, expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { claims, makePlanned, PLAN, PLAN_PATH, type PlannedOptions } from "../support/planned.js";

type Answer = Record<string, unknown>;

/** Creates a tool on an engine with a plan; `call` fails unless the answer has the status, and fits the budget. */
function makeTool(options: PlannedOptions = {}, maxTokens = 6000) {
  const made = makePlanned(options);
  const tool = workflowTool(made.engine, { maxTokens });
  const send = async (status: string, input: Answer): Promise<Answer> => {
    const answer = await tool.dispatch(input);
    expect(answer, JSON.stringify(answer)).toMatchObject({ status, action: input.action });
    expect(JSON.stringify(answer).length, "an answer over its budget").toBeLessThanOrEqual(maxTokens * 4);
    return answer;
  };
  const call = (input: Answer) => send("success", input);
  const refused = (input: Answer) => send("error", input);
  return { ...made, tool, call, refused };
}

/** Returns a phase with the given number of tasks, each of which depends on the one before it. */
const chain = (count: number) =>
  `### Phase 1: Long\n\n${Array.from(
    { length: count },
    (_, index) =>
      `- [ ] **Task 1.${index + 1}**: Do thing number ${index + 1} of this long phase\n  - **Dependencies**: ${
        index === 0 ? "None" : `Task 1.${index}`
      }\n`,
  ).join("")}\n**Validation Gate**:\n- [ ] All is well\n`;

/** A plan whose first phase is a task with parts, of which the last are optional. */
const KIRO = `# Implementation Plan

- [ ] 1. Log in
- [ ] 1.1 Check the password
  - _Requirements: 1.1_
- [ ]* 1.2 Test the check
- [ ]* 1.3 Test it again
- [ ] 2. Finish
`;

/** What stands for the claims of tasks after a refusal. */
const AGAIN = expect.stringMatching(/^<list of texts: the ids that were claimed before/);

describe("the tool on a session with a plan", () => {
  it("names the option for the plan, and starts with the tasks of the plan", async () => {
    const { call } = makeTool({ plan: PLAN.replace("Phase 1", "Phase 0").replace("Phase 2", "Phase 1") });
    expect(await call({ action: "list_workflows" })).toMatchObject({
      workflows: [{ workflow_type: "spec", plan_option: "spec_path" }],
      next: { action: "start", options: { spec_path: expect.any(String) } },
    });
    const started = await call({ action: "start", workflow_type: "spec", target_file: "specs/one" });
    expect(started).toMatchObject({
      total_phases: 3,
      plan: { path: PLAN_PATH, dialect: "praxis-os" },
      phases_shifted: 1,
      phase_content: { phase_number: 0 },
    });
    expect(started).not.toHaveProperty("plan_warnings");
  });

  it("has a task after its parts, also once the plan was edited", async () => {
    const plan = KIRO.replace(/(?<=^- \[ \] 1\..*)$/m, "\n  - Say it in the manual, too");
    const { call, memory } = makeTool({ plan, phases: [] });
    const start = { action: "start", workflow_type: "spec", target_file: "specs/one" };
    const { session_id, phase_content } = await call(start);
    const ids = (content: unknown) => (Object(content) as { tasks: { id: string }[] }).tasks.map(({ id }) => id);
    expect(ids(phase_content)).toEqual(["1.1", "1.2", "1.3", "1"]);
    await call({ action: "complete_task", session_id, phase: 1, task_number: 1 });
    memory.set(PLAN_PATH, plan.replace("- [ ] 2.", "- [ ] 1.4 Log out\n- [ ] 2."));
    const preview = await call({ action: "sync_plan", session_id, preview: true });
    expect(preview.change_counts).toEqual({ added: 1 });
    await call({ action: "sync_plan", session_id });
    const synced = await call({ action: "get_phase", session_id });
    expect(ids(synced.phase_content)).toEqual(["1.1", "1.2", "1.3", "1.4", "1"]);
    expect(synced.phase_content).toMatchObject({
      tasks: [{ id: "1.1", state: "done" }, {}, {}, {}, { state: "pending" }],
    });
  });

  it("has no task that is only the group of others, and ticks its box with the last of them", async () => {
    const { call, memory } = makeTool({ plan: KIRO, phases: [] });
    const { session_id, phase_content } = await call({
      action: "start",
      workflow_type: "spec",
      target_file: "specs/one",
    });
    expect(phase_content).toMatchObject({ tasks: [{ id: "1.1" }, { id: "1.2" }, { id: "1.3" }] });
    await call({ action: "complete_task", session_id, phase: 1, task_number: 1, skipped: [2, 3] });
    const evidence = { tasks_completed: [] };
    expect(await call({ action: "complete_phase", session_id, phase: 1, evidence })).toMatchObject({
      plan_ticked: ["1.1"],
    });
    expect(memory.get(PLAN_PATH)).toMatch(/^- \[x\] 1\./m);
  });

  it("leaves optional tasks out in one call, and then leads past them", async () => {
    const { call, refused } = makeTool({ plan: KIRO, phases: [] });
    const { session_id } = await call({ action: "start", workflow_type: "spec", target_file: "specs/one" });
    const done = { action: "complete_task", session_id, phase: 1 };
    expect(await call({ action: "get_phase", session_id })).not.toHaveProperty("if_left_out");
    const noted = await call({ ...done, task_number: 1 });
    const skip = { ...done, skipped: [2, 3] };
    expect(noted).toMatchObject({
      tasks_left: 2,
      next: { action: "complete_task", task_number: 2 },
      if_left_out: skip,
    });
    expect(await refused({ ...done, skipped: [2, 1] })).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringMatching(/task 1 .*not optional/),
    });
    expect(await refused({ ...done, skipped: [9] })).toMatchObject({ code: "TASK_NOT_FOUND" });
    expect(await refused(done)).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("no task is named"),
    });
    const left = await call(skip);
    expect(left).toMatchObject({ tasks_done: "1", tasks_skipped: "2-3", next: { action: "complete_phase", phase: 1 } });
    for (const key of ["if_left_out", "if_impossible", "tasks_given_up"]) expect(left).not.toHaveProperty(key);
    expect((await call({ ...skip })).replayed).toBe(true);
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      phase_content: { tasks: [{ state: "done" }, { closed: "skipped" }, { closed: "skipped" }] },
      next: { action: "complete_phase" },
    });
    expect(await call({ ...done, task_number: 2 })).toMatchObject({ tasks_done: "1-2", tasks_skipped: "3" });
  });

  it("says of a task which requirements it serves, by number and title, once", async () => {
    const { call, memory } = makeTool({ plan: KIRO.replace("1.1_", "1, 1.1, 2, 1.9, FR-7, 1.1-1.2_"), phases: [] });
    const { session_id } = await call({ action: "start", workflow_type: "spec", target_file: "specs/one" });
    const task = () => call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    const ids = ["1", "1.1", "2", "1.9", "FR-7", "1.1-1.2"];
    expect((await task()).requirements).toEqual(ids);
    const lines = [
      "# Requirements\n\n### Requirement 1: Log in\n",
      `1. WHEN it fits THEN let in\n2. ${"So long. ".repeat(50)}\n`,
      "### Requirement 2\n\nNo title.\n\n- **FR-7**: System MUST log.\n",
    ];
    memory.set("specs/one/requirements.md", lines.join("\n"));
    const told = await task();
    expect(told.requirements).toEqual([
      ...["1: Log in", "1.1: WHEN it fits THEN let in", "2", "1.9", "FR-7: System MUST log.", "1.1-1.2"],
    ]);
    expect(JSON.stringify(told).split("WHEN it fits")).toHaveLength(2);
    memory.set("specs/one/requirements.md", "# Requirements\n\n## 1 Log in\n\n1. a\n1. b\n");
    expect((await task()).requirements).toEqual(["1: Log in", "1.1: a", ...ids.slice(2)]);
  });

  it("says at the start which requirements are not there", async () => {
    const start = { action: "start", workflow_type: "spec", target_file: "specs/one" };
    const { call, memory } = makeTool({ plan: KIRO, phases: [] });
    const warnings = async () => (await call(start)).plan_warnings;
    const code = "REQUIREMENT_UNKNOWN";
    expect(await warnings()).toMatchObject({
      first: [
        {
          code,
          line: 4,
          message: expect.stringMatching(/such as 1\.1, and there is no specs\/one\/requirements\.md$/),
        },
      ],
    });
    const document =
      "# Requirements\n\n### Requirement 1: Log in\n\n#### Acceptance Criteria\n\n1. WHEN it fits THEN let in\n";
    memory.set("specs/one/requirements.md", document);
    expect(await warnings()).toBeUndefined();
    memory.set(PLAN_PATH, KIRO.replace("1.1_", "1, 1.1-1.2, 4, 4.1, FR-7_"));
    expect(await warnings()).toMatchObject({
      count: 1,
      first: [
        {
          code,
          message: expect.stringMatching(
            /requirements\.md does not have: 1\.2 \(task 1\.1\), 4 .*, 4\.1 \(task 1\.1\)$/,
          ),
        },
      ],
    });
    memory.set("specs/one/requirements.md", document.replace("1. WHEN", "- WHEN"));
    expect(await warnings()).toMatchObject({
      first: [{ message: expect.stringMatching(/have: 4 \(task 1\.1\), 4\.1/) }],
    });
    memory.set("specs/one/requirements.md", "No numbers here, but FR-001 and FR-002.\n");
    expect(await warnings()).toMatchObject({
      first: [{ message: expect.stringMatching(/have: FR-7 \(task 1\.1\)$/) }],
    });
  });

  it("counts the plan's warnings, and shows the first ones", async () => {
    const odd = Array.from({ length: 8 }, (_, index) => `- [ ] Stray ${index}\n`).join("");
    const { call } = makeTool({ plan: `# Tasks\n\n${odd}\n${PLAN}` });
    const started = await call({ action: "start", workflow_type: "spec", target_file: "specs/one" });
    expect(started.plan_warnings).toMatchObject({
      count: 8,
      first: [{ code: expect.any(String), line: 3, message: expect.any(String) }, {}, {}, {}, {}],
    });
  });

  it("shows the current state of the tasks, and names one that is ready", async () => {
    const { call, start, edit } = makeTool();
    const session_id = await start(1);
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      phase_content: {
        title: "Parse",
        description: "Read the input",
        tasks: [
          { task_number: 1, id: "1.1", name: "Write the lexer", state: "pending", ready: true },
          { task_number: 2, id: "1.2", state: "pending", dependencies: "1.1" },
          { task_number: 3, id: "1.3", state: "pending", ready: true },
        ],
        checkpoint: {
          evidence_schema: {
            tasks_completed: { required: true },
            validation_gate: { items: { 1: "All tests pass", 2: "The docs are read by somebody" } },
          },
        },
      },
      next: { action: "complete_task", phase: 1, task_number: 1 },
    });
    edit((text) => text.replace("- [ ] **Task 1.1**", "- [x] **Task 1.1**"));
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      next: { action: "complete_task", task_number: 2 },
    });
    edit((text) => text.replaceAll("- [ ] **Task", "- [x] **Task"));
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      next: { action: "complete_phase", phase: 1 },
    });
  });

  it("lists dropped tasks, which it never leads to, and tells the number of a phase in the plan", async () => {
    const plan = `### Phase A: One\n\n- [ ] ~~**Task 1.1**: Old~~\n- [ ] **Task 1.2**: New\n  - **Dependencies**: Task 1.1\n\n### Phase B: Two\n\n- [ ] **Task 2.1**: Last\n`;
    const { call, start } = makeTool({ plan });
    const session_id = await start(1);
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      phase_content: {
        phase_in_plan: "A",
        tasks: [
          { id: "1.1", state: "dropped" },
          { id: "1.2", ready: true },
        ],
        dropped_tasks: ["1.1"],
      },
      next: { action: "complete_task", task_number: 2 },
    });
    expect(await call({ action: "complete_task", session_id, phase: 1, task_number: 2 })).toMatchObject({
      tasks_dropped: "1",
      tasks_left: 0,
      next: { action: "complete_phase" },
    });
    const passed = { action: "complete_phase", session_id, phase: 1, evidence: { tasks_completed: ["1.2"] } };
    expect(await call(passed)).toMatchObject({
      dropped_tasks: ["1.1"],
      next_phase: { phase_number: 2, phase_in_plan: "B", title: "Two" },
    });
  });

  it("shows a task with its dependencies, and tasks that are ready instead", async () => {
    const { call, start, edit } = makeTool();
    const session_id = await start(1);
    const task = { action: "get_task", session_id, phase: 1, task_number: 2 };
    expect(await call(task)).toMatchObject({
      ...{ id: "1.2", state: "pending", dependencies: "1.1", open_dependencies: "1.1", ready_tasks: [1, 3] },
      task_content: { title: "Write the parser" },
      next: { action: "get_task", task_number: 1 },
    });
    edit((text) =>
      text.replace("- [ ] **Task 1.1**", "- [x] **Task 1.1**").replace("- [ ] **Task 1.3**", "- [x] **Task 1.3**"),
    );
    const ready = await call(task);
    expect(ready).not.toHaveProperty("open_dependencies");
    expect(ready).toMatchObject({ next: { action: "complete_task", phase: 1, task_number: 2 } });
    expect(await call({ action: "complete_task", session_id, phase: 1, task_number: 2 })).toMatchObject({
      next: { action: "complete_phase" },
    });
  });

  it("leads from a task that was given up to a waiver, waits for it, and leads back if it is denied", async () => {
    const { call, refused, start, engine } = makeTool({ engine: { allowUnsignedApprovals: true } });
    const session_id = await start(1);
    const task = { action: "complete_task", session_id, phase: 1 };
    for (const task_number of [2, 3]) await call({ ...task, task_number });
    const given = await call({ ...task, task_number: 1, outcome: "given_up", note: "no grammar" });
    // The waiver is asked for with the reason why the task was given up.
    expect(given).toMatchObject({
      next: { action: "request_waiver", phase: 1, fields: ["1.1"], reason: "no grammar" },
    });
    const later = { ...Object(given.next), reason: "<why it can't be done>" };
    expect(await refused(later)).toMatchObject({ error: expect.stringContaining("'reason'") });
    expect((await call({ action: "get_phase", session_id })).next).toEqual(later);
    expect((await call({ action: "get_task", session_id, phase: 1, task_number: 1 })).next).toEqual(later);
    await call(Object(given.next));
    const phase = await call({ action: "get_phase", session_id });
    expect(phase).toMatchObject({
      awaiting_waiver: true,
      blocked: expect.stringContaining("end your turn"),
      next: null,
    });
    const brief = await call({ action: "get_state", session_id, brief: true });
    expect(brief).toMatchObject({
      ...{ tasks_left: 0, next: null, blocked: expect.stringContaining("end your turn") },
      waiver: { reason: "no grammar", how: expect.stringContaining(" End your turn") },
    });
    await call({ action: "pause", session_id, checkpoint_note: "waits for ann" });
    expect((await call({ action: "get_state", session_id, brief: true })).next).toBeNull();
    await call({ action: "resume", session_id });
    const evidence = { tasks_completed: ["1.2", "1.3"], validation_gate: { 1: true, 2: true } };
    expect(await refused({ action: "complete_phase", session_id, phase: 1, evidence })).toMatchObject({
      ...{ remediation: expect.stringContaining("before the decision uses up an attempt"), next: null },
    });
    const request = (await engine.session(session_id).waiver())?.request ?? "";
    await engine.session(session_id).denyWaiver({ by: "ann", note: "it is in docs/", request });
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      ...{ waiver_denied: { do_instead: "it is in docs/" }, next: { action: "complete_task", task_number: 1 } },
    });
    expect(await call({ action: "get_task", session_id, phase: 1, task_number: 1 })).toMatchObject({
      next: { action: "complete_task", task_number: 1 },
    });
    expect(await call({ ...task, task_number: 1, note: "found it" })).toMatchObject({
      ...{ tasks_done: "1-3", next: { action: "complete_phase" } },
    });
  });

  it("lets the waiver of a task be asked for at once, so that a person can decide while the others are done", async () => {
    const { call, start } = makeTool({ engine: { allowUnsignedApprovals: true } });
    const session_id = await start(1);
    const task = { action: "complete_task", session_id, phase: 1, task_number: 1 };
    const given = await call({ ...task, outcome: "given_up", note: "no grammar" });
    expect(given).toMatchObject({
      if_impossible: { action: "request_waiver", phase: 1, fields: ["1.1"], reason: "no grammar" },
      next: { action: "complete_task", task_number: 3 },
    });
    expect(await call(Object(given.if_impossible))).toMatchObject({
      awaiting_waiver: true,
      next: { action: "get_task", task_number: 3 },
    });
  });

  it("leads to a waiver, not to a task that is locked, if the order is kept and the task before was given up", async () => {
    const config = { enforce_dependencies: true };
    const { call, refused, start } = makeTool({ config, engine: { allowUnsignedApprovals: true } });
    const session_id = await start(1);
    const task = { action: "complete_task", session_id, phase: 1 };
    await call({ ...task, task_number: 3 });
    const given = await call({ ...task, task_number: 1, outcome: "given_up", note: "no grammar" });
    expect(given).toMatchObject({ tasks_left: 1, next: { action: "request_waiver", fields: ["1.1"] } });
    const locked = await refused({ action: "get_task", session_id, phase: 1, task_number: 2 });
    expect(locked).toMatchObject({
      code: "TASK_LOCKED",
      remediation: expect.stringContaining("a person has waived it"),
    });
    const asked = { ...Object(given.next), reason: "<why it can't be done>" };
    expect((await call(Object(locked.next))).next).toEqual(asked);
    await call(Object(given.next));
    expect(await call(Object(locked.next))).toMatchObject({ blocked: expect.any(String), next: null });
  });

  it("lets an optional task be given up, which then blocks no other one", async () => {
    const plan = PLAN.replace("Task 1.1**: Write the lexer", "Task 1.1**: Write the lexer (optional)");
    const { call, start } = makeTool({ plan, config: { enforce_dependencies: true } });
    const session_id = await start(1);
    const task = { action: "complete_task", session_id, phase: 1 };
    const given = await call({ ...task, task_number: 1, outcome: "given_up", note: "not worth it" });
    expect(given).toMatchObject({ task: { id: "1.2" }, next: { action: "complete_task", task_number: 2 } });
    for (const task_number of [2, 3]) await call({ ...task, task_number });
    expect(await call({ action: "get_phase", session_id })).toMatchObject({ next: { action: "complete_phase" } });
  });

  it("refuses the claim of a task that is noted as given up, and names both ways out", async () => {
    const plan = PLAN.replace("Task 1.3**: Write the docs", "Task 1.3**: Write the docs (optional)");
    const { call, refused, start, text } = makeTool({ plan });
    const session_id = await start(1);
    const task = { action: "complete_task", session_id, phase: 1 };
    for (const task_number of [1, 3]) await call({ ...task, task_number, outcome: "given_up", note: "no grammar" });
    const complete = { action: "complete_phase", session_id, phase: 1 };
    const items = { validation_gate: { 1: true, 2: true } };
    const both = await refused({ ...complete, evidence: { tasks_completed: ["1.1", "1.2", "1.3"], ...items } });
    expect(both).toMatchObject({
      ...{ code: "GATE_FAILED", attempt: 1, missing_tasks: "1.1" },
      validation_errors: [
        expect.stringMatching(/^Task 1\.1 .* noted as given up: leave it out and ask for a waiver; .*complete_task/),
        expect.stringMatching(/^Task 1\.3 .* noted as given up: leave it out; .*complete_task/),
      ],
      if_impossible: { action: "request_waiver", fields: ["tasks_completed.1.1"] },
      next: { evidence: { tasks_completed: AGAIN } },
    });
    await call({ ...task, task_number: 1, note: "found the grammar" });
    const optional = await refused({ ...complete, evidence: { tasks_completed: ["1.1", "1.2", "1.3"], ...items } });
    expect(optional.validation_errors).toHaveLength(1);
    expect(optional).not.toHaveProperty("missing_tasks");
    expect(text()).toBe(plan);
    const left = await call({ ...complete, evidence: { tasks_completed: ["1.1", "1.2"], ...items } });
    expect(left).toMatchObject({ plan_ticked: ["1.1", "1.2"] });
  });

  it("leads past a task that a person has waived", async () => {
    const { call, start, engine } = makeTool({ engine: { allowUnsignedApprovals: true } });
    const session_id = await start(1);
    await call({ action: "request_waiver", session_id, phase: 1, fields: ["1.1"], reason: "no grammar" });
    await engine
      .session(session_id)
      .waive({ by: "ann", request: (await engine.session(session_id).waiver())?.request ?? "" });
    expect(await call({ action: "get_state", session_id, brief: true })).toMatchObject({
      ...{ tasks_done: "none", tasks_waived: "1", tasks_left: 2, next_task: 2 },
    });
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      phase_content: { tasks: [{ closed: "waived" }, { ready: true }, { ready: true }] },
      next: { action: "complete_task", task_number: 2 },
    });
    const task = { session_id, phase: 1 };
    expect(await call({ action: "get_task", ...task, task_number: 1 })).toMatchObject({
      ...{ closed: "waived", next: { action: "get_task", task_number: 2 } },
    });
    await call({ action: "complete_task", ...task, task_number: 2 });
    expect(await call({ action: "complete_task", ...task, task_number: 3 })).toMatchObject({
      next: {
        action: "complete_phase",
        evidence: {
          tasks_completed:
            "<list of texts: the ids of the tasks that you have done and not noted; an empty list if all are noted>",
        },
      },
    });
  });

  it("shows the requirements of a task, and that it is optional, only if the plan has them", async () => {
    const words = "a sentence that goes on and on, ".repeat(10).trim();
    const plan = PLAN.replace("Task 1.3**: Write the docs", "Task 1.3**: Write the docs (optional)").replace(
      "  - **Dependencies**: Task 1.1\n",
      `$&  - **Requirements**: 1.1, FR-002\n  - **Traces to**: ${words}\n`,
    );
    const { call, start } = makeTool({ plan });
    const session_id = await start(1);
    const { tasks } = (await call({ action: "get_phase", session_id })).phase_content as { tasks: readonly object[] };
    expect(tasks).toEqual([
      { task_number: 1, id: "1.1", name: "Write the lexer", state: "pending", ready: true },
      expect.objectContaining({ id: "1.2", requirements: ["1.1", "FR-002", `${words.slice(0, 119)}…`] }),
      expect.objectContaining({ id: "1.3", optional: true }),
    ]);
    const task = (number: number) => call({ action: "get_task", session_id, phase: 1, task_number: number });
    expect(await task(2)).toMatchObject({ id: "1.2", requirements: ["1.1", "FR-002", words] });
    expect(await task(2)).not.toHaveProperty("optional");
    expect(await task(3)).toMatchObject({ id: "1.3", optional: true });
    expect(await task(3)).not.toHaveProperty("requirements");
  });

  it("refuses a locked task, and names the tasks that are ready", async () => {
    const { refused, start } = makeTool({ config: { enforce_dependencies: true } });
    const session_id = await start(1);
    expect(await refused({ action: "get_task", session_id, phase: 1, task_number: 2 })).toMatchObject({
      code: "TASK_LOCKED",
      error_type: "StateError",
      error: expect.stringContaining("1.1"),
    });
  });

  it("names every missing task and item at a gate, and the ticked ones when it passes", async () => {
    const { call, refused, start } = makeTool();
    const session_id = await start(1);
    const complete = { action: "complete_phase", session_id, phase: 1 };
    expect(
      await refused({ ...complete, evidence: { tasks_completed: ["1.1"], validation_gate: { 2: true } } }),
    ).toMatchObject({
      code: "GATE_FAILED",
      missing_evidence: ["tasks_completed", "validation_gate.1"],
      missing_tasks: "1.2, 1.3",
      unclaimed_items: { 1: "All tests pass" },
      next: {
        action: "complete_phase",
        evidence: {
          tasks_completed: AGAIN,
          validation_gate: { 1: "<boolean: whether it holds>" },
        },
      },
    });
    expect(await call({ ...complete, evidence: claims[1] })).toMatchObject({ plan_ticked: ["1.1", "1.2", "1.3"] });
  });

  it("never names a next call that would pass unchanged", async () => {
    const { call, refused, start } = makeTool();
    const session_id = await start(1);
    const { next } = await refused({ action: "complete_phase", session_id, phase: 1, evidence: {} });
    expect(await refused(JSON.parse(JSON.stringify(next)))).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    await call({ action: "get_phase", session_id });
  });

  it("reports ticks that are pending, and ticks that were removed", async () => {
    const { call, start, plans } = makeTool();
    const session_id = await start(1);
    plans.fault = () => {
      throw new Error("EROFS: /secret/place");
    };
    const passed = await call({ action: "complete_phase", session_id, phase: 1, evidence: claims[1] });
    expect(passed).toMatchObject({
      checkpoint_passed: true,
      plan_ticks_pending: expect.stringContaining("tried again"),
    });
    expect(JSON.stringify(passed)).not.toContain("secret");
    expect(await call({ action: "get_state", session_id, brief: true })).toMatchObject({
      plan_ticks_pending: true,
      plan_unreadable: true,
    });
    expect(await call({ action: "get_state", session_id })).toMatchObject({
      plan_unreadable: expect.stringContaining("as pinned"),
      plan_ticks_pending: expect.any(String),
    });
    plans.fault = () => {};
    expect(await call({ action: "get_state", session_id })).toMatchObject({ plan_ticked: ["1.1", "1.2", "1.3"] });
    const back = await call({ action: "rollback", session_id, to_phase: 1 });
    expect(back).toMatchObject({ plan_unticked: ["1.1", "1.2", "1.3"], artifacts_cleared: [1] });
  });

  it("reports a changed plan in get_phase and get_state, previews the sync, does it, and then reports no change", async () => {
    const { call, start, edit } = makeTool();
    const session_id = await start(2);
    edit((text) =>
      text
        .replace("- [ ] **Task 2.2**", "- [ ] **Task 2.3**: Write a legend\n- [ ] **Task 2.2**")
        .replace("- [x] **Task 1.3**", "- [ ] **Task 1.4**: Late\n- [x] **Task 1.3**"),
    );
    const preview = { action: "sync_plan", session_id, preview: true };
    expect(await call({ action: "get_phase", session_id })).toMatchObject({
      plan_changed: { path: PLAN_PATH, summary: "1 added", next: preview },
      next: { action: "complete_task", phase: 2, task_number: 1 },
    });
    expect(await call({ action: "get_state", session_id })).toMatchObject({ plan_changed: { next: preview } });
    expect(await call({ action: "get_state", session_id, brief: true })).toMatchObject({
      plan_changed: expect.stringContaining("sync_plan"),
    });
    const changes = {
      added: [
        { phase: 1, id: "1.4", name: "Late", note: expect.stringContaining("not required") },
        { phase: 2, id: "2.3", name: "Write a legend" },
      ],
    };
    expect(await call(preview)).toMatchObject({
      ...{ plan: PLAN_PATH, preview: true, changed: true, synced: false, changes },
      next: { action: "sync_plan", session_id },
    });
    expect(await call({ action: "sync_plan", session_id, idempotency_key: "k" })).toMatchObject({
      ...{ preview: false, changed: true, synced: true, changes, current_phase: 2, total_phases: 3 },
      next: { action: "get_phase", session_id },
    });
    expect(await call({ action: "sync_plan", session_id })).toMatchObject({
      changed: false,
      summary: expect.stringContaining("in completed phases"),
    });
    expect(await call({ action: "get_phase", session_id })).not.toHaveProperty("plan_changed");
  });

  it("does not suggest a sync that only the host can do", async () => {
    const { call, refused, start, edit } = makeTool();
    const session_id = await start(1);
    edit((text) => text.replace("- [ ] All tests pass\n", ""));
    expect(await call({ action: "sync_plan", session_id, preview: true })).toMatchObject({
      needs_host: expect.stringContaining("only the person who runs this"),
      taken_away: [{ phase: 1, name: "All tests pass" }],
      next: { action: "get_phase", session_id },
    });
    expect(await refused({ action: "sync_plan", session_id })).toMatchObject({
      code: "NOT_ALLOWED",
      error: expect.stringContaining("'All tests pass'"),
    });
  });

  it("counts changes in later phases without naming them, in a preview, a refusal and a sync", async () => {
    const { call, refused, start, edit } = makeTool();
    const session_id = await start(1);
    edit((text) =>
      text
        .replace("- [ ] **Task 1.3**", "- [ ] **Task 1.4**: Read them\n- [ ] **Task 1.3**")
        .replace("- [ ] **Task 2.2**", "- [ ] **Task 2.3**: Write a legend\n- [ ] **Task 2.2**")
        .replace("Phase 2: Print", "Phase 2: Show"),
    );
    const preview = await call({ action: "sync_plan", session_id, preview: true });
    expect(preview).toMatchObject({
      changes: { added: [{ phase: 1, id: "1.4", name: "Read them" }] },
      ...{ change_counts: { added: 2, renamed: 1 }, changes_ahead: 2 },
    });
    const synced = await call({ action: "sync_plan", session_id });
    expect(synced).toMatchObject({ change_counts: { added: 2, renamed: 1 }, changes_ahead: 2 });
    expect(synced.changes).toEqual(preview.changes);
    expect(synced).not.toHaveProperty("more_changes");
    edit((text) => text.replace("Write the printer", "Say hello").replace("- [ ] Round trips\n", ""));
    const less = await call({ action: "sync_plan", session_id, preview: true });
    expect(less).toMatchObject({ needs_host: expect.any(String), taken_away_ahead: 2, changes: {}, changes_ahead: 2 });
    const refusal = await refused({ action: "sync_plan", session_id });
    expect(refusal.error).toContain("2 changes of that kind in phases ahead");
    for (const answer of [preview, synced, less, refusal]) {
      expect(JSON.stringify(answer)).not.toMatch(/printer|hello|legend|colours|Show|Print|Round/);
    }
  });

  it("reports that nothing has changed, and refuses a sync of a completed session", async () => {
    const { call, refused, start, pass } = makeTool();
    const session_id = await start(2);
    expect(await call({ action: "sync_plan", session_id })).toMatchObject({
      ...{ changed: false, changes: {} },
      summary: "the plan has not changed since it was pinned",
    });
    await pass(session_id, 2);
    expect(await refused({ action: "sync_plan", session_id })).toMatchObject({
      code: "INVALID_TRANSITION",
      error: expect.stringMatching(/^sync_plan is not possible/),
    });
  });

  it("names the plan in the error for a phase that does not exist", async () => {
    const { refused, start } = makeTool();
    const session_id = await start(1);
    const body = {
      error: "phase_out_of_range_error",
      code: "PHASE_OUT_OF_RANGE",
      message: "there is no phase 99 in spec",
      hint: "Use one of the phases 0, 1, 2.",
      source_path: PLAN_PATH,
    };
    expect(await refused({ action: "get_phase", session_id, phase: 99 })).toMatchObject(body);
    expect(await refused({ action: "get_task", session_id, phase: 99, task_number: 1 })).toMatchObject(body);
    expect(await refused({ action: "complete_phase", session_id, phase: 99, evidence: {} })).toMatchObject(body);
  });

  it("names a failed call as agents know it, and keeps names of the plan unchanged", async () => {
    const plan = PLAN.replace("Phase 2: Print", "Phase 2: syncPlan is not possible");
    const { refused, start, content, edit } = makeTool({ plan });
    const session_id = await start(2);
    edit((text) => text.replace(/### Phase 2.*/s, ""));
    const gone = await refused({ action: "sync_plan", session_id });
    expect(gone.error).toContain("'syncPlan is not possible'");
    content.text = () => Promise.reject(new Error("EIO"));
    const task = { session_id, phase: 2, task_number: 1 };
    expect((await refused({ action: "get_task", ...task })).error).toMatch(/^get_task failed: internal error/);
    expect((await refused({ action: "get_phase", session_id })).error).toMatch(/^get_phase failed: internal error/);
  });

  it("names no call that the host has excluded", async () => {
    const { engine, start, edit } = makeTool();
    const session_id = await start(1);
    edit((text) => text.replace("Write the printer", "Write a printer"));
    const tool = workflowTool(engine, { actions: ["get_phase", "complete_phase"] });
    const phase = await tool.dispatch({ action: "get_phase", session_id });
    expect(phase.plan_changed).toEqual({ path: expect.any(String), summary: expect.any(String) });
    expect(await tool.dispatch({ action: "sync_plan", session_id })).toMatchObject({ status: "error" });
  });
});

describe("an answer about a long plan stays within its budget", () => {
  it("a phase with sixty tasks is returned whole, with everything that is missing at its gate", async () => {
    const { call, refused, start } = makeTool({ plan: chain(60) });
    const session_id = await start(1);
    const { phase_content: content } = await call({ action: "get_phase", session_id });
    expect(content).toMatchObject({ tasks: { length: 60 } });
    const failed = await refused({ action: "complete_phase", session_id, phase: 1, evidence: {} });
    expect(failed).toMatchObject({
      missing_tasks: expect.stringMatching(/^1\.1, (?:1\.\d+, ){58}1\.60$/),
      unclaimed_items: { 1: "All is well" },
    });
  });

  it("a refusal that is too long names the call that returns all of it", async () => {
    const tasks = Array.from({ length: 500 }, (_, index) => `- [ ] **Task 1.${index + 1}**: Do it\n`).join("");
    const words = "and this is shown to somebody who has not written it, in writing, with the date and the place of it";
    const items = Array.from({ length: 200 }, (_, index) => `- [ ] Thing ${index + 1} works, ${words}\n`).join("");
    const plan = `### Phase 1: Big\n\n${tasks}\n#### Validation Gate\n\n${items}`;
    const { call, refused, start, engine } = makeTool({ plan });
    const session_id = await start(1);
    const failed = { action: "complete_phase", session_id, phase: 1, evidence: {} };
    const answer = await refused(failed);
    expect(answer.left_out).toContain("unclaimed_items");
    expect(answer.next).toEqual({ action: "get_errors", session_id });
    let page = await call({ action: "get_errors", session_id });
    let said = JSON.stringify(page);
    while (page.cursor !== undefined) {
      page = await call({ action: "get_errors", session_id, cursor: page.cursor });
      said += JSON.stringify(page);
    }
    expect(said).toContain("Task 1.500 is not");
    expect(said).toContain("item 200 of the validation gate: Thing 200 works");
    const tool = workflowTool(engine, { actions: ["complete_phase"] });
    expect((await tool.dispatch(failed)).next).toMatchObject({ action: "complete_phase" });
  });

  it("a longer phase is returned in pages, which together are the whole", async () => {
    const { call, start } = makeTool({ plan: chain(150) }, 1000);
    const session_id = await start(1);
    let page = await call({ action: "get_phase", session_id });
    let json = String(page.json_page);
    while (page.cursor !== undefined) {
      page = await call({ action: "get_phase", session_id, cursor: page.cursor });
      json += String(page.json_page);
    }
    expect(JSON.parse(json)).toMatchObject({ phase_content: { tasks: { length: 150 } } });
  });

  it("a sync with hundreds of changes counts the ones that it does not list", async () => {
    const { call, start, edit } = makeTool({ plan: chain(10) }, 2000);
    const session_id = await start(1);
    edit(() => chain(300).replaceAll("Dependencies**: Task", "Estimated Time**: 1 hour\n  - **Dependencies**: Task"));
    const synced = await call({ action: "sync_plan", session_id });
    expect(synced).toMatchObject({
      synced: true,
      changes: { added: { length: 15 }, other: { length: 9 } },
      more_changes: 275,
    });
  });

  it("a preview names every change, in pages whose cursors are valid while the plan is unchanged", async () => {
    const { call, refused, start, edit, engine } = makeTool({ plan: chain(10) }, 2000);
    const session_id = await start(1);
    edit(() => chain(300).replaceAll("thing", "other thing"));
    const { version } = await engine.session(session_id).state();
    let page = await call({ action: "sync_plan", session_id, preview: true });
    expect(page).toMatchObject({ change_counts: { added: 290, renamed: 10 }, more_changes: expect.any(Number) });
    const second = page.next;
    const named: string[] = [];
    for (;;) {
      for (const entries of Object.values(Object(page.changes))) {
        named.push(...Array.from(Object(entries), ({ id }: { id: string }) => id));
      }
      if (page.cursor === undefined) break;
      page = await call(JSON.parse(JSON.stringify(page.next)));
    }
    expect(named.sort()).toEqual(Array.from({ length: 300 }, (_, index) => `1.${index + 1}`).sort());
    expect(page).not.toHaveProperty("more_changes");
    expect(page.next).toMatchObject({ action: "get_phase", session_id });
    const { cursor } = JSON.parse(JSON.stringify(second));
    expect(await refused({ action: "sync_plan", session_id, cursor })).toMatchObject({ code: "INVALID_INPUT" });
    expect((await engine.session(session_id).state()).version).toBe(version);
    edit((text) => text.replace("thing number 7 ", "anything "));
    const stale = await refused({ action: "sync_plan", session_id, preview: true, cursor });
    expect(stale).toMatchObject({ code: "CURSOR_INVALID", error: expect.stringContaining("has changed") });
  });

  it("the ticks of a long phase are counted if not all are listed", async () => {
    const { call, start } = makeTool({ plan: chain(150) });
    const session_id = await start(1);
    const ids = Array.from({ length: 150 }, (_, index) => `1.${index + 1}`);
    const evidence = { tasks_completed: ids, validation_gate: { 1: true } };
    expect(await call({ action: "complete_phase", session_id, phase: 1, evidence })).toMatchObject({
      plan_ticked: { length: 100 },
      plan_ticked_in_all: 150,
    });
  });

  it("a brief state stays short for any plan", async () => {
    const { call, start, edit, plans } = makeTool({ plan: chain(100) });
    const session_id = await start(1);
    plans.fault = (operation) => {
      if (operation === "replace") throw new Error("read-only");
    };
    const ids = Array.from({ length: 100 }, (_, index) => `1.${index + 1}`);
    await call({
      action: "complete_phase",
      session_id,
      phase: 1,
      evidence: { tasks_completed: ids, validation_gate: { 1: true } },
    });
    edit((text) => `${text}\n### Phase 2: More\n\n- [ ] **Task 2.1**: More\n`);
    const state = await call({ action: "get_state", session_id, brief: true });
    expect(JSON.stringify(state).length).toBeLessThan(1600);
  });
});
