import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import {
  allowedCommands,
  readingRefusal,
  type SessionCommand,
  submissionRefusal,
} from "../../../src/phased/state/commands.js";
import { sessionEventSchema } from "../../../src/phased/state/events.js";
import { applyEvent } from "../../../src/phased/state/head.js";
import { transition } from "../../../src/phased/state/transition.js";
import { aProblem, phaseOf, Run, structureOf, submit } from "./run.js";

const free = { kind: "open", allowOverride: true } as const;
const three = structureOf([1, 2, 3]);
/** A structure whose three phases may all be skipped and overridden. */
const loose = structureOf([1, 2, 3].map((number) => phaseOf(number, { skippable: true, gate: free })));

const start: SessionCommand = { type: "start", target: "src/b.ts", options: {} };
const pause: SessionCommand = { type: "pause" };
const resume: SessionCommand = { type: "resume" };
const remove: SessionCommand = { type: "delete" };
const retry = (phase: number, by: "agent" | "host" = "agent", resetEvidence = false): SessionCommand => {
  return { type: "retryPhase", phase, resetEvidence, by };
};
const rollback = (to: number): SessionCommand => ({ type: "rollback", to, by: "agent" });
const override = (phase: number): SessionCommand => ({ type: "overrideGate", phase, by: "ann", reason: "seen by eye" });
const skip = (phase: number): SessionCommand => ({ type: "skipPhase", phase, by: "ann", reason: "not needed" });
const claim = (assignment: string, child = `review_${assignment}`): SessionCommand => {
  return { type: "startChild", child, assignment };
};
const migrate = (structure = loose): SessionCommand => ({ type: "migrate", structure, by: "ann" });

/** Creates a session in its second phase, in each status. */
const inStatus = {
  active: () => Run.started(loose, { maxAttempts: 1 }).do(submit(1)),
  paused: () => Run.started(loose, { maxAttempts: 1 }).do(submit(1), pause),
  failed: () => Run.started(loose, { maxAttempts: 1 }).do(submit(1), submit(2, false)),
  completed: () => Run.started(structureOf(loose.phases.slice(0, 2))).do(submit(1), submit(2)),
  deleted: () => Run.started(loose).do(submit(1), remove),
};
type Status = keyof typeof inStatus;

/** The result of each command in each status: the next status, or the code of its refusal. */
const TABLE: readonly (readonly [string, SessionCommand, Record<Status, string>])[] = [
  ["start", start, refusals("INVALID_INPUT")],
  ["a passing submission", submit(2), { ...refusals("INVALID_TRANSITION"), active: "active" }],
  ["a failing submission", submit(2, false), { ...refusals("INVALID_TRANSITION"), active: "failed" }],
  ["a claim of a child", claim("a"), { ...refusals("INVALID_TRANSITION"), active: "active" }],
  ["pause", pause, { ...refusals("INVALID_TRANSITION"), active: "paused" }],
  ["resume", resume, { ...refusals("INVALID_TRANSITION"), paused: "active" }],
  ["retry", retry(2), { ...refusals("INVALID_TRANSITION"), failed: "active" }],
  ["rollback", rollback(1), { ...refusals("INVALID_TRANSITION"), active: "active", failed: "active" }],
  ["override", override(2), { ...refusals("INVALID_TRANSITION"), active: "active", failed: "active" }],
  ["skip", skip(2), { ...refusals("INVALID_TRANSITION"), active: "active", failed: "active" }],
  [
    "migrate",
    migrate(),
    {
      ...refusals("INVALID_TRANSITION"),
      active: "active",
      paused: "paused",
      failed: "failed",
      completed: "INVALID_TRANSITION",
    },
  ],
  [
    "delete",
    remove,
    { ...refusals("INVALID_INPUT"), active: "deleted", paused: "deleted", failed: "deleted", completed: "deleted" },
  ],
];

function refusals(code: string): Record<Status, string> {
  return { active: code, paused: code, failed: code, completed: code, deleted: "INVALID_INPUT" };
}

const ALLOWED: Record<Status, string[]> = {
  active: ["completePhase", "pause", "rollback", "delete"],
  paused: ["resume", "delete"],
  failed: ["retryPhase", "rollback", "delete"],
  completed: ["delete"],
  deleted: [],
};

