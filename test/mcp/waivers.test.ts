import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import type { Client, ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { createApproverKeys } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeAsking } from "../support/approvals.js";
import { writeFiles } from "../support/write-files.js";
import { connectInMemory } from "./connect-in-memory.js";

const FILES = {
  "release/metadata.json": JSON.stringify({
    workflow_type: "release",
    name: "Release",
    description: "Builds and ships",
    version: "1.0.0",
    phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
  }),
  "release/phases/1/phase.md": "# Phase 1\n\nBuild.\n",
  "release/phases/1/task-1-build.md": "# Task 1: Build\n\nBuild it.\n",
  "release/phases/1/gate-definition.yaml": `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  built: {type: boolean, required: true, description: the whole suite passes}
  coverage: {type: integer, required: true}
  licensed: {type: boolean, required: true, waivable: false}
`,
  "release/phases/2/phase.md": "# Phase 2\n\nShip.\n",
};

/** Serves a workflow on files, and starts a session, which is in its first phase. */
async function served(more: Record<string, string> = {}, flags: readonly string[] = []) {
  const root = await temporaryFolder();
  await writeFiles(`${root}/workflows`, { ...FILES, ...more });
  const state = `${root}/state`;
  const paths = ["--workflows", `${root}/workflows`, "--state", state, "--project", root];
  const { ask } = await connectToServe([...paths, ...flags]);
  const { session_id } = await ask({ action: "start", workflow_type: "release", target_file: "src" });
  const sessionId = String(session_id);
  const call = (action: string, more = {}) => ask({ action, session_id: sessionId, ...more });
  return { call, state, sessionId };
}

/** Ann decides on the waiver that a session waits for. */
async function decide(decision: string, state: string, sessionId: string, more: readonly string[] = []) {
  const shown = JSON.parse((await run("show", sessionId, "--state", state, "--json")).stdout);
  const flags = ["--by", "ann", "--yes", "--request", String(shown.awaitingWaiver.request), ...more];
  const { code, stdout } = await run(decision, sessionId, "--state", state, ...flags);
  expect(code).toBe(0);
  return stdout;
}

describe("an agent that can't claim a boolean", () => {
  const FALSE = { built: { value: false, why: "the suite needs a GPU" }, coverage: 80, licensed: true };

  it("is told at the beginning what to say, and asks for a waiver with it, which is no failed attempt", async () => {
    const { call, state, sessionId } = await served();
    expect(await call("get_phase")).toMatchObject({
      phase_content: { checkpoint: { if_false: expect.stringContaining('{"value": false, "why": "<why>"}') } },
    });
    expect(await call("complete_phase", { phase: 1, evidence: FALSE })).toMatchObject({
      ...{ status: "success", action: "complete_phase", checkpoint_passed: false, attempts_left: 3, fields: ["built"] },
      waiver: { fields: ["built"], reason: "the suite needs a GPU", how: expect.stringContaining("phasegate show") },
      next: null,
    });
    // Whoever says the same again is told the same.
    expect(await call("complete_phase", { phase: 1, evidence: FALSE })).toMatchObject({
      status: "success",
      attempts_left: 3,
    });
    const shown = (await run("show", sessionId, "--state", state)).stdout;
    expect(shown).toContain("the suite needs a GPU");
    expect(shown).toMatch(/attempt 1 {2}refused .* uses up no attempt\n/);
    expect(await call("get_history")).toMatchObject({ history: [{ status: "failed", counted: false }, {}] });
    await decide("waive", state, sessionId);
    expect(await call("complete_phase", { phase: 1, evidence: { ...FALSE, licensed: false } })).toMatchObject({
      problems: [{ field: "licensed", problem: "claimed_false" }],
      attempts_left: 2,
    });
    const passed = await call("complete_phase", { phase: 1, evidence: FALSE });
    expect(passed).toMatchObject({ checkpoint_passed: true, waived: ["built waived by ann"] });
    expect(passed.evidence_accepted).toEqual(["coverage", "licensed"]);
    expect(await call("get_state", { phase: 1 })).toMatchObject({ artifact: { built: false, coverage: 80 } });
  });

  it("fails with it the second time, and with anything else that is wrong", async () => {
    const { call } = await served();
    const complete = (evidence: object) => call("complete_phase", { phase: 1, evidence });
    const both = await complete({ ...FALSE, coverage: "80" });
    expect(both).toMatchObject({
      ...{ code: "GATE_FAILED", attempts_left: 2, awaiting_waiver: ["built"] },
      problems: [
        { field: "built", problem: "claimed_false" },
        { field: "coverage", problem: "wrong_type" },
      ],
    });
    expect(await complete(FALSE)).toMatchObject({
      code: "GATE_FAILED",
      attempts_left: 1,
      awaiting_waiver: ["built"],
      next: null,
    });
  });

  it("asks for nothing that nobody may waive, or without a reason", async () => {
    const { call } = await served();
    const complete = (evidence: object) =>
      call("complete_phase", { phase: 1, evidence: { ...FALSE, built: true, ...evidence } });
    expect(await complete({ licensed: FALSE.built })).toMatchObject({
      problems: [{ field: "licensed", problem: "claimed_false", got: "false" }],
      attempts_left: 2,
    });
    expect(await complete({ built: { value: false, why: " " } })).toMatchObject({
      problems: [{ field: "built", problem: "wrong_type" }],
      attempts_left: 1,
    });
    expect(await call("get_state")).not.toHaveProperty("awaiting_waiver");
  });
});

