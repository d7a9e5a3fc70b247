import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, createWorkflowTool } from "phasegate";
import { createProjectRoot, FileContent, FilePlans, FileStorage } from "phasegate/fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { claimName } from "../../src/sandbox/replace.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

const PLAN = `# Tasks

## Phase 1: Parse

- [ ] **Task 1.1**: Write the lexer
  - **Acceptance Criteria**:
    - [ ] Knows every token
- [ ] **Task 1.2**: Write the parser
  - _Requirements: 2.1, 2.2_

**Validation Gate:**
- [ ] All tests pass
- [ ] Somebody has read the docs

## Phase 2: Print

- [ ] **Task 2.1**: Write the printer
`;
const TRUTH = { tasks_completed: ["1.1", "1.2"], validation_gate: { 1: true, 2: true } };

const WORKFLOW = {
  "build_v1/metadata.json": JSON.stringify({
    ...{ workflow_type: "build_v1", name: "Build", description: "Builds a plan", version: "1.0.0" },
    dynamic_phases: true,
    dynamic_config: {
      source_path_key: "spec_path",
      templates: { phase: "phases/dynamic/phase-template.md", task: "phases/dynamic/task-template.md" },
    },
    phases: [],
  }),
  "build_v1/phases/dynamic/phase-template.md": "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n",
  "build_v1/phases/dynamic/task-template.md": "# Task [TASK_ID]: [TASK_NAME]\n",
};

/** Starts a session on a plan in the project's folder. */
async function aPlan() {
  const base = await temporaryFolder();
  const project = join(base, "project");
  const file = join(project, "specs/one/tasks.md");
  await mkdir(project);
  await writeFiles(project, { "specs/one/tasks.md": PLAN });
  await writeFiles(join(base, "workflows"), WORKFLOW);
  const engine = createEngine({
    content: new FileContent({ roots: [join(base, "workflows")] }),
    storage: await FileStorage.open(join(base, "state")),
    targets: await createProjectRoot(project),
    plans: new FilePlans({ root: project }),
  });
  onTestFinished(() => engine.close());
  const tool = createWorkflowTool(engine);
  const started = await tool.dispatch({ action: "start", workflow_type: "build_v1", target_file: "specs/one" });
  const id = String(started.session_id);
  const claim = (evidence: object, phase = 1) =>
    tool.dispatch({ action: "complete_phase", session_id: id, phase, evidence });
  return {
    ...{ claim, tool, id, file },
    text: () => readFile(file, "utf8"),
    edit: (text: string) => writeFile(file, text),
    /** Submits a false claim, which is refused with the given messages, and then a true one, which is accepted. */
    lieThenTruth: async (lie: object, says: readonly RegExp[]) => {
      const answer = await claim(lie);
      expect(answer).toMatchObject({ status: "error", checkpoint_passed: false });
      for (const words of says) expect(JSON.stringify(answer.validation_errors)).toMatch(words);
      expect(await claim(TRUTH)).toMatchObject({ status: "success", checkpoint_passed: true });
    },
  };
}