describe("each command in each status", () => {
  for (const status of Object.keys(inStatus) as Status[]) {
    for (const [name, command, outcomes] of TABLE) {
      const expected = outcomes[status];
      it(`${name}, ${status}: ${expected}`, () => {
        const run = inStatus[status]();
        expect(run.state.status).toBe(status);
        if (expected in inStatus) {
          run.do(command);
          expect(run.state.status).toBe(expected);
          return;
        }
        const error = run.refused(command);
        expect(error.code).toBe(expected);
        expect(error.remedy).not.toBe("");
        if (isPhasegateError(error, "INVALID_TRANSITION")) {
          expect(error.details).toEqual({ command: command.type, status, allowed: ALLOWED[status] });
        }
      });
    }
  }

  it("before the start: only start is possible", () => {
    for (const [, command] of TABLE.slice(1)) {
      expect(new Run(three).refused(command).code).toBe("INVALID_INPUT");
    }
    expect(new Run(three).do(start).state.status).toBe("active");
  });

  it("in a finished session: the refusal suggests no command, least of all delete", () => {
    for (const status of ["completed", "deleted"] as const) {
      const { structure, state, limits } = inStatus[status]();
      const refusal = submissionRefusal(state, 2, structure, limits);
      expect(refusal).toMatchObject({ code: "INVALID_TRANSITION", details: { status, allowed: ALLOWED[status] } });
      expect(refusal?.remedy).toBe("It is over: start a new session for more.");
    }
    expect(inStatus.paused().refused(pause).remedy).toBe("Possible now: resume, delete.");
  });
});

describe("start", () => {
  it("pins the structure and enters the first phase", () => {
    const run = Run.started(three);
    expect(run.log.map(({ event }) => event)).toEqual([
      { type: "started", target: "src/a.ts", options: {}, structure: three },
      { type: "phase_entered", phase: 1, position: 0 },
    ]);
    expect(run.state).toEqual({
      ...{ status: "active", workflowType: "demo", revision: "r1", target: "src/a.ts", structureVersion: 1 },
      ...{ phase: 1, position: 0, baseline: 1, total: 3, completed: [], skipped: [], attempts: 0, spent: [] },
      ...{ createdAt: "2026-01-01T00:00:01.000Z", phaseStartedAt: "2026-01-01T00:00:01.000Z" },
    });
  });

  it("starts with phase 0 if that is the first", () => {
    const run = Run.started(structureOf([0, 1]));
    expect(run.state).toMatchObject({ phase: 0, position: 0 });
    run.do(submit(0));
    expect(run.state).toMatchObject({ phase: 1, completed: [[0, 0]] });
  });

  it("names the plan in the error for an unknown phase", () => {
    const plan = { path: "docs/tasks.md", hash: "1", dialect: "praxis-os", shift: 0, ticked: false };
    expect(Run.started(structureOf([1, 2], { plan })).refused(submit(3))).toMatchObject({
      code: "PHASE_OUT_OF_RANGE",
      details: { requested: 3, valid: [1, 2], sourcePath: "docs/tasks.md" },
    });
  });

  it("accepts phase numbers with gaps, in their order", () => {
    const run = Run.started(structureOf([2, 5, 40]));
    expect(run.refused(submit(3)).code).toBe("PHASE_OUT_OF_RANGE");
    expect(run.refused(submit(5)).code).toBe("PHASE_LOCKED");
    run.do(submit(2), submit(5), submit(40));
    expect(run.state).toMatchObject({ status: "completed", phase: 40, position: 2, completed: [[0, 2]] });
  });

  it("starts at start_phase: earlier phases are not completed, and cannot be rolled back to", () => {
    const run = Run.started(structureOf([1, 2, 3], { startPhase: 2 }));
    expect(run.state).toMatchObject({ phase: 2, position: 1, completed: [] });
    const behind = run.refused(submit(1));
    expect(behind).toMatchObject({ code: "PHASE_ALREADY_COMPLETED", remedy: "Continue with phase 2." });
    expect(run.refused(rollback(1))).toMatchObject({ code: "PHASE_OUT_OF_RANGE", details: { valid: [] } });
    expect(allowedCommands(run.state, run.structure)).not.toContain("rollback");
    run.do(submit(2));
    expect(run.state).toMatchObject({ phase: 3, completed: [[1, 1]] });
    expect(run.refused(rollback(1))).toMatchObject({ details: { valid: [2] } });
    run.do(rollback(2));
    expect(run.state).toMatchObject({ phase: 2, completed: [] });
  });
});