describe("an agent that can't meet a requirement", () => {
  it("may ask ten times in a visit to a phase, and is then told the way out", async () => {
    const { call } = await served();
    const ask = (reason: string) => call("request_waiver", { phase: 1, fields: ["coverage"], reason });
    for (let time = 1; time <= 10; time += 1) expect(await ask(`${time}`)).toMatchObject({ status: "success" });
    expect(await ask("once more")).toMatchObject({
      ...{ status: "error", code: "NOT_ALLOWED", error: expect.stringContaining("10 waivers were asked for") },
      remediation: expect.stringContaining("pause the session with a note"),
    });
    expect(await call("get_state", { brief: true })).toMatchObject({ awaiting_waiver: true });
    const refused = await call("complete_phase", { phase: 1, evidence: { built: true } });
    expect(refused).not.toHaveProperty("if_impossible");
    expect(refused.remediation).toMatch(/If it can't be done: pause with a note$/);
  });

  it("is told to wait if nothing but the waiver is open, and what else is wrong if something is", async () => {
    const { call } = await served();
    const reason = `there is no tool for it; ${"and nobody knows one; ".repeat(60)}or will somebody install one?`;
    const asked = await call("request_waiver", { phase: 1, fields: ["coverage"], reason });
    expect(asked).toMatchObject({ waiver: { reason, how: expect.stringContaining("phasegate show") }, next: null });
    const wrong = await call("complete_phase", { phase: 1, evidence: { built: false, licensed: true } });
    expect(wrong).toMatchObject({
      awaiting_waiver: ["coverage"],
      if_impossible: { fields: ["built"] },
      next: { action: "complete_phase" },
    });
    const open = await call("complete_phase", { phase: 1, evidence: { built: true, licensed: true } });
    expect(open).toMatchObject({
      awaiting_waiver: ["coverage"],
      remediation: expect.stringContaining("before the decision uses up an attempt"),
      next: null,
    });
    expect(open).not.toHaveProperty("if_impossible");
    await call("pause", { checkpoint_note: "waiting for ann" });
    expect(await call("get_state")).toMatchObject({ note: "waiting for ann", awaiting_waiver: true });
  });

  it("learns from the refusal how to request a waiver, waits, and continues once a person has granted it", async () => {
    const { call, state, sessionId } = await served();
    const evidence = { built: false, licensed: true };
    const refused = await call("complete_phase", { phase: 1, evidence });
    expect(refused).toMatchObject({
      code: "GATE_FAILED",
      remediation: expect.stringContaining("If it can't be done: ask for a waiver, as in if_impossible; or pause"),
      if_impossible: { action: "request_waiver", session_id: sessionId, phase: 1, fields: ["built", "coverage"] },
      next: {
        action: "complete_phase",
        evidence: { built: "<boolean: the whole suite passes>", coverage: "<an integer>" },
      },
    });
    const request = { phase: 1, fields: ["coverage"], reason: "there is no tool for it" };
    expect(await call("request_waiver", request)).toMatchObject({
      status: "success",
      awaiting_waiver: true,
      waiver: { fields: ["coverage"], how: expect.stringContaining("you can't grant it yourself") },
      next: null,
    });
    expect(await call("get_state", { brief: true })).toMatchObject({ awaiting_waiver: true, attempts: 1 });
    const { stdout: text } = await run("show", sessionId, "--state", state);
    expect(text).toContain(`  answer    phasegate waive ${sessionId} --state ${state} --by ${userInfo().username}\n`);
    expect(text).toContain(`            phasegate deny ${sessionId} --state ${state} --by ${userInfo().username}\n`);
    const shown = JSON.parse((await run("show", sessionId, "--state", state, "--json")).stdout);
    const decided = ["--by", "ann", "--yes", "--request", String(shown.awaitingWaiver.request)];
    const waived = await run("waive", sessionId, "--state", state, ...decided, "--note", "until May");
    expect(waived).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("\nWaived by ann: coverage, in phase 1.\nIt is not signed: "),
    });
    const line = "coverage waived by ann. The agent's reason: there is no tool for it. ann's note: until May";
    const stateNow = { waived: [line], next: { action: "get_task", task_number: 1 } };
    expect(await call("get_state", { brief: true })).toMatchObject(stateNow);
    const short = "coverage waived by ann";
    expect(await call("get_state")).toMatchObject({ waived: [line] });
    expect(await call("get_session")).toMatchObject({ session: { waived: [short] } });
    expect(await call("get_phase")).toMatchObject({
      waived: [short],
      phase_content: { checkpoint: { evidence_schema: { required: ["built", "licensed"] } } },
    });
    const { next } = await call("complete_task", { phase: 1, task_number: 1 });
    expect(next).toMatchObject({ action: "complete_phase", evidence: { built: "<boolean>", licensed: "<boolean>" } });
    expect(JSON.stringify(next)).not.toContain("coverage");
    for (const more of [{ brief: true }, {}]) expect((await call("get_state", more)).next).toEqual(next);
    expect(await call("complete_phase", { phase: 1, evidence: { built: true, licensed: true } })).toMatchObject({
      checkpoint_passed: true,
      waived: [short],
    });
    expect(await call("get_state", { phase: 1 })).toMatchObject({ waived: [line] });
    expect(await call("get_history")).toMatchObject({ history: [{ status: "failed" }, { waived: [line] }, {}] });
    expect(await call("complete_phase", { phase: 2, evidence: {} })).toMatchObject({
      workflow_complete: true,
      waived: [`phase 1: ${line}`],
      next: null,
    });
    expect((await run("show", sessionId, "--state", state)).stdout).toContain(`· ${line}`);
    expect((await run("audit", sessionId, "--state", state)).stdout).toContain(`phase 1 ${line}`);
  });

  it("is told to wait, too, if all that fails is a check of the gate as a whole which it has asked to waive", async () => {
    const gate =
      "evidence_schema:\n  built: {type: boolean, required: true}\nverify:\n  - {verifier: file_exists, path: out.txt}\n";
    const { call } = await served({ "release/phases/1/gate-definition.yaml": gate });
    const submit = { phase: 1, evidence: { built: true } };
    expect(await call("complete_phase", submit)).toMatchObject({ if_impossible: { fields: ["verified_by.1"] } });
    await call("request_waiver", { phase: 1, fields: ["verified_by.1"], reason: "no disk" });
    const waits = await call("complete_phase", submit);
    expect(waits).toMatchObject({
      attempt: 2,
      remediation: expect.stringContaining("before the decision uses up an attempt"),
    });
    expect(waits.next).toBeNull();
  });

  it("is told of no waived field that it was accepted, whatever was handed in, then and later", async () => {
    const { call, state, sessionId } = await served();
    await call("request_waiver", { phase: 1, fields: ["built", "coverage"], reason: "there is no compiler" });
    await decide("waive", state, sessionId);
    const evidence = { built: false, coverage: 100, licensed: true };
    const line = "built, coverage waived by ann. The agent's reason: there is no compiler";
    expect(await call("complete_phase", { phase: 1, evidence })).toMatchObject({
      ...{ checkpoint_passed: true, evidence_accepted: ["licensed"], waived: ["built, coverage waived by ann"] },
    });
    expect(await call("get_state", { phase: 1 })).toMatchObject({ artifact: evidence, waived: [line] });
  });

  it.each([
    ["waive", []],
    ["deny", ["--note", "c8 is installed"]],
  ])("sees of a note whether it is older than what a person has decided: %s", async (decision, more) => {
    const { call, state, sessionId } = await served();
    const older = "before a person decided on the waiver";
    await call("complete_task", { phase: 1, task_number: 1, note: "coverage is missing" });
    await call("request_waiver", { phase: 1, fields: ["coverage"], reason: "no tool" });
    await call("pause", { checkpoint_note: "waiting for ann" });
    const waiting = await call("get_state", { brief: true });
    expect(waiting).toMatchObject({ note: "waiting for ann", last_note: { note: "coverage is missing" } });
    expect(JSON.stringify(waiting)).not.toContain(older);
    await decide(decision, state, sessionId, more);
    for (const brief of [true, false]) {
      expect(await call("get_state", { brief })).toMatchObject({
        ...{ note: "waiting for ann", note_written: older },
        last_note: { task: 1, note: "coverage is missing", written: older },
        next: { action: "resume" },
      });
    }
    expect((await run("show", sessionId, "--state", state)).stdout).toContain("waiting for ann (before the decision");
    expect(await call("resume")).toMatchObject({ checkpoint_note: "waiting for ann", note_written: older });
    const resumed = await call("get_state", { brief: true });
    expect(resumed).not.toHaveProperty("note");
    expect(resumed).toMatchObject({ last_note: { written: older } });
    await call("complete_task", { phase: 1, task_number: 1, note: "done without it" });
    expect((await call("get_state", { brief: true })).last_note).toEqual({ task: 1, note: "done without it" });
    await call("pause", { checkpoint_note: "lunch" });
    const paused = await call("get_state", { brief: true });
    expect(paused).toMatchObject({ note: "lunch" });
    expect(paused).not.toHaveProperty("note_written");
  });

  it("gives up a task with the reason, and is led on to what is left, as is whoever takes over", async () => {
    const measure = { "release/phases/1/task-2-measure.md": "# Task 2: Measure\n\nMeasure it.\n" };
    const { call, state, sessionId } = await served(measure);
    const { next } = await call("get_task", { phase: 1, task_number: 1 });
    const { action, session_id: _, ...proposed } = Object(next);
    expect(await call(action, proposed)).toMatchObject({
      code: "INVALID_INPUT",
      remediation: expect.stringContaining("outcome given_up"),
    });
    const task = { phase: 1, task_number: 1, outcome: "given_up" };
    expect(await call("complete_task", task)).toMatchObject({ code: "INVALID_INPUT", remediation: expect.any(String) });
    expect(await call("complete_task", { ...task, outcome: "failed", note: "x" })).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("must be one of done, given_up"),
    });
    expect(await call("complete_task", { ...task, note: "there is no compiler" })).toMatchObject({
      ...{ tasks_done: "none", tasks_given_up: "1", tasks_left: 1, next: { action: "complete_task", task_number: 2 } },
      if_impossible: { action: "request_waiver", phase: 1, fields: ["<what the gate asks for and can't be met>"] },
    });
    expect(await call("get_phase")).toMatchObject({
      phase_content: { tasks_given_up: [1] },
      next: { action: "complete_task", task_number: 2 },
    });
    expect(await call("get_task", { phase: 1, task_number: 1 })).toMatchObject({ next: { task_number: 2 } });
    expect(await call("complete_task", { phase: 1, task_number: 2, note: "measured" })).toMatchObject({
      ...{ next: { action: "complete_phase" }, if_impossible: { action: "request_waiver", phase: 1 } },
    });
    expect(await call("get_state", { brief: true })).toMatchObject({
      ...{ tasks_done: "2", tasks_given_up: "1", tasks_left: 0, next_task: null },
    });
    expect(await call("get_phase")).toMatchObject({ next: { action: "complete_phase" } });
    const { stdout } = await run("show", sessionId, "--state", state);
    expect(stdout).toContain("1 of 2 done (2), given up: 1\n");
    expect(stdout).toMatch(/task 1 given up: there is no compiler/);
    const refused = await call("complete_phase", { phase: 1, evidence: { coverage: 1, licensed: true, built: false } });
    expect(refused).toMatchObject({ code: "GATE_FAILED", if_impossible: { fields: ["built"] } });
  });

  it("is led back to a task before the one that it has read", async () => {
    const { call } = await served({ "release/phases/1/task-2-measure.md": "# Task 2: Measure\n\nMeasure it.\n" });
    await call("complete_task", { phase: 1, task_number: 2 });
    expect(await call("get_task", { phase: 1, task_number: 2 })).toMatchObject({
      next: { action: "get_task", task_number: 1 },
    });
  });

  it("learns what to do instead if a person denies the waiver", async () => {
    const { call, state, sessionId } = await served();
    await call("request_waiver", { phase: 1, fields: ["coverage"], reason: "no tool" });
    const shown = JSON.parse((await run("show", sessionId, "--state", state, "--json")).stdout);
    const flags = ["--by", "ann", "--yes", "--request", String(shown.awaitingWaiver.request)];
    const denied = await run("deny", sessionId, "--state", state, ...flags, "--note", "c8 is installed");
    expect(denied).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("No waiver by ann: coverage, in phase 1."),
    });
    expect(await call("get_state", { brief: true })).toMatchObject({
      waiver_denied: { fields: ["coverage"], by: "ann", do_instead: "c8 is installed" },
      next: { action: "get_task", task_number: 1 },
    });
    const again = await run("waive", sessionId, "--state", state, ...flags);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("waits for no waiver: it is active, in phase 1"),
    });
  });

  it("can't get a waiver for an excluded field, an unknown field, or another phase", async () => {
    const { call } = await served();
    const request = { phase: 1, fields: ["licensed"], reason: "no lawyer" };
    expect(await call("request_waiver", request)).toMatchObject({
      code: "NOT_ALLOWED",
      remediation: expect.stringContaining("pause the session with a note"),
    });
    expect(await call("request_waiver", { ...request, fields: ["coverag"] })).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining('did you mean "coverage"?'),
    });
    expect(await call("request_waiver", { ...request, phase: 2 })).toMatchObject({ code: "PHASE_LOCKED" });
    expect(await call("request_waiver", { phase: 1, fields: "coverage", reason: "x" })).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("'fields' must be a list"),
    });
    expect(await call("get_state", { brief: true })).not.toHaveProperty("awaiting_waiver");
  });
});

