import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Answer } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { run } from "./run-cli.js";
import { connectToBin, connectToServe } from "./serve-client.js";

const WORKFLOW = "spec_creation_v1";
const REASON = skipReason(WORKFLOW, "spec_execution_v1");

type Ask = (input: Answer) => Promise<Answer>;
/** The JSON Schema of a gate with fields. */
interface Format {
  readonly properties: Readonly<Record<string, { readonly type: string }>>;
  readonly required: readonly string[];
}

/** The checkpoint of a phase. */
function formatOf(answer: Answer): Format {
  const content: { checkpoint: { evidence_schema: Format } } = JSON.parse(JSON.stringify(answer.phase_content));
  return content.checkpoint.evidence_schema;
}

/** Reads every text of a phase, in all pages, as an agent that follows `next` does. */
async function readPhase(ask: Ask, session_id: unknown): Promise<{ phase: number; format: Format; calls: number }> {
  const first = await ask({ action: "get_phase", session_id });
  expect(first).toMatchObject({ status: "success" });
  let [answer, calls] = [first, 1];
  while (answer.cursor !== undefined || ["get_task", "complete_task"].includes(String(nextOf(answer).action))) {
    const { note: _, ...next } = nextOf(answer);
    answer = await ask(next);
    expect(answer).toMatchObject({ status: "success" });
    calls += 1;
  }
  expect(nextOf(answer).action).toBe(answer.action === "complete_task" ? "complete_phase" : "get_task");
  return { phase: Number(first.current_phase), format: formatOf(first), calls };
}

function nextOf({ next }: Answer): Answer {
  return JSON.parse(JSON.stringify(next));
}

/** Submits evidence that must be refused, and retries the phase if that was the last attempt. */
async function refused(ask: Ask, session_id: unknown, phase: number, evidence: Answer): Promise<Answer> {
  const answer = await ask({ action: "complete_phase", session_id, phase, evidence });
  expect(answer).toMatchObject({ status: "error", code: "GATE_FAILED", checkpoint_passed: false });
  if (answer.session_status === "failed") {
    const retry = { action: "retry_phase", session_id, phase, reset_evidence: true };
    expect(await ask(retry)).toMatchObject({ status: "success", retrying: true });
  }
  return answer;
}

/** Submits `{}`, and every required boolean as false; returns the number of refusals. */
async function tryToCheat(ask: Ask, session_id: unknown, phase: number, format: Format): Promise<number> {
  const { required, properties } = format;
  expect(required.length).toBeGreaterThan(0);
  const nothing = await refused(ask, session_id, phase, {});
  expect(nothing.missing_evidence).toEqual(required);
  for (const name of required) {
    expect(properties[name]?.type).toBe("boolean");
    const { problems } = await refused(ask, session_id, phase, { ...honest(format), [name]: false });
    expect(problems).toMatchObject([{ field: name, problem: "claimed_false" }]);
  }
  return required.length + 1;
}

function honest(format: Format): Answer {
  return Object.fromEntries(Object.keys(format.properties).map((name) => [name, true]));
}

describe.skipIf(REASON !== "")(`a real workflow over MCP on files${REASON}`, () => {
  it("runs from its first phase to completed, with the server killed once", async () => {
    const state = join(await temporaryFolder(), "state");
    const flags = ["--workflows", CORPUS, "--state", state, "--max-attempts-total", "20"];
    const killed = await connectToBin(flags);
    let served: { readonly ask: Ask } = killed;
    const listed = await served.ask({ action: "list_workflows" });
    expect(listed.workflows).toMatchObject([{ workflow_type: WORKFLOW }, { workflow_type: "spec_execution_v1" }]);

    // Without documents its first phase would be skipped.
    const options = { supporting_docs: ["notes.md"] };
    const started = await served.ask({
      action: "start",
      workflow_type: WORKFLOW,
      target_file: "specs/parser",
      options,
    });
    const { session_id, total_phases, current_phase } = started;
    expect({ total_phases, current_phase }).toEqual({ total_phases: 6, current_phase: 0 });

    const figures = { calls: 0, refusals: 0 };
    for (let done = false; !done; ) {
      const { phase, format, calls } = await readPhase(served.ask, session_id);
      figures.calls += calls;
      if (phase < 5) {
        const skip = await served.ask({ action: "complete_phase", session_id, phase: phase + 1, evidence: {} });
        expect(skip).toMatchObject({ violation_type: "attempted_skip" });
      }
      figures.refusals += await tryToCheat(served.ask, session_id, phase, format);
      const complete = { action: "complete_phase", session_id, phase, evidence: honest(format) };
      if (phase === 2) {
        const keyed = { ...complete, idempotency_key: "design" };
        const lost = served.ask(keyed);
        killed.signal("SIGKILL");
        await expect(lost).rejects.toThrow();
        served = await connectToServe(flags);
        expect(await served.ask({ action: "get_state", session_id, brief: true })).toMatchObject({ status: "success" });
        expect(await served.ask(keyed)).toMatchObject({ phase_completed: 2, next_phase: { phase_number: 3 } });
        continue;
      }
      const passed = await served.ask(complete);
      expect(passed).toMatchObject({ checkpoint_passed: true, phase_completed: phase });
      done = passed.workflow_complete === true;
    }

    expect(await served.ask({ action: "get_state", session_id, brief: true })).toMatchObject({
      session_status: "completed",
      completed_phases: "0-5",
    });
    const { stdout, code } = await run("show", String(session_id), "--state", state, "--json");
    const report: { status: string; phases: { attempts: { status: string }[] }[] } = JSON.parse(stdout);
    expect({ code, status: report.status }).toEqual({ code: 0, status: "completed" });
    const attempts = report.phases.flatMap((phase) => phase.attempts.map(({ status }) => status));
    expect(attempts.filter((status) => status === "completed")).toHaveLength(6);
    expect(attempts.filter((status) => status === "failed")).toHaveLength(figures.refusals);
    console.log(`${WORKFLOW} over MCP: ${figures.calls} reads, ${figures.refusals} refusals, 6 phases, 1 kill`);
  }, 60_000);
});