describe("a submission", () => {
  it("that passes enters the next phase", () => {
    const run = Run.started(three).do(submit(1));
    expect(run.log.slice(2).map(({ event }) => event)).toEqual([
      { type: "gate_passed", phase: 1, position: 0, attempt: 1, evidence: { inline: { phase: 1 } } },
      { type: "phase_entered", phase: 2, position: 1 },
    ]);
    expect(run.state).toMatchObject({ phase: 2, attempts: 0, phaseStartedAt: "2026-01-01T00:00:02.000Z" });
    expect(run.state.submission).toBeUndefined();
  });

  it("that passes the last gate completes the workflow", () => {
    const run = Run.started(three).do(submit(1), submit(2), submit(3));
    expect(run.types(2)).toEqual(["gate_passed", "completed"]);
    expect(run.state).toMatchObject({ status: "completed", phase: 3, completedAt: "2026-01-01T00:00:04.000Z" });
    expect(run.state.submission).toEqual({ version: 4, merge: false });
  });

  it("that fails keeps the session in its phase, and records the problems", () => {
    const run = Run.started(three).do(submit(1, false));
    expect(run.log.at(-1)?.event).toEqual({
      ...{ type: "gate_failed", phase: 1, attempt: 1, evidence: { inline: { phase: 1 } } },
      problems: [aProblem],
    });
    expect(run.state).toMatchObject({ status: "active", phase: 1, attempts: 1, spent: [[0, 1]] });
    expect(run.state.submission).toEqual({ version: 2, merge: false });
  });

  it("stores an output and warnings only if there are any", () => {
    const run = Run.started(three).do({
      ...{
        type: "completePhase",
        phase: 1,
        evidence: { payload: "abc", characters: 70_000, names: ["a"] },
        output: { inline: [1] },
      },
      verdict: { passed: true, warnings: [aProblem] },
    });
    expect(run.log[2]?.event).toEqual({
      ...{ type: "gate_passed", phase: 1, position: 0, attempt: 1, output: { inline: [1] }, warnings: [aProblem] },
      evidence: { payload: "abc", characters: 70_000, names: ["a"] },
    });
  });

  it("for another phase is refused, with the current phase", () => {
    const run = Run.started(three).do(submit(1));
    expect(run.refused(submit(3))).toMatchObject({ code: "PHASE_LOCKED", details: { requested: 3, current: 2 } });
    const done = run.refused(submit(1));
    expect(done).toMatchObject({ code: "PHASE_ALREADY_COMPLETED", details: { requested: 1, current: 2 } });
    expect(done.remedy).toBe("Continue with phase 2, or roll back to phase 1 to do it again.");
    for (const number of [0, 4, -1, 1.5, Number.NaN]) {
      expect(run.refused(submit(number))).toMatchObject({ code: "PHASE_OUT_OF_RANGE", details: { valid: [1, 2, 3] } });
    }
  });

  it("for a phase that there isn't is refused in any status", () => {
    for (const run of [Run.started(three), Run.started(three).do(pause)]) {
      expect(run.refused(submit(9))).toMatchObject({ code: "PHASE_OUT_OF_RANGE", details: { requested: 9 } });
    }
  });

  it("is refused with the same error before its gate is checked", () => {
    const run = Run.started(three).do(submit(1), pause);
    for (const phase of [1, 2, 3, 9]) {
      const early = submissionRefusal(run.state, phase, three, run.limits);
      expect(early).toEqual(run.refused(submit(phase)));
    }
  });
});

