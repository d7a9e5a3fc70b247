/** `phasegate import --from`: plans of other tools, and sessions of praxis-os. The files are written here in the tools' formats. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine } from "phasegate";
import { FileContent, FilePlans, FileStorage } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { initialise } from "../support/a-repository.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";

const SPEC_KIT = `# Tasks: Log in

## Phase 1: Setup

- [x] T001 Create the folder src/login
- [x] T002 [P] Add the test runner

## Phase 2: User Story 1 - Log in (Priority: P1)

- [ ] T003 [US1] Write the form in src/login/form.ts
- [ ] T004 [US1] Check the password in src/login/check.ts
`;

const OPENSPEC = `## 1. Parser

- [x] 1.1 Read the new flag
- [ ] 1.2 Refuse an empty value

## 2. Docs

- [ ] 2.1 Describe the flag
`;

const KIRO = `# Implementation Plan

- [ ] 1. Set up the store
  - Create the table
  - _Requirements: 1.1_
- [ ]* 2. Write property tests
  - _Requirements: 1.1_
`;

const STORY = `# Story 1.1: Log in

## Acceptance Criteria

1. A user can log in

## Tasks / Subtasks

- [ ] Task 1: Write the form (AC: 1)
  - [ ] Label the fields
`;

const TASKS_JSON = ".taskmaster/tasks/tasks.json";
const TAGS = {
  master: {
    tasks: [
      { id: 1, title: "Set up", description: "The folder", status: "done", dependencies: [], subtasks: [] },
      { id: 2, title: "Log in", description: "The form", status: "pending", dependencies: [1], subtasks: [] },
    ],
    metadata: { created: "2026-01-01T00:00:00.000Z", updated: "2026-01-01T00:00:00.000Z", description: "" },
  },
};
const TASK_MASTER = JSON.stringify(TAGS, undefined, 2);

/** A plan: what is given, the file, its text, and the numbers of phases, of tasks, and of those that are done. */
interface PlanCase {
  readonly tool: string;
  readonly given: string;
  readonly file: string;
  readonly text: string;
  readonly sizes: readonly [phases: number, tasks: number, done: number];
}

/** A workflow whose phases come from a plan, with phases of its own before them. */
function planned(type: string, ...own: readonly object[]): Record<string, string> {
  const metadata = {
    ...{ workflow_type: type, version: "1.0.0", name: "Build", description: "Builds what a plan says" },
    ...{ total_phases: "dynamic", dynamic_phases: true, dynamic_config: { source_path_key: "spec_path" } },
    phases: own,
  };
  return {
    [`${type}/metadata.json`]: JSON.stringify(metadata),
    [`${type}/phases/dynamic/phase-template.md`]: "# [PHASE_NAME]\n\n[VALIDATION_GATE]\n",
    [`${type}/phases/dynamic/task-template.md`]: "# [TASK_NAME]\n\n[ACCEPTANCE_CRITERIA]\n",
  };
}

const GATE = "checkpoint: {strict: false, allow_override: true}\nevidence_schema: {done: {type: boolean}}\n";

const WORKFLOWS = {
  ...planned("build_v1"),
  ...planned("spec_execution_v1", { phase_number: 0, phase_name: "Look" }),
  "spec_execution_v1/phases/0/phase.md": "# Look\n",
  "spec_execution_v1/phases/0/gate-definition.yaml": GATE,
  "spec_creation_v1/metadata.json": JSON.stringify({
    ...{ workflow_type: "spec_creation_v1", version: "1.0.0", name: "Specify", description: "Writes a spec" },
    phases: [
      { phase_number: 0, phase_name: "Collect" },
      { phase_number: 1, phase_name: "Require", skippable: true },
      { phase_number: 2, phase_name: "Design" },
    ],
  }),
  "spec_creation_v1/phases/0/phase.md": "# Collect\n",
  "spec_creation_v1/phases/0/gate-definition.yaml": GATE,
  "spec_creation_v1/phases/1/phase.md": "# Require\n",
  "spec_creation_v1/phases/1/gate-definition.yaml": "evidence_schema: {done: {type: boolean}}\n",
  "spec_creation_v1/phases/2/phase.md": "# Design\n",
  "spec_creation_v1/phases/2/gate-definition.yaml": "evidence_schema: {done: {type: boolean}}\n",
};

