import { join } from "node:path";
import { expect, it } from "vitest";
import { connectToServe } from "../cli/serve-client.js";
import { SMALL } from "../cli/workflow-folders.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

it("the calls that answers propose lead through the work, and pass nothing if they are copied, over MCP", async () => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows"), {
    ...SMALL,
    "small/phases/1/task-1-parse.md": "# Task 1: Parse\n\nRead `core/rules.md` first. Then search_standards.\n",
    "small/core/rules.md": "# Rules\n\nBe strict.\n",
    "small/phases/1/gate-definition.yaml": "evidence_schema:\n  report: {type: string, description: what was parsed}\n",
  });
  const { ask } = await connectToServe(["--workflows", join(root, "workflows"), "--state", join(root, "state")]);
  const started = await ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  const { session_id } = started;
  expect(started).toMatchObject({
    phase_content: { checkpoint: { evidence_schema: { required: ["report"] } } },
    next: { action: "complete_task", task_number: 1 },
  });
  const task = await ask({ action: "get_task", session_id, phase: 1, task_number: 1 });
  const document = await ask({ action: "get_document", session_id, path: "core/rules.md" });
  expect(document.next).toEqual(task.next);
  expect(task).toMatchObject({ task_content: { missing_tools: expect.stringContaining("search_standards") } });
  expect(task.next).toMatchObject({ action: "complete_task", phase: 1, task_number: 1 });
  expect(await ask(Object(task.next))).toMatchObject({ status: "error", code: "INVALID_INPUT" });
  const done = await ask({ ...Object(task.next), note: "parsed" });
  expect(done).toMatchObject({ status: "success", tasks_done: "1", next: { action: "complete_phase" } });
  expect(await ask(Object(done.next))).toMatchObject({ status: "error", code: "EVIDENCE_UNSAFE" });
  expect(await ask({ action: "get_state", session_id })).toMatchObject({ current_phase: 1, attempts: 0 });
  const passed = await ask({ action: "complete_phase", session_id, phase: 1, evidence: { report: "all of it" } });
  expect(passed).toMatchObject({ checkpoint_passed: true });
});