describe("attempts", () => {
  it("in a row fail the session when they reach the limit", () => {
    const run = Run.started(three).do(submit(1, false), submit(1, false), submit(1, false));
    expect(run.types(2)).toEqual(["gate_failed", "failed"]);
    expect(run.log.at(-1)?.event).toEqual({ type: "failed", phase: 1, attempts: 3 });
    expect(run.state).toMatchObject({ status: "failed", failedAt: "2026-01-01T00:00:04.000Z", attempts: 3 });
    expect(run.refused(submit(1)).code).toBe("INVALID_TRANSITION");
  });

  it("limited to one fail the session at once", () => {
    const run = Run.started(three, { maxAttempts: 1 }).do(submit(1, false));
    expect(run.state.status).toBe("failed");
  });

  it("are reset in the next phase, and after a success", () => {
    const run = Run.started(three).do(submit(1, false), submit(1, false), submit(1));
    expect(run.state).toMatchObject({ attempts: 0, spent: [] });
    run.do(submit(2, false), submit(2, false));
    expect(run.state.status).toBe("active");
    expect(run.log.at(-1)?.event).toMatchObject({ attempt: 2 });
  });

  it("are not changed by pauses", () => {
    const run = Run.started(three).do(submit(1, false), submit(1, false), pause, resume, submit(1, false));
    expect(run.state.status).toBe("failed");
  });

  it("in total are limited for the agent, for any number of retries", () => {
    const run = Run.started(three, { maxAttempts: 2, maxAttemptsTotal: 5 });
    run.do(submit(1, false), submit(1, false), retry(1), submit(1, false), submit(1, false), retry(1));
    run.do(submit(1, false));
    expect(run.state).toMatchObject({ status: "failed", attempts: 1, spent: [[0, 5]] });
    expect(run.refused(retry(1))).toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
      details: { phase: 1, attempts: 5, limit: 5 },
    });
  });

  it("that are used up leave no retry for the agent, but one for the host", () => {
    const run = Run.started(three, { maxAttempts: 2, maxAttemptsTotal: 3 });
    run.do(submit(1, false), submit(1, false));
    const failed = { code: "INVALID_TRANSITION", details: { allowed: ["retryPhase", "delete"] } };
    expect(run.refused(submit(1))).toMatchObject(failed);
    run.do(retry(1), submit(1, false));
    const spent = { code: "INVALID_TRANSITION", details: { status: "failed", allowed: ["delete"] } };
    for (const command of [submit(1), { type: "pause" }, { type: "resume" }] as const) {
      expect(run.refused(command)).toMatchObject(spent);
    }
    expect(run.do(retry(1, "host")).state.status).toBe("active");
  });

  it("are not restored by retrying before the session fails", () => {
    const run = Run.started(three, { maxAttempts: 2, maxAttemptsTotal: 3 });
    run.do(submit(1, false), retry(1), submit(1, false), retry(1), submit(1, false));
    expect(run.state.status).toBe("failed");
    expect(run.refused(retry(1)).code).toBe("ATTEMPTS_EXHAUSTED");
  });

  it("are not restored by a rollback and a return", () => {
    const run = Run.started(three, { maxAttempts: 1, maxAttemptsTotal: 2 });
    run.do(submit(1), submit(2, false), retry(2), submit(2, false), rollback(1), submit(1));
    expect(run.state).toMatchObject({ status: "active", phase: 2, attempts: 0, spent: [[1, 2]] });
    expect(run.refused(submit(2)).code).toBe("ATTEMPTS_EXHAUSTED");
    expect(run.refused(submit(2, false)).code).toBe("ATTEMPTS_EXHAUSTED");
    expect(run.refused(retry(2)).code).toBe("ATTEMPTS_EXHAUSTED");
    expect(run.refused(retry(2, "agent", true)).code).toBe("ATTEMPTS_EXHAUSTED");
  });

  it("are reset by a retry of the host, in every status and without a limit", () => {
    const run = Run.started(three, { maxAttempts: 1, maxAttemptsTotal: 2 }).do(submit(1));
    for (let round = 0; round < 5; round += 1) {
      run.do(submit(2, false), retry(2), submit(2, false));
      expect(run.refused(retry(2)).code).toBe("ATTEMPTS_EXHAUSTED");
      if (round % 2 === 1) run.do(rollback(1), submit(1));
      run.do(retry(2, "host"));
      expect(run.state).toMatchObject({ status: "active", phase: 2, attempts: 0, spent: [] });
    }
    run.do(submit(2));
    expect(run.state.phase).toBe(3);
  });

  it("that were not used up are reset by the host after a rollback, too", () => {
    const run = Run.started(three).do(submit(1), submit(2, false), rollback(1), submit(1));
    expect(run.state).toMatchObject({ attempts: 0, spent: [[1, 1]] });
    expect(run.refused(retry(2)).code).toBe("INVALID_TRANSITION");
    expect(run.do(retry(2, "host")).state.spent).toEqual([]);
  });

  it("are counted per phase", () => {
    const run = Run.started(three, { maxAttempts: 2, maxAttemptsTotal: 2 });
    run.do(submit(1), submit(2, false), rollback(1), submit(1, false));
    expect(run.state).toMatchObject({
      attempts: 1,
      spent: [
        [1, 1],
        [0, 1],
      ],
    });
    run.do(retry(1, "host"));
    expect(run.state.spent).toEqual([[1, 1]]);
    run.do(submit(1), submit(2, false));
    expect(run.state.status).toBe("failed");
  });
});