/** Creates a project with these files, and commands on it. */
async function aProject(files: Readonly<Record<string, string>>) {
  const root = await temporaryFolder();
  const [project, state, workflows] = [join(root, "project"), join(root, "state"), join(root, "workflows")];
  await writeFiles(project, files);
  await writeFiles(workflows, WORKFLOWS);
  const flags = ["--state", state, "--project", project, "--workflows", workflows];
  const take = (tool: string, file: string, ...more: string[]) =>
    run("import", "--from", tool, join(project, file), ...flags, ...more);
  const engine = async () =>
    createEngine({
      storage: await FileStorage.open(state),
      content: new FileContent({ roots: [workflows] }),
      plans: new FilePlans({ root: project }),
    });
  const sessions = async () => (await (await engine()).listSessions()).items;
  return { project, state, flags, take, engine, sessions };
}

const BUILD = ["--workflow", "build_v1"];

describe("phasegate import --from, with a plan", () => {
  it.each<PlanCase>([
    { tool: "spec-kit", given: "specs/001-login", file: "specs/001-login/tasks.md", text: SPEC_KIT, sizes: [2, 4, 2] },
    { tool: "spec-kit", given: "specs/2/tasks.md", file: "specs/2/tasks.md", text: SPEC_KIT, sizes: [2, 4, 2] },
    {
      tool: "openspec",
      given: "openspec/changes/a",
      file: "openspec/changes/a/tasks.md",
      text: OPENSPEC,
      sizes: [2, 3, 1],
    },
    { tool: "kiro", given: ".kiro/specs/store", file: ".kiro/specs/store/tasks.md", text: KIRO, sizes: [1, 2, 0] },
    {
      tool: "bmad",
      given: "docs/stories/1.1.login.md",
      file: "docs/stories/1.1.login.md",
      text: STORY,
      sizes: [1, 1, 0],
    },
    { tool: "task-master", given: ".", file: TASKS_JSON, text: TASK_MASTER, sizes: [1, 2, 1] },
    { tool: "task-master", given: ".taskmaster", file: TASKS_JSON, text: TASK_MASTER, sizes: [1, 2, 1] },
    { tool: "task-master", given: TASKS_JSON, file: TASKS_JSON, text: TASK_MASTER, sizes: [1, 2, 1] },
  ])("takes one of $tool by $given", async ({ tool, given, file, text, sizes: [phases, tasks, done] }) => {
    const { take, sessions, engine } = await aProject({ [file]: text });
    const target = file.replace(/\/tasks\.md$/, "");
    const { code, stdout, stderr } = await take(tool, given, ...BUILD);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: tool === "kiro" ? expect.stringContaining("there is no .kiro/specs/store/requirements.md") : "",
    });
    const [session] = await sessions();
    expect(session).toMatchObject({ workflowType: "build_v1", target, status: "active" });
    const id = session?.sessionId ?? "";
    const state = await (await engine()).session(id).state();
    expect(state.structure.phases.length).toBe(phases);
    expect(state.structure.phases.flatMap((phase) => phase.tasks).length).toBe(tasks);
    expect(stdout).toContain(`started ${id}`);
    expect(stdout).toContain(`, ${tasks} ${tasks === 1 ? "task" : "tasks"}`);
    if (done === 0) expect(stdout).not.toContain("marked as done");
    else expect(stdout).toContain(`${done} of them ${done === 1 ? "is" : "are"} marked as done`);
    expect(stdout).toMatch(new RegExp(`^next: pos_workflow \\{"action":"get_phase","session_id":"${id}"`, "m"));
  });

  it("takes no tick as a proof: the gate asks for the tasks that are ticked", async () => {
    const { take, sessions, engine, project } = await aProject({ "specs/001-login/tasks.md": SPEC_KIT });
    expect((await take("spec-kit", "specs/001-login", ...BUILD)).code).toBe(0);
    const [{ sessionId = "" } = {}] = await sessions();
    const session = (await engine()).session(sessionId);
    expect(await session.completePhase(1, {})).toMatchObject({ passed: false });
    expect(await session.completePhase(1, { tasks_completed: ["T001", "T002"] })).toMatchObject({ passed: true });
    expect(await readFile(join(project, "specs/001-login/tasks.md"), "utf8")).toBe(SPEC_KIT);
  });

  it("ticks the tasks.json of task-master when a phase has passed", async () => {
    const { take, sessions, engine, project } = await aProject({ [TASKS_JSON]: TASK_MASTER });
    expect((await take("task-master", ".", ...BUILD)).code).toBe(0);
    const [{ sessionId = "" } = {}] = await sessions();
    const passed = await (await engine()).session(sessionId).completePhase(1, { tasks_completed: ["1", "2"] });
    expect(passed).toMatchObject({ passed: true, nextPhase: null });
    expect(await readFile(join(project, TASKS_JSON), "utf8")).toBe(TASK_MASTER.replace("pending", "done"));
  });

  it("starts plan_execution, from the starters, if no other workflow is named", async () => {
    const form = { "src/login/form.ts": "export const form = {};\n" };
    const { project, state, take, sessions } = await aProject({ "specs/001-login/tasks.md": SPEC_KIT, ...form });
    await initialise(project);
    const missing = await take("spec-kit", "specs/001-login", "--starters");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("check_command");
    expect(missing.stderr).toContain("--option NAME=VALUE");
    const refused = await take("spec-kit", "specs/001-login", "--starters", "--option", "check_command=npm test");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("npm test");
    const given = ["--option", "check_command=node --version", "--allow-command", "node --version"];
    const { code, stdout } = await take("spec-kit", "specs/001-login", "--starters", ...given);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("plan_execution") });
    const [{ sessionId = "", ...about } = {}] = await sessions();
    expect(about).toMatchObject({ workflowType: "plan_execution", target: "specs/001-login" });

    // Lines that are there show tasks that were done before.
    const engine = createEngine({
      storage: await FileStorage.open(state),
      content: new FileContent({ roots: [join(import.meta.dirname, "../../starters")] }),
      plans: new FilePlans({ root: project }),
      verifiers: await createVerifiers({ projectRoot: project, commands: { "node --version": "node --version" } }),
    });
    const tasks_completed = ["T001", "T002"];
    const nowhere = await engine.session(sessionId).completePhase(1, { tasks_completed, where: { T001: "a.ts:1" } });
    expect(nowhere).toMatchObject({ passed: false });
    const where = { T001: "src/login/form.ts:1", T002: ["src/login/form.ts:1"] };
    expect(await engine.session(sessionId).completePhase(1, { tasks_completed, where })).toMatchObject({
      passed: true,
    });
  });

  it("only shows what it would do with --dry-run", async () => {
    const { take, state } = await aProject({ "specs/001-login/tasks.md": SPEC_KIT });
    const { code, stdout, stderr } = await take("spec-kit", "specs/001-login", ...BUILD, "--dry-run");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      "would start a session of build_v1 on specs/001-login/tasks.md, read as spec-kit: 2 phases, 4 tasks\n" +
        "2 of them are marked as done, which phasegate has not checked: each gate asks for all tasks of its phase\n" +
        'it begins in phase 1 "Setup"\n',
    );
    expect(existsSync(state)).toBe(false);
  });

  it("refuses a second session on a plan, and says how to go on with the first", async () => {
    const { take, sessions, engine } = await aProject({ "specs/001-login/tasks.md": SPEC_KIT });
    await take("spec-kit", "specs/001-login", ...BUILD);
    const [{ sessionId = "" } = {}] = await sessions();
    for (const more of [[], ["--dry-run"]]) {
      const again = await take("spec-kit", "specs/001-login/tasks.md", ...BUILD, ...more);
      expect(again).toMatchObject({ code: 1, stdout: "" });
      expect(again.stderr).toContain(`${sessionId} is a session on it already, active in phase 1`);
      expect(again.stderr).toContain('"action":"get_phase"');
      expect(again.stderr).toContain(`phasegate delete ${sessionId} --by YOU`);
    }
    expect(await sessions()).toHaveLength(1);
    // One that is over is not in the way.
    const session = (await engine()).session(sessionId);
    await session.completePhase(1, { tasks_completed: ["T001", "T002"] });
    await session.completePhase(2, { tasks_completed: ["T003", "T004"] });
    expect((await take("spec-kit", "specs/001-login", ...BUILD)).code).toBe(0);
  });

  it("prints what is unclear in a plan, and refuses one with errors, with file and line", async () => {
    const cycle = SPEC_KIT.replace("T003 [US1]", "T003 [US1] (depends on T004)").replace(
      "T004 [US1]",
      "T004 [US1] (depends on T003)",
    );
    const { take, sessions, project } = await aProject({
      "specs/cycle/tasks.md": cycle,
      "specs/unclear/tasks.md": SPEC_KIT.replace("- [ ] T004 [US1]", "- [ ] T004 [US1] (depends on T099)"),
      "specs/many/tasks.md": SPEC_KIT.replaceAll(" in src", " (depends on T097, T098, T099) in src"),
      "specs/none/tasks.md": "# Tasks\n\nNothing yet.\n",
      ".taskmaster/tasks/tasks.json": '{\n  "tasks": [\n    {"id": 1}\n  ]\n}\n',
    });
    const refused = await take("spec-kit", "specs/cycle", ...BUILD);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^phasegate: error: the plan has errors: specs\/cycle\/tasks\.md:10:\d+: error: tasks depend on each other/,
    );
    const none = await take("spec-kit", "specs/none", ...BUILD);
    expect(none).toMatchObject({ code: 1 });
    expect(none.stderr).toContain("error: specs/none/tasks.md:1: specs/none/tasks.md can't be read as a plan");
    const json = await take("task-master", ".", ...BUILD);
    expect(json).toMatchObject({ code: 1 });
    expect(json.stderr).toContain(".taskmaster/tasks/tasks.json:3");
    for (const text of ['{\n  "tasks": []\n}\n', '{"a": {"tasks": []}, "b": {"tasks": []}}\n']) {
      await writeFiles(project, { [TASKS_JSON]: text });
      const empty = await take("task-master", ".", ...BUILD);
      expect(empty).toMatchObject({ code: 1, stdout: "" });
      expect(empty.stderr).toMatch(/\.taskmaster\/tasks\/tasks\.json:\d+:\d+.*it has no tasks/);
    }
    expect(await sessions()).toEqual([]);
    const unclear = await take("spec-kit", "specs/unclear", ...BUILD);
    expect(unclear.code).toBe(0);
    expect(unclear.stderr).toMatch(/^specs\/unclear\/tasks\.md:11:\d+: warning: .*T099.*\n$/);
    const many = await take("spec-kit", "specs/many", ...BUILD);
    expect(many.stderr.split("\n")).toHaveLength(7);
    expect(many.stderr).toMatch(/and 1 warning more: phasegate plan specs\/many\/tasks\.md\n$/);
  });

  it("says where the plan would be, if it is given another folder", async () => {
    const { take, project } = await aProject({
      "specs/001-login/tasks.md": SPEC_KIT,
      "specs/002-plan-less/spec.md": "# Spec\n",
      "skills/brief/SKILL.md": "---\nname: brief\n---\n",
    });
    const above = await take("spec-kit", "specs", ...BUILD);
    expect(above).toMatchObject({ code: 3, stdout: "" });
    expect(above.stderr).toContain("there is no tasks.md in");
    expect(above.stderr).toContain(`One is ${join(project, "specs/001-login/tasks.md")}.`);
    const empty = await take("openspec", "specs/002-plan-less", ...BUILD);
    expect(empty.stderr).toContain("Name the folder of a change, such as openspec/changes/add-login.");
    const missing = await take("kiro", ".kiro/specs/none", ...BUILD);
    expect(missing).toMatchObject({ code: 3 });
    expect(missing.stderr).toContain("can't be read");
    const skill = await take("bmad", "skills/brief", ...BUILD);
    expect(skill.code).toBe(3);
    expect(skill.stderr).toContain("phasegate serve --bundle");
  });

  it("refuses what is not in the project, and options that mean something else", async () => {
    const { take, flags, project } = await aProject({ "specs/001-login/tasks.md": SPEC_KIT });
    const outside = await temporaryFolder();
    await writeFiles(outside, { "tasks.md": SPEC_KIT });
    const away = await run("import", "--from", "spec-kit", outside, ...flags, ...BUILD);
    expect(away).toMatchObject({ code: 2 });
    expect(away.stderr).toContain(`is not in the project ${project}`);
    const none = await run("import", "--from", "spec-kit", ...flags);
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toContain("such as specs/001-login");
    expect(await take("spec-kit", "specs/001-login", "--check")).toMatchObject({ code: 2 });
    expect(await run("import", "--dry-run", "--state", "x")).toMatchObject({ code: 2 });
    const state = await run("import", "--from", "spec-kit", join(project, "specs/001-login"), "--state", "x");
    expect(state).toMatchObject({ code: 2 });
    expect(state.stderr).toContain("--project is missing");
    const unknown = await take("langgraph", "graph.py");
    expect(unknown).toMatchObject({ code: 2 });
  });
});