describe("a client with elicitation", () => {
  /** Returns a client whose user gives the answer, and the list of what the user was asked. */
  function user(content: ElicitResult["content"]) {
    const asked: ElicitRequest["params"][] = [];
    const prepare = (client: Client) => {
      client.registerCapabilities({ elicitation: {} });
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params);
        return { action: "accept", ...(content === undefined ? {} : { content }) };
      });
    };
    return { asked, prepare };
  }

  const inSecondPhase = async (options: Parameters<typeof makeAsking>[0], prepare: (client: Client) => void) => {
    const made = await makeAsking(options);
    const { sessionId } = await made.waiting();
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    const { ask } = await connectInMemory(made.engine, {}, prepare);
    const request = {
      action: "request_waiver",
      session_id: sessionId,
      phase: 2,
      fields: ["tests_pass"],
      reason: "none",
    };
    return { ask, request };
  };

  it("asks its user for the waiver if unsigned answers count", async () => {
    const { asked, prepare } = user({ decision: "approve" });
    const { ask, request } = await inSecondPhase({ allowUnsignedApprovals: true }, prepare);
    expect(await ask(request)).toMatchObject({
      waived: ["tests_pass waived by client user. The agent's reason: none"],
      next: { action: "complete_phase", phase: 2 },
    });
    expect(asked[0]?.message).toMatch(/asks to go on without: tests_pass\..*The agent's reason:\n\nnone/s);
  });

  it("asks its user when evidence says that something can't be claimed", async () => {
    const { asked, prepare } = user({ decision: "approve" });
    const { ask, request } = await inSecondPhase({ allowUnsignedApprovals: true }, prepare);
    const { session_id } = request;
    const evidence = { tests_pass: { value: false, why: "there is no runner" } };
    expect(await ask({ action: "complete_phase", session_id, phase: 2, evidence })).toMatchObject({
      ...{
        status: "success",
        checkpoint_passed: false,
        waived: ["tests_pass waived by client user. The agent's reason: there is no runner"],
      },
      next: { action: "complete_phase", phase: 2 },
    });
    expect(asked[0]?.message).toContain("there is no runner");
  });

  it("records its user's denial with what to do instead", async () => {
    const { prepare } = user({ decision: "deny", note: "write some" });
    const { ask, request } = await inSecondPhase({ allowUnsignedApprovals: true }, prepare);
    expect(await ask(request)).toMatchObject({ waiver_denied: { by: "client user", do_instead: "write some" } });
  });

  it("does not ask its user if answers must be signed", async () => {
    const { asked, prepare } = user({ decision: "approve" });
    const { ask, request } = await inSecondPhase({}, prepare);
    expect(await ask(request)).toMatchObject({ awaiting_waiver: true });
    expect(asked).toEqual([]);
  });
});