describe("retry", () => {
  it("is possible only for the current phase", () => {
    const run = Run.started(three, { maxAttempts: 1 }).do(submit(1), submit(2, false));
    expect(run.refused(retry(1)).code).toBe("PHASE_ALREADY_COMPLETED");
    expect(run.refused(retry(3)).code).toBe("PHASE_LOCKED");
    expect(run.refused(retry(4)).code).toBe("PHASE_OUT_OF_RANGE");
  });

  it("requires a failed attempt", () => {
    const run = Run.started(three);
    for (const by of ["agent", "host"] as const) {
      expect(run.refused(retry(1, by))).toMatchObject({
        code: "INVALID_TRANSITION",
        message: "retryPhase is not possible: no attempt at phase 1 has failed",
        details: { allowed: ["completePhase", "pause", "delete"] },
      });
    }
    run.do(submit(1, false));
    expect(allowedCommands(run.state, three)).toEqual(["completePhase", "pause", "retryPhase", "delete"]);
    run.do(retry(1));
    expect(run.refused(retry(1)).code).toBe("INVALID_TRANSITION");
  });

  it("is refused while the session is paused, whatever has failed", () => {
    expect(Run.started(three).do(submit(1, false), pause).refused(retry(1))).toMatchObject({
      ...{ code: "INVALID_TRANSITION", message: "retryPhase is not possible: the session is paused" },
    });
  });

  it("needs no failed attempt if it records snapshots that were missing", () => {
    const run = Run.started(three);
    const snapshots = [{ verifier: "v", check: "c", takenAt: "2026-01-01T00:00:02.000Z", value: { inline: 1 } }];
    const context = { structure: three, limits: run.limits, at: "2026-01-01T00:00:02.000Z", version: 2, snapshots };
    expect(transition(run.state, { command: retry(1), ...context }, context)).toMatchObject({
      ok: true,
      events: [{ type: "retried", snapshots }],
      head: { baseline: 2, attempts: 0 },
    });
  });

  it("merges the next submission over the last one, or starts empty", () => {
    for (const reset of [true, false]) {
      const run = Run.started(three).do(submit(1, false), retry(1, "agent", reset));
      expect(run.state.submission).toEqual({ version: 2, merge: !reset });
      expect(run.log.at(-1)?.event).toEqual({ type: "retried", phase: 1, resetEvidence: reset, by: "agent" });
      run.do(submit(1, false));
      expect(run.state.submission).toEqual({ version: 4, merge: false });
    }
  });

  it("keeps the last submission through a pause, and drops it with the phase", () => {
    const run = Run.started(three).do(submit(1), submit(2, false), retry(2), pause, resume);
    expect(run.state.submission).toEqual({ version: 3, merge: true });
    run.do(rollback(1));
    expect(run.state.submission).toBeUndefined();
  });
});

describe("pause and resume", () => {
  it("keep the phase, with a note while the session is paused", () => {
    const run = Run.started(three).do(submit(1), { type: "pause", note: "waiting for review" });
    expect(run.state).toMatchObject({ status: "paused", phase: 2, note: "waiting for review" });
    expect(run.state).toMatchObject({ pausedAt: "2026-01-01T00:00:03.000Z" });
    run.wait(59).do(resume);
    expect(run.log.at(-1)?.event).toEqual({ type: "resumed", pausedSeconds: 60 });
    expect(run.state).not.toHaveProperty("note");
    expect(run.state).not.toHaveProperty("pausedAt");
    expect(run.do(pause).state).toEqual(expect.not.objectContaining({ note: expect.anything() }));
  });

  it("count no negative duration if the clock was set back", () => {
    const run = Run.started(three).do(pause).wait(-3600).do(resume);
    expect(run.log.at(-1)?.event).toEqual({ type: "resumed", pausedSeconds: 0 });
  });

  it("refuse a note that is too long for the head", () => {
    const run = Run.started(three).do({ type: "pause", note: "x".repeat(2000) }, resume);
    expect(run.refused({ type: "pause", note: "x".repeat(2001) })).toMatchObject({
      code: "INVALID_INPUT",
      details: { field: "note", expected: "at most 2000 characters" },
    });
  });
});

describe("rollback", () => {
  const fourth = () => Run.started(structureOf([1, 2, 3, 4])).do(submit(1), submit(2), submit(3));

  it("revokes all phases from its target on", () => {
    const run = fourth().do(rollback(2));
    expect(run.log.slice(-2).map(({ event }) => event)).toEqual([
      { type: "rolled_back", from: 4, to: 2, position: 1, cleared: [2, 3], by: "agent" },
      { type: "phase_entered", phase: 2, position: 1 },
    ]);
    expect(run.state).toMatchObject({ status: "active", phase: 2, position: 1, completed: [[0, 0]], attempts: 0 });
    expect(run.refused(submit(3)).code).toBe("PHASE_LOCKED");
  });

  it("is possible only to earlier phases, and names the range", () => {
    const run = fourth();
    for (const to of [4, 5, 0, -1, 2.5]) {
      expect(run.refused(rollback(to))).toMatchObject({
        code: "PHASE_OUT_OF_RANGE",
        message: `can't roll back from phase 4 to ${to}: possible: 1 to 3`,
        details: { requested: to, valid: [1, 2, 3] },
      });
    }
    const first = Run.started(three).refused(rollback(1));
    expect(first.message).toContain("there is no phase before it");
    expect(first.remedy).toBe("Retry phase 1 instead.");
  });

  it("revokes skipped phases, and names the completed ones", () => {
    const run = Run.started(loose).do(submit(1), skip(2), rollback(1));
    expect(run.log.at(-2)?.event).toMatchObject({ cleared: [1] });
    expect(run.state).toMatchObject({ completed: [], skipped: [] });
  });

  it("is not offered if there is no earlier phase", () => {
    const run = Run.started(three, { maxAttempts: 1 }).do(submit(1, false));
    expect(allowedCommands(run.state, three)).toEqual(["retryPhase", "delete"]);
  });

  it("makes a failed session active again", () => {
    const run = inStatus.failed().do(rollback(1));
    expect(run.state).toMatchObject({ status: "active", phase: 1, attempts: 0 });
    expect(run.state).not.toHaveProperty("failedAt");
  });
});

