import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import type { Plan } from "../../src/plan/plan.js";
import type { Answer } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { howOften } from "../support/how-often.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { connectToBin, connectToServe } from "./serve-client.js";

const WORKFLOW = "spec_execution_v1";
const REASON = skipReason(WORKFLOW);
const PLANS = join(CORPUS, "../tasks");

type Ask = (input: Answer) => Promise<Answer>;

/** Creates a project with a copy of a plan in `specs/it/tasks.md`, and the flags of a server on it. */
async function serveOn(name: string) {
  const folder = await temporaryFolder();
  const file = join(folder, "project/specs/it/tasks.md");
  await mkdir(join(folder, "project/specs/it"), { recursive: true });
  await copyFile(join(PLANS, name, "tasks.md"), file);
  const flags = ["--workflows", CORPUS, "--state", join(folder, "state"), "--project", join(folder, "project")];
  return { file, flags, read: () => readFile(file, "utf8") };
}

async function start(ask: Ask): Promise<Answer> {
  const options = { spec_path: "specs/it" };
  const started = await ask({ action: "start", workflow_type: WORKFLOW, target_file: "specs/it", options });
  expect(started).toMatchObject({ status: "success", current_phase: 0, plan: { path: "specs/it/tasks.md" } });
  return started;
}

/** Returns the evidence of the static phase: true for every boolean of its gate. */
async function passPlanning(ask: Ask, session_id: unknown): Promise<void> {
  const { phase_content } = await ask({ action: "get_phase", session_id });
  const format = JSON.parse(JSON.stringify(phase_content)).checkpoint.evidence_schema.properties;
  const evidence = Object.fromEntries(Object.keys(format).map((field) => [field, true]));
  const passed = await ask({ action: "complete_phase", session_id, phase: 0, evidence });
  expect(passed).toMatchObject({ checkpoint_passed: true, next_phase: { phase_number: 1 } });
}

function evidenceFor(plan: Plan, phase: number): { tasks_completed: string[]; validation_gate?: Answer } {
  const { tasks = [], validationGate = [] } = plan.phases.find(({ number }) => number === phase) ?? {};
  const items = Object.fromEntries(validationGate.map((_, index) => [index + 1, true]));
  return {
    tasks_completed: tasks.map(({ id }) => id),
    ...(validationGate.length === 0 ? {} : { validation_gate: items }),
  };
}

/** Reads the tasks of a phase (the first and last in the short form), tries to pass with less evidence, then passes. */
async function passPhase(ask: Ask, session_id: unknown, plan: Plan, phase: number): Promise<Answer> {
  const own = plan.phases.find(({ number }) => number === phase);
  const tasks = own?.tasks ?? [];
  const each = howOften(Math.max(1, tasks.length - 1), 1);
  for (const [index, task] of tasks.entries()) {
    if (index % each !== 0) continue;
    const shown = await ask({ action: "get_task", session_id, phase, task_number: index + 1 });
    expect(JSON.stringify(shown)).toContain(JSON.stringify(task.name).slice(1, -1));
  }
  const evidence = evidenceFor(plan, phase);
  const [left, ...others] = evidence.tasks_completed;
  const refused = await ask({
    action: "complete_phase",
    session_id,
    phase,
    evidence: { ...evidence, tasks_completed: others },
  });
  expect(refused).toMatchObject({ status: "error", checkpoint_passed: false });
  expect(refused.missing_tasks).toBe(left);
  const passed = await ask({ action: "complete_phase", session_id, phase, evidence });
  expect(passed).toMatchObject({ checkpoint_passed: true, phase_completed: phase });
  return passed;
}

/** Clears every checkbox of a text: the remaining differences are not ticks. */
function unticked(text: string): string {
  return text.replace(/\[[xX]\]/g, "[ ]");
}

describe.skipIf(REASON !== "")(`a plan over MCP on files${REASON}`, () => {
  // Other tests read, start and tick all of these plans without a server.
  it.each(["gamification", "mcp-modular", "thread-safety"].slice(0, howOften(1, 3)))(
    "%s runs from start to completed, and is ticked then",
    async (name) => {
      const { flags, read } = await serveOn(name);
      const before = await read();
      const { plan } = parsePlan(before);
      const killed = await connectToBin(flags);
      let served: { readonly ask: Ask } = killed;
      const { session_id, total_phases } = await start(served.ask);
      expect(total_phases).toBe(1 + plan.phases.length);
      await passPlanning(served.ask, session_id);
      let last: Answer = {};
      for (const { number } of plan.phases) {
        if (number === 3) {
          killed.signal("SIGKILL");
          served = await connectToServe(flags);
        }
        last = await passPhase(served.ask, session_id, plan, number);
      }
      expect(last).toMatchObject({ workflow_complete: true, next_phase: null });
      const after = await read();
      expect(unticked(after)).toBe(unticked(before));
      expect(
        parsePlan(after).plan.phases.flatMap(({ tasks }) => tasks.filter(({ state }) => state !== "done")),
      ).toEqual([]);
    },
    60_000,
  );

  it("can be edited and synced in between: completed phases stay, and added tasks are required", async () => {
    const { flags, read, file } = await serveOn("dynamic-session");
    const { ask } = await connectToServe(flags);
    const { session_id } = await start(ask);
    await passPlanning(ask, session_id);
    await passPhase(ask, session_id, parsePlan(await read()).plan, 1);

    const added = "- [ ] **Task 2.3**: Write down how it is used\n  - **Dependencies**: Task 2.2\n\n";
    const edited = (await read()).replace(/(### Phase 2:[\s\S]*?)(\*\*Validation Gate:\*\*)/, `$1${added}$2`);
    await writeFile(file, edited);
    expect(await ask({ action: "get_phase", session_id })).toMatchObject({
      // Task 4.3 depends on all of phases 1 to 3, and so on the new one.
      plan_changed: { summary: "1 added, 1 with other dependencies" },
    });
    const pinned = await ask({
      action: "complete_phase",
      session_id,
      phase: 2,
      evidence: { tasks_completed: ["2.1"] },
    });
    expect(pinned.missing_tasks).toBe("2.2");

    const preview = await ask({ action: "sync_plan", session_id, preview: true });
    expect(preview).toMatchObject({ changed: true, synced: false, changes: { added: [{ id: "2.3" }] } });
    expect(await ask({ action: "sync_plan", session_id })).toMatchObject({ synced: true, current_phase: 2 });
    const { plan } = parsePlan(await read());
    const old = evidenceFor(plan, 2);
    const short = { ...old, tasks_completed: ["2.1", "2.2"] };
    const refused = await ask({ action: "complete_phase", session_id, phase: 2, evidence: short });
    expect(refused.missing_tasks).toBe("2.3");
    for (const { number } of plan.phases.slice(1)) {
      expect(
        await ask({ action: "complete_phase", session_id, phase: number, evidence: evidenceFor(plan, number) }),
      ).toMatchObject({
        checkpoint_passed: true,
      });
    }
    expect(await read()).toContain("- [x] **Task 2.3**");
  }, 60_000);
});