describe("the gate of a plan's phase", () => {
  it("lets an honest agent through, and ticks the plan", async () => {
    const { claim, text } = await aPlan();
    expect(await claim(TRUTH)).toMatchObject({ checkpoint_passed: true });
    expect(await text()).toContain("- [x] **Task 1.2**");
    expect(await text()).toContain("- [ ] **Task 2.1**");
  });

  it("does not accept a tick in the file as a claim", async () => {
    const { lieThenTruth, edit } = await aPlan();
    await edit(PLAN.replaceAll("- [ ]", "- [x]"));
    await lieThenTruth({}, [/Task 1\.1 is not in 'tasks_completed'/, /Not claimed: item 2 .*: Somebody has read/]);
  });

  it("accepts each task that was noted as done, no other one, and no item for it; it ticks nothing before", async () => {
    const { claim, lieThenTruth, tool, id, text } = await aPlan();
    const note = (task_number: number) =>
      tool.dispatch({ action: "complete_task", session_id: id, phase: 1, task_number });
    expect(await note(1)).toMatchObject({ status: "success" });
    const items = { validation_gate: { 1: true, 2: true } };
    expect(await claim(items)).toMatchObject({ checkpoint_passed: false, missing_tasks: "1.2" });
    expect(await note(2)).toMatchObject({ status: "success" });
    expect(await text()).toBe(PLAN);
    await lieThenTruth({}, [/^\["Not claimed: item 1 .*Not claimed: item 2/]);
  });

  it("refuses unknown task ids, and names the missing task", async () => {
    const { lieThenTruth } = await aPlan();
    const lie = { ...TRUTH, tasks_completed: ["1.1", "1.20", "all of them", "*"] };
    await lieThenTruth(lie, [
      /Task 1\.2 is not in 'tasks_completed' \(you sent .*1\.20.*\), nor noted as done: do it, then note it or claim it/,
    ]);
  });

  it("refuses task ids of another phase", async () => {
    const { lieThenTruth } = await aPlan();
    await lieThenTruth({ ...TRUTH, tasks_completed: ["2.1", "2.1"] }, [/Task 1\.1 is not/, /Task 1\.2 is not/]);
  });

  it("refuses items under wrong numbers", async () => {
    const { lieThenTruth } = await aPlan();
    const lie = { ...TRUTH, validation_gate: { 0: true, 1: true, 3: true } };
    await lieThenTruth(lie, [/Not claimed: item 2 of the validation gate: Somebody has read the docs/]);
  });

  it('refuses "true" and 1 for an item', async () => {
    const { lieThenTruth } = await aPlan();
    const lie = { ...TRUTH, validation_gate: { 1: "true", "Somebody has read the docs": 1 } };
    await lieThenTruth(lie, [/Not claimed as true: item 1/, /Not claimed as true: item 2/]);
  });

  it("refuses a list in place of an object, and a text in place of a list", async () => {
    const { lieThenTruth } = await aPlan();
    const lie = { tasks_completed: "1.1, 1.2", validation_gate: [true, true] };
    await lieThenTruth(lie, [/'tasks_completed' must be a list of task ids/, /'validation_gate' must be an object/]);
  });

  it("requires the pinned tasks after the plan is emptied, and refuses a sync", async () => {
    const { lieThenTruth, edit, tool, id } = await aPlan();
    await edit("# Tasks\n");
    const sync = await tool.dispatch({ action: "sync_plan", session_id: id });
    expect(sync).toMatchObject({ status: "error", message: expect.stringContaining("it has no phase and no task") });
    expect(sync.hint).toContain("## Phase 1");
    await edit(PLAN);
    await lieThenTruth({}, [/Task 1\.1 is not in/, /Task 1\.2 is not in/]);
  });

  it("requires the pinned tasks after the current phase is removed, and refuses a sync", async () => {
    const { lieThenTruth, edit, tool, id } = await aPlan();
    await edit(PLAN.slice(PLAN.indexOf("## Phase 2")).replace("Phase 2", "Phase 7"));
    const sync = await tool.dispatch({ action: "sync_plan", session_id: id });
    expect(sync).toMatchObject({ status: "error", error: expect.stringContaining("Parse") });
    await edit(PLAN);
    await lieThenTruth({}, [/Task 1\.1 is not in/]);
  });

  it.each([
    ["a name", PLAN.replace("Write the parser", "Say hello"), "'1.2 Write the parser' is called 'Say hello' now"],
    ["a criterion", PLAN.replace("  - [ ] Knows every token\n", ""), "'1.1 Write the lexer' lacks the criterion"],
    ["a requirement", PLAN.replace("2.1, 2.2", "2.2"), "'1.2 Write the parser' lacks the requirement '2.1'"],
    [
      "the mark of an optional task",
      PLAN.replace("- [ ] **Task 1.2", "- [ ]* **Task 1.2"),
      "'1.2 Write the parser' may be left out",
    ],
  ])("requires each task as it was pinned if %s is changed in the plan, and refuses a sync", async (_, text, says) => {
    const { lieThenTruth, edit, tool, id } = await aPlan();
    await edit(text);
    const sync = await tool.dispatch({ action: "sync_plan", session_id: id });
    expect(sync).toMatchObject({ status: "error", code: "NOT_ALLOWED", error: expect.stringContaining(says) });
    const task = await tool.dispatch({ action: "get_task", session_id: id, phase: 1, task_number: 2 });
    expect(JSON.stringify(task)).toContain("Write the parser");
    await lieThenTruth({}, [/Task 1\.2 is not in/]);
  });

  it("shows nothing of later tasks in the preview of a sync or in its refusal", async () => {
    const { lieThenTruth, edit, tool, id } = await aPlan();
    await edit(PLAN.replace("Write the printer", "Say hello").concat("- [ ] **Task 2.2**: Write the colours\n"));
    const preview = await tool.dispatch({ action: "sync_plan", session_id: id, preview: true });
    expect(preview).toMatchObject({ status: "success", changes_ahead: 2, taken_away_ahead: 1 });
    const refused = await tool.dispatch({ action: "sync_plan", session_id: id });
    expect(refused).toMatchObject({ status: "error", code: "NOT_ALLOWED" });
    expect(JSON.stringify([preview, refused])).not.toMatch(/printer|hello|colours/);
    await edit(PLAN);
    await lieThenTruth({}, [/Task 1\.1 is not in/]);
  });

  it("answers every call if a folder is in place of the plan's claim file, and names it", async () => {
    const { claim, tool, id, file, text } = await aPlan();
    await mkdir(claimName(file));
    const passed = await claim(TRUTH);
    expect(passed).toMatchObject({ status: "success", checkpoint_passed: true });
    for (let call = 0; call < 3; call += 1) {
      const answer = await tool.dispatch({ action: "get_phase", session_id: id });
      expect(answer).toMatchObject({ status: "success" });
    }
    expect(JSON.stringify(passed)).toContain(".tasks.md.phasegate.claim");
    expect(await text()).toBe(PLAN);
    await rm(claimName(file), { recursive: true });
    await tool.dispatch({ action: "get_phase", session_id: id });
    expect(await text()).toContain("- [x] **Task 1.2**");
  });
});