describe("override and skip", () => {
  it("require permission by the definition", () => {
    const run = Run.started(three);
    expect(run.refused(override(1))).toMatchObject({
      code: "NOT_ALLOWED",
      details: { phase: 1, operation: "overrideGate" },
    });
    expect(run.refused(skip(1))).toMatchObject({ code: "NOT_ALLOWED", details: { phase: 1, operation: "skipPhase" } });
    expect(run.refused(override(1)).remedy).toContain("allow_override: true");
    expect(run.refused(skip(1)).remedy).toContain("skippable: true");
    const mixed = structureOf([phaseOf(1, { gate: free }), phaseOf(2, { skippable: true })]);
    expect(Run.started(mixed).refused(skip(1)).code).toBe("NOT_ALLOWED");
    expect(Run.started(mixed).do(override(1)).refused(override(2)).code).toBe("NOT_ALLOWED");
  });

  it("move the session on, and record who did it and why", () => {
    const run = Run.started(loose).do(override(1), skip(2));
    expect(run.log.slice(2).map(({ event }) => event)).toEqual([
      { type: "gate_overridden", phase: 1, position: 0, by: "ann", reason: "seen by eye" },
      { type: "phase_entered", phase: 2, position: 1 },
      { type: "phase_skipped", phase: 2, position: 1, by: "ann", reason: "not needed" },
      { type: "phase_entered", phase: 3, position: 2 },
    ]);
    expect(run.state).toMatchObject({ phase: 3, completed: [[0, 0]], skipped: [[1, 1]] });
    run.do(skip(3));
    expect(run.state).toMatchObject({ status: "completed", skipped: [[1, 2]] });
  });

  it("are possible only for the current phase", () => {
    for (const command of [override, skip]) {
      const run = Run.started(loose).do(submit(1));
      expect(run.refused(command(1)).code).toBe("PHASE_ALREADY_COMPLETED");
      expect(run.refused(command(3)).code).toBe("PHASE_LOCKED");
      expect(run.refused(command(7)).code).toBe("PHASE_OUT_OF_RANGE");
    }
  });

  it("reset the attempts", () => {
    for (const command of [override(3), skip(3)]) {
      const run = Run.started(loose).do(submit(1), submit(2), submit(3, false), command);
      expect(run.state).toMatchObject({ status: "completed", attempts: 0 });
    }
  });

  it("are refused at a position that the structure does not have", () => {
    const head = { ...Run.started(loose).state, position: 9 };
    const context = {
      structure: loose,
      limits: { maxAttempts: 3, maxAttemptsTotal: 12 },
      at: head.createdAt,
      version: 2,
    };
    expect(transition(head, { command: skip(1), ...context }, context).ok).toBe(false);
  });
});

