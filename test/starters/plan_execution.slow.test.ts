import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aStarter } from "./a-starter.js";

const PLAN = `# Greeting

## Phase 1: Write

- [ ] **Task 1.1**: Write greet.sh
- [ ] **Task 1.2**: Make it say hello

**Validation Gate:**
- [ ] It prints one line

## Phase 2: Tell

- [ ] **Task 2.1**: Write the README
`;
const KIRO = "# Implementation Plan\n\n- [ ] 1. Write greet.sh\n  - _Requirements: 1.1_\n- [ ] 2. Write the README\n";
const TEST = 'it("greets", () => {\n  expect(greeting()).toBe("hello");\n});\n';
const FILES = {
  "check.sh": "sh greet.sh | grep -q hello && echo 1 test passed\n",
  "test/greet.test.js": TEST,
  "specs/greet/tasks.md": PLAN,
  "specs/kiro/tasks.md": KIRO,
};
const FLAGS = ["--allow-command", "sh check.sh", "--allow-command", "true"];
const OPTIONS = { check_command: "sh check.sh" };
const WHERE = { "1.1": "greet.sh", "1.2": ["greet.sh:1"] };
const FIRST = { tasks_completed: ["1.1", "1.2"], validation_gate: { "1": true }, where: WHERE };
const TARGET = { target_file: "specs/greet" };

describe("plan_execution", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { ask, session, start, pass, lie, write, remove, project } = await aStarter("plan_execution", {
      files: FILES,
      flags: FLAGS,
    });
    const plan = () => readFile(join(project, "specs/greet/tasks.md"), "utf8");
    expect(JSON.stringify(await start({}, TARGET))).toMatch(/check_command.*is missing/);
    expect(JSON.stringify(await start({ check_command: "false" }, TARGET))).toMatch(
      /no other arguments: sh check.sh, true/,
    );
    expect(await start(OPTIONS, TARGET)).toMatchObject({ status: "success" });

    await lie(1, FIRST, /sh check.sh: exit code 1, expected 0/);
    // The boxes are not what counts.
    await write("specs/greet/tasks.md", PLAN.replaceAll("[ ]", "[x]"));
    await lie(1, FIRST, /sh check.sh: exit code 1/);
    await lie(1, {}, /tasks_completed/);
    await write("specs/greet/tasks.md", PLAN);
    await write("greet.sh", "echo hello\n");
    await lie(1, { ...FIRST, tasks_completed: ["1.1"] }, /1\.2/);
    await lie(1, { ...FIRST, validation_gate: { "1": false } }, /validation_gate/);
    await lie(1, { tasks_completed: ["1.1", "1.2"], where: WHERE }, /validation_gate/);
    // A task that was taken out of the plan is still asked for.
    await write("specs/greet/tasks.md", PLAN.replace("- [ ] **Task 1.2**: Make it say hello\n", ""));
    await lie(1, { ...FIRST, tasks_completed: ["1.1"] }, /1\.2/);
    await write("specs/greet/tasks.md", PLAN);
    // Each claimed task is looked up.
    await lie(1, { ...FIRST, where: {} }, /task 1.1 is not in where; task 1.2 is not in where. Say for each task/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.1": "check.sh" } }, /task 1.1: check.sh has not changed since/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.2": "greet.sh:7" } }, /greet.sh:7: the file has 1 lines/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.2": "greet.md:1" } }, /greet.md/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.2": "../greet.sh:1" } }, /refused/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.2": [] } }, /task 1.2 is not in where/);
    await lie(1, { ...FIRST, where: { ...WHERE, "1.2": [7] } }, /needs a path, file:line, or a list/);
    // Tests may not be fewer or weaker than when the phase began.
    await write("test/greet.test.js", "it.todo('greets');\n");
    await lie(
      1,
      FIRST,
      /verified_by\.3 \(tests_kept\) failed: tests assert less: .*turned off in test\/greet\.test\.js/,
    );
    await remove("test/greet.test.js");
    await lie(
      1,
      FIRST,
      /tests are gone: .{0,2}greets.*"if_impossible":\{"action":"request_waiver".*"fields":\["verified_by\.3"\]/,
    );
    await write("test/greet.test.js", TEST);
    const passed = await pass(1, FIRST);
    expect(passed.verification).toMatchObject([
      { check: "verified_by.1", verifier: "command", ok: true, output: ["1 test passed"] },
      { check: "verified_by.2", verifier: "tasks_shown", ok: true },
      { check: "verified_by.3", verifier: "tests_kept", ok: true },
    ]);
    expect(JSON.stringify(passed.verification)).toContain('1.1: greet.sh has changed; 1.2: greet.sh:1 \\"echo hello');
    expect(await plan()).toBe(PLAN.replace(/(?<=- \[) (?=\] (?:\*\*Task 1|It))/g, "x"));

    // Every phase says what its checks read, and so does the form of its call.
    const about = /for each task that is done, by its id/;
    expect(await ask({ action: "get_phase", session_id: session() })).toMatchObject({
      phase_content: { checkpoint: { evidence_schema: { where: { description: expect.stringMatching(about) } } } },
    });
    await write("greet.sh", "echo goodbye\n");
    await lie(2, { tasks_completed: ["2.1"] }, /sh check.sh: exit code 1/);
    await write("greet.sh", "echo hello\n");
    // What was changed in phase 1 shows nothing in phase 2.
    await lie(2, { tasks_completed: ["2.1"], where: { "2.1": "greet.sh" } }, /greet.sh has not changed since/);
    await write("README.md", "# Greeting\n");
    // A task that was noted as done is claimed, and looked up like the others.
    const noted = await ask({ action: "complete_task", session_id: session(), phase: 2, task_number: 1 });
    expect(noted).toMatchObject({
      next: { action: "complete_phase", evidence: { where: expect.stringMatching(about) } },
    });
    await lie(2, {}, /task 2.1 is not in where/);
    expect(await pass(2, { where: { "2.1": "README.md" } })).toMatchObject({ workflow_complete: true });
    expect(await plan()).toBe(PLAN.replaceAll("[ ]", "[x]"));
  });

  it("does not start on a text that is no plan, and says that a phase has no tasks", async () => {
    const files = { ...FILES, "specs/empty/tasks.md": "# Tasks\n\n## Phase 1: Nothing\n", "specs/text.md": "Do it.\n" };
    const { start } = await aStarter("plan_execution", { files, flags: FLAGS });
    expect(await start(OPTIONS, { target_file: "specs/text.md" })).toMatchObject({ code: "PLAN_PARSE" });
    expect(await start(OPTIONS, { target_file: "specs/empty" })).toMatchObject({
      plan_warnings: { first: [{ code: "PHASE_EMPTY" }] },
    });
  });

  it("runs the check for a plan of another dialect", async () => {
    const { start, pass, lie, write } = await aStarter("plan_execution", { files: FILES, flags: FLAGS });
    await start(OPTIONS, { target_file: "specs/kiro/tasks.md" });
    await lie(1, { tasks_completed: ["1", "2"] }, /sh check.sh: exit code/);
    await write("greet.sh", "echo hello\n");
    await write("README.md", "# Greeting\n");
    await pass(1, { tasks_completed: ["1", "2"], where: { "1": "greet.sh", "2": ["README.md:1", "README.md"] } });
  });
});
