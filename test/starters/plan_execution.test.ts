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
const FILES = {
  "check.sh": "sh greet.sh | grep -q hello\n",
  "specs/greet/tasks.md": PLAN,
  "specs/kiro/tasks.md": KIRO,
};
const FLAGS = ["--allow-command", "sh check.sh", "--allow-command", "true"];
const OPTIONS = { check_command: "sh check.sh" };
const FIRST = { tasks_completed: ["1.1", "1.2"], validation_gate: { "1": true } };
const TARGET = { target_file: "specs/greet" };

describe("plan_execution", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { start, pass, lie, write, project } = await aStarter("plan_execution", { files: FILES, flags: FLAGS });
    const plan = () => readFile(join(project, "specs/greet/tasks.md"), "utf8");
    expect(JSON.stringify(await start({}, TARGET))).toMatch(/check_command.*is missing/);
    expect(JSON.stringify(await start({ check_command: "false" }, TARGET))).toMatch(/it allows sh check.sh, true/);
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
    await lie(1, { tasks_completed: ["1.1", "1.2"] }, /validation_gate/);
    // A task that was taken out of the plan is still asked for.
    await write("specs/greet/tasks.md", PLAN.replace("- [ ] **Task 1.2**: Make it say hello\n", ""));
    await lie(1, { ...FIRST, tasks_completed: ["1.1"] }, /1\.2/);
    await write("specs/greet/tasks.md", PLAN);
    await pass(1, FIRST);
    expect(await plan()).toBe(PLAN.replace(/(?<=- \[) (?=\] (?:\*\*Task 1|It))/g, "x"));

    await write("greet.sh", "echo goodbye\n");
    await lie(2, { tasks_completed: ["2.1"] }, /sh check.sh: exit code 1/);
    await write("greet.sh", "echo hello\n");
    expect(await pass(2, { tasks_completed: ["2.1"] })).toMatchObject({ workflow_complete: true });
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
    await pass(1, { tasks_completed: ["1", "2"] });
  });
});