describe("migrate", () => {
  it("is refused for another workflow, and where nothing is left to do", () => {
    const run = Run.started(three).do(submit(1));
    expect(run.refused(migrate(structureOf([1, 2, 3], { type: "other" })))).toMatchObject({
      code: "NOT_ALLOWED",
      details: { phase: 2, operation: "migrate" },
      message: "revision r1 of other is another workflow",
    });
    expect(run.refused(migrate(structureOf([1])))).toMatchObject({
      code: "NOT_ALLOWED",
      message: "revision r1 of demo has nothing left to do for this session",
    });
  });

  it("records snapshots for the new gate, if it takes some", () => {
    const { state, limits } = Run.started(three);
    const at = "2026-01-01T00:00:02.000Z";
    const taken = [{ verifier: "v", check: "c", takenAt: at, value: { inline: 1 } }];
    const baselineAfter = (snapshots?: typeof taken) => {
      const context = { structure: three, limits, at, version: 2, snapshots };
      return transition(state, { command: migrate(three), ...context }, context);
    };
    expect(baselineAfter(taken)).toMatchObject({ events: [{ snapshots: taken }], head: { baseline: 2 } });
    expect(baselineAfter()).toMatchObject({ head: { baseline: 1 } });
  });

  it("changes later phases, and keeps completed ones", () => {
    const run = Run.started(three).do(submit(1), submit(2, false), retry(2));
    const before = run.state;
    run.do(migrate(structureOf([1, 2, 7, 8], { revision: "r2" })));
    expect(run.state).toEqual({ ...before, revision: "r2", structureVersion: 5, total: 4 });
    run.do(submit(2), submit(7), submit(8));
    expect(run.state).toMatchObject({ status: "completed", completed: [[0, 3]] });
  });

  it("may make the current phase the last one", () => {
    const run = Run.started(three).do(submit(1), migrate(structureOf([1, 2], { revision: "r2" })), submit(2));
    expect(run.state).toMatchObject({ status: "completed", phase: 2, total: 2 });
  });

  it("does not complete skipped phases, nor those before start_phase", () => {
    const late = structureOf([1, phaseOf(2, { skippable: true }), 3, 4], { startPhase: 2 });
    const run = Run.started(late).do(skip(2), submit(3), migrate({ ...late, revision: "r2" }));
    expect(run.state).toMatchObject({ revision: "r2", completed: [[2, 2]], skipped: [[1, 1]] });
  });

  it("is refused for a completed session", () => {
    const run = Run.started(three).do(submit(1), submit(2), submit(3));
    expect(run.refused(migrate(structureOf([1, 2, 3, 4]))).code).toBe("INVALID_TRANSITION");
  });

  it("keeps a paused or failed session paused or failed", () => {
    for (const status of ["paused", "failed"] as const) {
      const run = inStatus[status]();
      const before = run.state;
      run.do(migrate({ ...loose, revision: "r2" }));
      expect(run.state).toEqual({ ...before, revision: "r2", structureVersion: run.version });
    }
  });

  it("keeps failures up to the current phase, and drops those of replaced phases", () => {
    const run = Run.started(three).do(submit(1), submit(2), submit(3, false), rollback(2), submit(2, false));
    expect(run.state.spent).toEqual([
      [2, 1],
      [1, 1],
    ]);
    run.do(migrate(structureOf([1, 2, 9])));
    expect(run.state.spent).toEqual([[1, 1]]);
  });
});

describe("startChild", () => {
  it("keeps one child for each assignment, the last one, until the phase is left", () => {
    const run = Run.started(three).do(claim("a"), claim("b"), claim("a", "second"));
    expect(run.head?.children).toEqual([
      { assignment: "b", sessionId: "review_b" },
      { assignment: "a", sessionId: "second" },
    ]);
    expect(run.do(submit(1)).head?.children).toBeUndefined();
  });
});

describe("assign", () => {
  const bob = { name: "bob", team: "night" };
  const assign = (note?: string, by = "otto"): SessionCommand => {
    return { type: "assign", owner: bob, by, ...(note === undefined ? {} : { note }) };
  };

  it("hands a session over, whatever its status, and changes nothing else", () => {
    for (const status of ["active", "paused", "failed", "completed"] as const) {
      const run = inStatus[status]();
      const before = run.state;
      run.do(assign());
      expect(run.state).toEqual({ ...before, owner: bob });
      expect(run.log.at(-1)?.event).toEqual({ type: "assigned", owner: bob, by: "otto" });
    }
    expect(inStatus.deleted().refused(assign()).code).toBe("INVALID_INPUT");
  });

  it("replaces the owner of the start, and says why", () => {
    const ann = { name: "ann" };
    const run = new Run(three).do({ ...start, owner: ann });
    expect(run.log[0]?.event).toMatchObject({ type: "started", owner: ann });
    expect(run.state.owner).toEqual(ann);
    run.do(assign("ann is away"));
    expect(run.state.owner).toEqual(bob);
    expect(run.log.at(-1)?.event).toMatchObject({ by: "otto", note: "ann is away" });
  });

  it("refuses texts that are too long for the event", () => {
    const run = Run.started(three).do(assign("x".repeat(2000), "y".repeat(200)));
    expect(run.refused(assign("x".repeat(2001)))).toMatchObject({ details: { field: "note" } });
    expect(run.refused(assign("x", "y".repeat(201)))).toMatchObject({ details: { field: "by" } });
  });
});

describe("delete", () => {
  it("records the reason, if given, and ends the session", () => {
    const run = Run.started(three).do({ type: "delete", reason: "made by mistake" });
    expect(run.state).toMatchObject({ status: "deleted", reason: "made by mistake" });
    expect(run.state).toMatchObject({ deletedAt: "2026-01-01T00:00:02.000Z" });
    expect(Run.started(three).do(remove).state).toEqual(expect.not.objectContaining({ reason: expect.anything() }));
  });

  it("refuses a note that is too long for the head", () => {
    const run = Run.started(three);
    expect(run.refused({ type: "delete", reason: "x".repeat(2001) })).toMatchObject({
      code: "INVALID_INPUT",
      details: { field: "note" },
    });
    run.do({ type: "delete", reason: "x".repeat(2000) });
  });
});

