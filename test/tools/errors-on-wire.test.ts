import { type ErrorCode, type ErrorDetails, PhasegateError } from "phasegate";
import { describe, expect, it } from "vitest";
import { WIRE_ERRORS } from "../../src/tools/dispatch.js";
import { ACTION_NAMES } from "../../src/tools/phased/actions.js";
import { errorAnswer } from "../../src/tools/phased/refusals.js";

const SESSION = "garden_v1_bed_20260304_050607";

/** Returns an error as the tool answers it. */
function told<C extends ErrorCode>(code: C, details: ErrorDetails[C]) {
  const error = new PhasegateError(code, "What is wrong", { remedy: "Do this.", details });
  return errorAnswer({ actions: ACTION_NAMES }, "get_task", error, SESSION);
}

/** The fields of every error. */
const COMMON = { status: "error", action: "get_task", session_id: SESSION, remediation: "Do this." };

describe("the HTTP status of an error", () => {
  it("is the same for both kinds of sessions, but where it means something else to clients of routed workflows", () => {
    const others = Object.entries(WIRE_ERRORS).filter(([, { status, routedStatus }]) => status !== routedStatus);
    expect(
      Object.fromEntries(others.map(([code, { status, routedStatus }]) => [code, [status, routedStatus]])),
    ).toEqual({
      // In routed workflows evidence is a field of the report, and only definitions name files.
      EVIDENCE_TOO_LARGE: [413, 400],
      FILE_NOT_FOUND: [404, 500],
      PATH_REFUSED: [400, 500],
      // The prompt.
      TOO_LARGE: [413, 502],
      // A routed engine has none of these.
      PHASE_LOCKED: [409, 500],
      PHASE_ALREADY_COMPLETED: [409, 500],
      PHASE_OUT_OF_RANGE: [404, 500],
      TASK_NOT_FOUND: [404, 500],
      TASK_LOCKED: [409, 500],
      ATTEMPTS_EXHAUSTED: [409, 500],
      PLAN_PARSE: [422, 500],
    });
  });
});

describe("errors of plans", () => {
  it("are returned with kind, message, hint, source and line", () => {
    expect(told("PLAN_PARSE", { file: "specs/tasks.md", line: 45, column: 3 })).toEqual({
      ...COMMON,
      error: "parse_error",
      error_type: "ValueError",
      code: "PLAN_PARSE",
      message: "What is wrong",
      hint: "Do this.",
      source_path: "specs/tasks.md",
      line_number: 45,
    });
    expect(told("PLAN_PARSE", { file: "specs/tasks.md" })).not.toHaveProperty("line_number");
    expect(told("TEMPLATE", { file: "phases/dynamic/task-template.md", workflowType: "garden_v1" })).toEqual({
      ...COMMON,
      error: "template_error",
      error_type: "RuntimeError",
      code: "TEMPLATE",
      message: "What is wrong",
      hint: "Do this.",
      source_path: "phases/dynamic/task-template.md",
    });
  });

  it("name the plan of a phase that does not exist, if there is a plan", () => {
    const next = { action: "get_phase", session_id: SESSION };
    const both = {
      ...COMMON,
      error_type: "ValueError",
      code: "PHASE_OUT_OF_RANGE",
      message: "What is wrong",
      hint: "Do this.",
      next,
    };
    const details = { requested: 9, valid: [0, 1] };
    expect(told("PHASE_OUT_OF_RANGE", details)).toEqual({ ...both, error: "What is wrong" });
    expect(told("PHASE_OUT_OF_RANGE", { ...details, sourcePath: "tasks.md" })).toEqual({
      ...both,
      error: "phase_out_of_range_error",
      source_path: "tasks.md",
    });
  });

  it("name the tasks that are ready, and the call of the first one", () => {
    const details = { phase: 2, task: 3, open: ["2.1", "2.2"], ready: [1, 2] };
    expect(told("TASK_LOCKED", details)).toEqual({
      ...COMMON,
      error: "What is wrong",
      error_type: "StateError",
      code: "TASK_LOCKED",
      open_dependencies: "2.1, 2.2",
      ready_tasks: [1, 2],
      next: { action: "get_task", session_id: SESSION, phase: 2, task_number: 1 },
    });
    expect(told("TASK_LOCKED", { ...details, ready: [] }).next).toEqual({ action: "get_phase", session_id: SESSION });
    const unknown = new PhasegateError("TASK_LOCKED", "x", { remedy: "y", details });
    expect(errorAnswer({ actions: ACTION_NAMES }, "get_task", unknown)).not.toHaveProperty("next");
  });
});
