import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";

const TEXT = `# Plan

## Phase 1: Set up (2 hours)

**Goal:** Begin

- [x] **Task 1.1**: Folders
  - **Acceptance Criteria**:
    - [x] there
      - all of them
- [ ] **Task 1.2**: Files
  - **Dependencies**: Task 1.1

**Validation Gate:**
- [ ] agreed

## Phase 2: Build

- [-]* **Task 2.1**: Tool
`;
const CYCLE = "## Phase 1: A\n- [ ] **Task 1.1**: a (after 1.2)\n- [ ] **Task 1.2**: b (after 1.1)\n";

async function planFile(text: string | Uint8Array, name = "tasks.md"): Promise<string> {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, text);
  return file;
}

describe("phasegate plan", () => {
  it("prints phases, tasks, gates, waves and their counts", async () => {
    expect(await run("plan", await planFile(TEXT))).toEqual({
      code: 0,
      stderr: "",
      stdout: `Phase 1: Set up (2 hours)
  [x] 1.1 Folders · 1 criterion
  [ ] 1.2 Files (after 1.1)
  gate: 1 item
  waves: 1.1 | 1.2

Phase 2: Build
  [-] 2.1 Tool (optional)

praxis-os: 2 phases, 3 tasks, 1 done; 0 errors, 0 warnings
`,
    });
  });

  it("accepts a folder with a tasks.md", async () => {
    const file = await planFile(TEXT);
    const { code, stdout } = await run("plan", join(file, ".."));
    expect(code).toBe(0);
    expect(stdout).toContain("2 phases, 3 tasks");
  });

  it("prints JSON with --json", async () => {
    const { code, stdout } = await run("plan", await planFile(`${TEXT}\n## Risks\n- [ ] late\n`), "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      dialect: "praxis-os",
      phases: [
        {
          number: 1,
          name: "Set up",
          goal: "Begin",
          estimatedDuration: "2 hours",
          line: 3,
          tasks: [
            {
              id: "1.1",
              name: "Folders",
              line: 7,
              state: "done",
              dependencies: [],
              acceptanceCriteria: [{ text: "there", checked: true, line: 9, details: ["all of them"] }],
              optional: false,
              parallel: false,
              requirements: [],
              files: [],
            },
            expect.objectContaining({ id: "1.2", line: 11, state: "pending", dependencies: ["1.1"] }),
          ],
          validationGate: [{ text: "agreed", checked: false, line: 15 }],
        },
        expect.objectContaining({ number: 2, line: 17, validationGate: [] }),
      ],
      waves: [["1.1"], ["1.2"], ["2.1"]],
      checkboxes: expect.any(Array),
      diagnostics: [
        expect.objectContaining({
          code: "CHECKBOX_UNPLACED",
          severity: "warning",
          line: 22,
          column: 4,
          message: expect.any(String),
        }),
      ],
    });
  });

  it("prints a graph with --mermaid, alone or in the JSON", async () => {
    const file = await planFile(TEXT.replace("Files", 'Files "of" <b>'));
    const { stdout } = await run("plan", file, "--mermaid");
    expect(stdout).toBe(`flowchart TD
  subgraph p1["Phase 1: Set up"]
    t1(["1.1 Folders"])
    t2["1.2 Files #34;of#34; #60;b#62;"]
  end
  subgraph p2["Phase 2: Build"]
    t3["2.1 Tool"]
  end
  p1 ==> p2
  t1 --> t2
`);
    expect(JSON.parse((await run("plan", file, "--json", "--mermaid")).stdout).mermaid).toBe(stdout.trimEnd());
  });

  it("shows warnings with the lines around them, and exits with 0", async () => {
    const file = await planFile(TEXT.replace("Task 1.1\n", "Task 9.9\n"));
    const { code, stdout } = await run("plan", file);
    expect(code).toBe(0);
    expect(stdout).toContain(`${file}:11:3: warning: task 1.2 depends on task 9.9, which is not in the plan`);
    expect(stdout).toContain("> 11 | - [ ] **Task 1.2**: Files");
    expect(stdout).toContain("hint: ");
    expect(stdout).toMatch(/0 errors, 1 warning\n$/);
  });

  it("exits with 1 if tasks depend on each other in a cycle", async () => {
    const { code, stdout } = await run("plan", await planFile(CYCLE));
    expect(code).toBe(1);
    expect(stdout).toMatch(/tasks\.md:2:3: error: tasks depend on each other: 1\.1 → 1\.2 → 1\.1/);
  });

  it("exits with 1 for a file that is not a plan, with its line and a hint", async () => {
    const file = await planFile(`${TEXT}\n## Phase 3: Deep\n${"- ".repeat(51)}[ ] a\n`);
    const { code, stdout } = await run("plan", file);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `${file}:22: error: ${file} can't be read as a plan: lists and quotes are nested more than 25 levels deep`,
    );
    expect(stdout).toContain("hint: Nest them less");
    const json = await run("plan", file, "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({
      error: "parse_error",
      message: expect.stringContaining("can't be read as a plan"),
      hint: "Nest them less, or put a drawing into a fence.",
      url: expect.stringMatching(/errors\.md#plan_parse$/),
      source_path: file,
      line_number: 22,
    });
    expect((await run("plan", await planFile("# Nothing\n\nto do\n"))).stdout).toContain("> 1 | # Nothing");
  });

  it("reads a plan in the dialect of --dialect, and a tasks.json by its name", async () => {
    const file = await planFile("# P\n- [~] 1. a\n");
    expect((await run("plan", file)).stdout).toContain("[~] 1 a");
    expect((await run("plan", file, "--dialect", "spec-workflow")).stdout).toContain("[!] 1 a");
    expect(await run("plan", file, "--dialect", "spec")).toMatchObject({ code: 2 });
    const json = await planFile('{"tasks": [{"id": 1, "title": "A", "status": "done"}]}', "tasks.json");
    expect((await run("plan", json)).stdout).toContain("[x] 1 A");
  });

  it("lists the dialects, without the parser names of workflows", async () => {
    const { stdout } = await run("plan", "--help");
    const [, choices = ""] = /--dialect <name>[^(]*\(choices: ([^)]*)\)/.exec(stdout.replace(/\s+/g, " ")) ?? [];
    expect(choices.split(", ")).toEqual(
      ["bmad", "epics", "spec-workflow", "spec-kit", "praxis-os", "kiro", "openspec", "plain", "task-master"].map(
        (name) => `"${name}"`,
      ),
    );
    const file = await planFile("# P\n\n- [ ] 1.1 a\n");
    expect((await run("plan", file, "--dialect", "plain")).stdout).toContain("plain: 1 phase, 1 task");
    expect(await run("plan", file, "--dialect", "spec_tasks_parser")).toMatchObject({ code: 2 });
  });

  it("refuses a file above the size limit", async () => {
    const file = await planFile(`${TEXT}${"\n".repeat(5 * 1024 * 1024)}`);
    const { code, stdout } = await run("plan", file, "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      error: "parse_error",
      message: expect.stringContaining("5242880 bytes"),
    });
  });

  it("does not wait for a FIFO, and follows links", async ({ skip }) => {
    skip(process.platform === "win32", "Windows has no FIFOs");
    const folder = await temporaryFolder();
    execFileSync("mkfifo", [join(folder, "tasks.md")]);
    for (const path of [folder, join(folder, "tasks.md")]) {
      expect(await run("plan", path)).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/error: the plan .* can't be read/),
      });
    }
    await symlink(await planFile(TEXT), join(folder, "link.md"));
    expect((await run("plan", join(folder, "link.md"))).stdout).toContain("2 phases, 3 tasks");
  });

  it("reports a file that is missing or not text", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "empty"));
    for (const path of [join(folder, "none.md"), join(folder, "empty")]) {
      expect(await run("plan", path)).toMatchObject({
        code: 3,
        stdout: "",
        stderr: expect.stringMatching(/error: the plan .* can't be read/),
      });
    }
    const { code, stderr } = await run("plan", await planFile(new Uint8Array([0x23, 0xff, 0xfe])));
    expect(code).toBe(1);
    expect(stderr).toContain("UTF-8");
  });

  it("escapes control characters of the file", async () => {
    const ESCAPE = "\u001b[31m";
    const { stdout } = await run(
      "plan",
      await planFile(`## Phase 1: A${ESCAPE}\n- [ ] **Task 1.1**: b${ESCAPE} (after 9.9)\n- [ ] late\u0007\n`),
    );
    expect(stdout).toContain("Phase 1: A");
    expect([...stdout].filter((char) => char < " " && char !== "\n")).toEqual([]);
  });
});