/** A state of praxis-os, as it writes it. */
function praxisState(change: object): string {
  return JSON.stringify({
    ...{ session_id: "062f24e7", workflow_type: "spec_creation_v1", target_file: "login" },
    ...{ current_phase: 2, completed_phases: [0, 1], checkpoints: { "0": "passed", "1": "passed" } },
    phase_artifacts: { "0": { phase_number: 0, evidence: { done: true }, outputs: {}, commands_executed: [] } },
    ...{ created_at: "2025-10-22T17:55:27.826277", updated_at: "2025-10-22T18:13:27.134924", metadata: {} },
    ...change,
  });
}

const STATE = ".praxis-os/.cache/state/062f24e7.json";

describe("phasegate import --from praxis-os", () => {
  it("goes on in its phase; the log says that the earlier ones were not checked here", async () => {
    const { take, sessions, engine } = await aProject({ [STATE]: praxisState({}) });
    const { code, stdout, stderr } = await take("praxis-os", STATE, "--by", "ann");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [{ sessionId = "" } = {}] = await sessions();
    expect(stdout).toBe(
      `started ${sessionId}, a session of spec_creation_v1 on login: 3 phases\n` +
        "passed in praxis-os, and recorded as not checked here: phases 0, 1\n" +
        `it goes on in phase 2 "Design"\n` +
        `next: pos_workflow {"action":"get_phase","session_id":"${sessionId}"}\n`,
    );
    const session = (await engine()).session(sessionId);
    expect(await session.state()).toMatchObject({ status: "active", currentPhase: 2, skippedPhases: [1] });
    const items = await session.history();
    const note = "passed in praxis-os, session 062f24e7; not checked here";
    expect(items).toContainEqual(expect.objectContaining({ phase: 0, by: "ann", reason: note }));
    expect(items).toContainEqual(expect.objectContaining({ phase: 1, by: "ann", reason: note }));
  });

  it("stops at a phase that its workflow lets nobody skip, such as one of a plan", async () => {
    const spec = ".praxis-os/specs/login";
    const { take, sessions } = await aProject({
      [STATE]: praxisState({ workflow_type: "spec_execution_v1", metadata: { spec_path: spec, total_phases: 2 } }),
      [`${spec}/tasks.md`]: SPEC_KIT,
    });
    const dry = await take("praxis-os", STATE, "--by", "ann", "--dry-run");
    expect(dry.code).toBe(0);
    expect(dry.stdout).toContain(`would start a session of spec_execution_v1 on login, with the plan ${spec}/tasks.md`);
    const { code, stdout } = await take("praxis-os", STATE, "--by", "ann");
    expect(code).toBe(0);
    expect(stdout).toContain("passed in praxis-os, and recorded as not checked here: phase 0\n");
    expect(stdout).toContain(
      "passed in praxis-os, but checked here, since its workflow lets nobody skip it: phase 1\n",
    );
    expect(await sessions()).toMatchObject([{ workflowType: "spec_execution_v1", target: "login", current: 1 }]);
  });

  it("refuses a session that is completed, and a file of something else, and wants a name", async () => {
    const { take, flags, project, sessions } = await aProject({
      [STATE]: praxisState({ current_phase: 3, completed_phases: [0, 1, 2] }),
      "other.json": '{"session_id": "1", "completed_phases": "all"}',
      "broken.json": "{",
      "unknown.json": praxisState({ workflow_type: "spec_creation_v9" }),
    });
    const done = await take("praxis-os", STATE, "--by", "ann");
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toContain("is completed in praxis-os");
    for (const file of ["other.json", "broken.json"]) {
      const other = await take("praxis-os", file, "--by", "ann");
      expect(other).toMatchObject({ code: 1, stdout: "" });
      expect(other.stderr).toContain(`${join(project, file)} is no state of praxis-os`);
    }
    const unknown = await take("praxis-os", "unknown.json", "--by", "ann");
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.stderr).toContain("Did you mean 'spec_creation_v1'?");
    const nobody = await run("import", "--from", "praxis-os", join(project, STATE), ...flags);
    expect(nobody).toMatchObject({ code: 2 });
    expect(nobody.stderr).toContain("--by is missing");
    const folder = await take("praxis-os", ".praxis-os", "--by", "ann");
    expect(folder).toMatchObject({ code: 3 });
    expect(folder.stderr).toContain(".praxis-os/.cache/state/ID.json");
    expect(await sessions()).toEqual([]);
  });
});
