import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

it("another agent continues at the right task, over MCP on files, and people see it", async () => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows"), {
    ...SMALL,
    "small/phases/1/task-1-parse.md": "# Task 1: Parse\n\nRead the input.\n",
    "small/phases/1/task-2-print.md": "# Task 2: Print\n\nWrite the output.\n",
  });
  const state = join(root, "state");
  const flags = ["--workflows", join(root, "workflows"), "--state", state];
  const one = await connectToServe(flags);
  const started = await one.ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  const { session_id } = started;
  const key = { idempotency_key: "task-1" };
  const call = { action: "complete_task", session_id, phase: 1, task_number: 1, note: "see src/parse.ts", ...key };
  expect(await one.ask(call)).toMatchObject({ status: "success", tasks_done: "1", next_task: 2 });
  await one.client.close();

  const other = await connectToServe(flags);
  expect(await other.ask(call)).toMatchObject({ status: "success", replayed: true });
  const found = await other.ask({ action: "get_state", session_id, brief: true });
  expect(found).toMatchObject({
    ...{ status: "success", tasks_done: "1", tasks_left: 1, next_task: 2 },
    last_note: { task: 1, note: "see src/parse.ts" },
    next: { action: "get_phase" },
  });
  const phase = await other.ask({ action: "get_phase", session_id });
  expect(phase).toMatchObject({ next: { action: "complete_task", phase: 1, task_number: 2 } });

  const shown = await run("show", String(session_id), "--state", state);
  expect(shown.stdout).toContain("tasks     1 of 2 done (1), next is 2: Print");
  expect(shown.stdout).toContain("last note task 1: see src/parse.ts");
  const { stdout } = await run("show", String(session_id), "--state", state, "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    tasks: [
      { number: 1, done: true },
      { number: 2, done: false },
    ],
    lastNote: { task: 1 },
  });
});

it("a text that shows other evidence than its gate is answered once, with a note, over MCP", async () => {
  const root = await temporaryFolder();
  const steps =
    '# Task 1: Parse\n\n## Steps\n\n1. Read the input.\n\ncomplete_phase(phase=1, evidence={"green": True})\n';
  await writeFiles(join(root, "workflows"), { ...SMALL, "small/phases/1/task-1-parse.md": steps });
  const { ask } = await connectToServe(["--workflows", join(root, "workflows"), "--state", join(root, "state")]);
  const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  const task = await ask({ action: "get_task", session_id, phase: 1, task_number: 1 });
  expect(task.task_content).toEqual({
    title: "Parse",
    evidence_note: "The text shows other evidence; the checkpoint of the phase holds: it also requires tests_pass",
    sources: expect.any(Array),
    tokens: expect.any(Number),
    content: steps,
  });
});

it("refused steps ahead are in the answers and the log of a server, also of the next one", async () => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows"), SMALL);
  const flags = ["--workflows", join(root, "workflows"), "--state", join(root, "state")];
  const one = await connectToServe(flags);
  const { session_id } = await one.ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  for (let call = 0; call < 3; call += 1) {
    const skip = { action: "complete_phase", session_id, phase: 2, evidence: { shipped: true } };
    expect(await one.ask(skip)).toMatchObject({ status: "error", code: "PHASE_LOCKED" });
  }
  expect(await one.ask({ action: "get_metrics" })).toMatchObject({ metrics: { complete_phase: { refused: 3 } } });
  await one.client.close();
  expect(one.log.filter(({ msg }) => msg === "stepRefused")).toHaveLength(3);
  const other = await connectToServe(flags);
  expect(await other.ask({ action: "get_errors", session_id })).toMatchObject({
    error_count: 1,
    errors: [{ code: "PHASE_LOCKED", message: "complete_phase of phase 2 was refused in phase 1" }],
  });
});
