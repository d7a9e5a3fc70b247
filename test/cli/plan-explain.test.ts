import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";

const TEXT = `# Plan

## Phase 1.5: Set up (2 hours)

**Goal:** Begin

- [x] **Task 1.1**: Folders
  - **Acceptance Criteria**:
    - [x] there
      - all of them
- [ ] ~~**Task 1.2**: Files~~

  这 is what is to be done here, in a line that is longer than those of a terminal.

  \`\`\`sh
  - [ ] code
  \`\`\`
### Task 1.3: Names

**Validation Gate:**
- \\[ \\] agreed

## Risks
- [-] late

## Progress
- [x] Task 1.1: Folders
- [ ] Task 1.3: Names
`;

async function planFile(text: string): Promise<string> {
  const file = join(await temporaryFolder(), "tasks.md");
  await writeFile(file, text);
  return file;
}

describe("phasegate plan, what became of each line", () => {
  it("prints the file with a role at each line, within 80 columns in a pipe", async () => {
    const { code, stdout } = await run("plan", await planFile(TEXT), "--explain");
    expect(code).toBe(0);
    expect(stdout).toBe(` 1                            │ # Plan
 2                            │
 3  phase 1 (1.5 in the plan) │ ## Phase 1.5: Set up (2 hours)
 4                            │
 5  goal                      │ **Goal:** Begin
 6                            │
 7  task 1.1                  │ - [x] **Task 1.1**: Folders
 8                            │   - **Acceptance Criteria**:
 9  criterion of 1.1          │     - [x] there
10  detail                    │       - all of them
11  task 1.2                  │ - [ ] ~~**Task 1.2**: Files~~
12                            │
13  description               │   这 is what is to be done here, in a line that…
14                            │
15  code                      │   \`\`\`sh
16  code                      │   - [ ] code
17  code                      │   \`\`\`
18  task 1.3                  │ ### Task 1.3: Names
19                            │
20                            │ **Validation Gate:**
21  gate of phase 1           │ - \\[ \\] agreed
22                            │
23                            │ ## Risks
24  not placed                │ - [-] late
25                            │
26                            │ ## Progress
27  repeats a task            │ - [x] Task 1.1: Folders
28  task 1.3                  │ - [ ] Task 1.3: Names
`);
  });

  it("shows what would steer a terminal as escapes", async () => {
    const { stdout } = await run(
      "plan",
      await planFile("## Phase 1: A\r\n- [ ] Task 1.1: a \u001B[31mred\u202E\r\n"),
      "--explain",
    );
    expect(stdout).toBe(`1  phase 1  │ ## Phase 1: A
2  task 1.1 │ - [ ] Task 1.1: a \\u001b[31mred\\u202e
`);
  });

  it("lists every checkbox with --json", async () => {
    const { stdout } = await run("plan", await planFile(TEXT), "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      phases: [{ number: 1, written: "1.5" }],
      checkboxes: [
        { line: 7, column: 4, mark: "x", role: "task", task: "1.1" },
        { line: 9, column: 8, mark: "x", role: "criterion", task: "1.1" },
        { line: 11, column: 4, mark: "", role: "task", task: "1.2" },
        { line: 21, column: 5, mark: "", role: "gate", phase: 1 },
        { line: 24, column: 4, mark: "-", role: "unplaced", code: "CHECKBOX_UNPLACED" },
        { line: 27, column: 4, mark: "x", role: "repeated", code: "CHECKBOX_REPEATED" },
        { line: 28, column: 4, mark: "", role: "task", task: "1.3" },
      ],
    });
  });

  it("shows dropped tasks and the number in the plan in the list, and counts what is dropped", async () => {
    const { stdout } = await run("plan", await planFile(TEXT));
    expect(stdout).toContain("Phase 1 (1.5 in the plan): Set up (2 hours)\n");
    expect(stdout).toContain("  ~~~ 1.2 Files (dropped)\n");
    expect(stdout).toContain("1 phase, 3 tasks, 1 done, 1 dropped; 0 errors");
  });

  it("does not explain and print JSON at once", async () => {
    const { code, stderr } = await run("plan", await planFile(TEXT), "--json", "--explain");
    expect(code).not.toBe(0);
    expect(stderr).toContain("cannot be used with");
  });
});