describe("applyEvent", () => {
  it("requires a start as the first event", () => {
    const context = { at: "2026-01-01T00:00:00.000Z", version: 1 };
    expect(() => applyEvent(undefined, { type: "paused" }, context)).toThrow("a log can't begin with 'paused'");
  });
});

describe("reading", () => {
  it("is possible for the current phase and earlier ones", () => {
    const run = Run.started(three).do(submit(1));
    expect(readingRefusal(run.state, 1, three)).toBeUndefined();
    expect(readingRefusal(run.state, 2, three)).toBeUndefined();
    expect(readingRefusal(run.state, 3, three)?.code).toBe("PHASE_LOCKED");
    expect(readingRefusal(run.state, 4, three)?.code).toBe("PHASE_OUT_OF_RANGE");
    run.do(rollback(1));
    expect(readingRefusal(run.state, 2, three)?.code).toBe("PHASE_LOCKED");
  });
});

describe("snapshots that are taken late", () => {
  const at = "2026-01-01T00:00:09.000Z";
  const snapshots = [{ verifier: "v", check: "c", takenAt: at, value: { inline: 1 } }];

  it.each(Object.entries(inStatus).filter(([status]) => status !== "deleted"))(
    "change nothing of a session that is %s but where its snapshots are",
    (_, inThis) => {
      const run = inThis();
      const context = { structure: loose, limits: run.limits, at, version: 9, snapshots };
      const taken = transition(run.state, { command: { type: "takeSnapshots" }, ...context }, context);
      expect(taken).toMatchObject({
        ok: true,
        events: [{ type: "snapshots_taken", phase: run.state.phase, snapshots }],
        head: { ...run.state, baseline: 9 },
      });
      const events = taken.ok ? taken.events : [];
      expect(events.map((event) => sessionEventSchema.parse(JSON.parse(JSON.stringify(event))))).toEqual(events);
    },
  );

  it("may be none", () => {
    const { state, limits } = Run.started(three);
    const context = { structure: three, limits, at, version: 2 };
    expect(transition(state, { command: { type: "takeSnapshots" }, ...context }, context)).toMatchObject({
      events: [{ snapshots: [] }],
    });
  });
});

describe("a task", () => {
  const note = (phase: number, task: number, text?: string) =>
    ({ type: "completeTask", phase, task, ...(text === undefined ? {} : { note: text }) }) as const;
  const tasks = [1, 2].map((number) => ({ number, name: `t${number}` }));
  const worked = structureOf([phaseOf(1, { tasks }), 2]);

  it("is noted as done in the current phase alone, and offered where there are tasks", () => {
    const run = Run.started(worked);
    expect(allowedCommands(run.state, worked)).toContain("completeTask");
    run.do(note(1, 2), note(1, 1, "half"), note(1, 1));
    expect(run.state.tasks).toEqual({ done: [[1, 2]], last: { task: 1, note: "half" } });
    expect(run.refused(note(2, 1)).code).toBe("PHASE_LOCKED");
    expect(run.refused(note(3, 1)).code).toBe("PHASE_OUT_OF_RANGE");
    expect(run.refused(note(1, 3))).toMatchObject({ code: "TASK_NOT_FOUND", remedy: "Use one of: 1, 2." });
    expect(run.refused(note(1, 1, "x".repeat(2001)))).toMatchObject({ code: "INVALID_INPUT" });
    run.do(submit(1));
    expect(run.state.tasks).toBeUndefined();
    expect(allowedCommands(run.state, worked)).not.toContain("completeTask");
    expect(run.refused(note(2, 1))).toMatchObject({
      remedy: "This phase has no tasks: its content says what to do.",
    });
  });

  it("stays noted in a migration unless its text has changed", () => {
    const by = "host";
    const [first] = worked.phases;
    const tasks = (first?.tasks ?? []).map((task) => (task.number === 1 ? { ...task, textRevision: "new" } : task));
    const moved = { ...worked, phases: worked.phases.map((phase) => (phase === first ? { ...phase, tasks } : phase)) };
    const run = Run.started(worked).do(note(1, 1, "n"), note(1, 2), { type: "migrate", structure: moved, by });
    expect(run.state.tasks).toEqual({ done: [[2, 2]], last: { note: "n" } });
  });
});

describe("a command of a host in plain JavaScript", () => {
  it.each([
    [{ type: "pause", note: 5 }, "note"],
    [{ type: "delete", reason: {} }, "reason"],
    [{ type: "retryPhase", phase: 1, resetEvidence: true, by: "bob" }, "by"],
  ])("is refused if its event could not be read again: %j", (command, field) => {
    const run = Run.started(three).do(submit(1, false));
    expect(run.ask(JSON.parse(JSON.stringify(command)))).toMatchObject({ code: "INVALID_INPUT", details: { field } });
    expect(run.state.status).toBe("active");
  });
});