describe("a server with approvers", () => {
  const WORK = { built: true, licensed: true };
  const REQUEST = { phase: 1, fields: ["coverage"], reason: "no tool for it" };

  it("accepts a waiver that was signed where nobody knew the keys", async () => {
    const { publicKey, privateKey } = await createApproverKeys();
    const { call, state, sessionId } = await served({}, ["--approver", `ann=${publicKey}`]);
    const key = `${state}.pem`;
    await writeFile(key, privateKey, { mode: 0o600 });
    await call("request_waiver", REQUEST);
    await decide("waive", state, sessionId, ["--key", key]);
    expect(await call("complete_phase", { phase: 1, evidence: WORK })).toMatchObject({
      checkpoint_passed: true,
      waived: ["coverage waived by ann"],
    });
  });

  it("says that it does not accept a waiver that is not signed, which may be asked for again", async () => {
    const { publicKey, privateKey } = await createApproverKeys();
    const { call, state, sessionId } = await served({}, ["--approver", `ann=${publicKey}`]);
    await call("request_waiver", REQUEST);
    const told = await decide("waive", state, sessionId);
    expect(told).toContain("It is not signed: a server with approvers does not accept it.");
    const refused = { fields: ["coverage"], by: "ann", reason: "unsigned" };
    for (const action of ["get_state", "get_phase"]) {
      expect(await call(action)).toMatchObject({ waiver_not_believed: [refused] });
    }
    const shown = await run("show", sessionId, "--state", state, "--approver", `ann=${publicKey}`);
    expect(shown.stdout).toContain("coverage waived by ann, not accepted here (unsigned)");
    expect(await call("request_waiver", REQUEST)).toMatchObject({ status: "success", awaiting_waiver: true });
    const key = `${state}.pem`;
    await writeFile(key, privateKey, { mode: 0o600 });
    await decide("waive", state, sessionId, ["--key", key]);
    expect(await call("get_state")).not.toHaveProperty("waiver_not_believed");
    expect(await call("complete_phase", { phase: 1, evidence: WORK })).toMatchObject({ checkpoint_passed: true });
  });
});
