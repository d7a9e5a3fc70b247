import { describe, expect, it } from "vitest";
import {
  addToTally,
  type SessionTally,
  sessionTallySchema,
  type TalliedCommit,
  talliedEventsSchema,
  talliedHeadSchema,
} from "../../../src/phased/state/tally.js";
import { parseSessionId } from "../../../src/workflow/names.js";

const sessionId = parseSessionId("w_a_ts_20260101_000000");
const START = Date.parse("2026-01-01T00:00:00.000Z");
const timeOf = (version: number) => new Date(START + version * 1000).toISOString();
type Events = readonly unknown[];

type Head = Partial<TalliedCommit["head"]>;
/** Returns the tally of a session's commits, one second apart, as they are read from storage. */
function tallied(commits: readonly Events[], head: Head | ((version: number) => Head) = {}): SessionTally | undefined {
  let tally: SessionTally | undefined;
  let phase = 1;
  for (const [index, commit] of commits.entries()) {
    const version = index + 1;
    const events = talliedEventsSchema.parse(commit);
    for (const event of events) if (event.type === "phase_entered") phase = event.phase;
    const whole = { status: "active", workflowType: "w", target: "a.ts", phase, createdAt: timeOf(1) };
    tally = addToTally(tally, {
      ...{ sessionId, version, hash: `h${version}`, at: timeOf(version) },
      head: talliedHeadSchema.parse({ ...whole, ...(typeof head === "function" ? head(version) : head) }),
      events,
    });
  }
  return tally === undefined ? undefined : sessionTallySchema.parse(JSON.parse(JSON.stringify(tally)));
}

const started = {
  type: "started",
  structure: {
    phases: [
      { number: 1, name: "Plan" },
      { number: 2, name: "From the plan", plan: {} },
    ],
  },
};
const entered = (phase: number) => ({ type: "phase_entered", phase });
const failed = (...fields: string[]) => ({
  type: "gate_failed",
  phase: 1,
  problems: fields.map((field) => ({ field })),
});
const passed = (phase: number, waived?: unknown) => ({
  type: "gate_passed",
  phase,
  ...(waived === undefined ? {} : { waived }),
});
const begun = [started, entered(1)];

describe("the tally of a session", () => {
  it("has its place, and the phases of its workflow without those of a plan", () => {
    expect(tallied([begun])).toEqual({
      ...{ sessionId, version: 1, hash: "h1", workflowType: "w", status: "active", phase: 1 },
      ...{ since: timeOf(1), pinnedAt: timeOf(1), names: [[1, "Plan"]], phases: [] },
    });
    const draft = { phases: [{ number: 1, name: "Draft" }] };
    const migrated = tallied([begun, [{ type: "migrated", structure: draft, position: 0 }]]);
    expect(migrated).toMatchObject({ version: 2, hash: "h2", pinnedAt: timeOf(2), names: [[1, "Draft"]] });
    const synced = tallied([begun, [{ type: "plan_synced", structure: { phases: [] } }]]);
    expect(synced).toMatchObject({ pinnedAt: timeOf(2), names: [] });
    for (const status of ["active", "paused", "completed", "failed"] as const) {
      const last = { status, phase: 2, workflowType: "other" };
      expect(tallied([begun, []], last)).toMatchObject(last);
    }
  });

  it("moves the counts of phases to their new numbers, and drops those of phases that are gone", () => {
    const before = { phases: [1, 2, 3, 4].map((number) => ({ number, name: `P${number}` })) };
    const work = [
      { ...started, structure: before },
      entered(1),
      passed(1),
      entered(2),
      passed(2),
      entered(3),
      passed(3),
    ];
    const named = (...names: string[]) => ({ phases: names.map((name, index) => ({ number: index + 1, name })) });
    const moved = (names: string[], places: number[][]) =>
      tallied([[...work, entered(4)], [{ type: "migrated", structure: named(...names), position: 0, places }]], {
        phase: 4,
      })?.phases;
    // The first stays done under another number, the second is gone, and the third is to be done again.
    expect(moved(["N", "P1", "P3", "P4"], [[0, 1]])).toMatchObject([
      { phase: 2, state: "completed" },
      { phase: 3, passed: 1 },
      { phase: 4 },
    ]);
    expect(moved(["N", "P1", "P3", "P4"], [[0, 1]])?.[1]).not.toHaveProperty("state");
    expect(moved(["P4", "P1"], [[3, 0]])).toMatchObject([{ phase: 2, passed: 1 }, { phase: 1 }]);
    const paused = [
      { type: "paused" },
      { type: "migrated", structure: named("P4", "P1"), position: 0, places: [[3, 0]] },
    ];
    expect(tallied([[...work, entered(4)], paused], { phase: 4 })).not.toHaveProperty("since");
    expect(moved(["P1"], [[9, 9]])).toMatchObject([{ phase: 1, passed: 1 }]);
  });

  it("goes on with the time of its phase if a migration skips one before it", () => {
    const phases = (...names: string[]) => ({ phases: names.map((name, index) => ({ number: index + 1, name })) });
    const places = [
      [0, 0],
      [1, 2],
    ];
    const migrated = { type: "migrated", structure: phases("A", "N", "B"), position: 2, places };
    const commits = [
      [{ ...started, structure: phases("A", "B") }, entered(1)],
      [passed(1), entered(2)],
      [migrated, { type: "phase_skipped", phase: 2 }],
    ];
    const phaseAt = (version: number) => ({ phase: Math.min(version, 3) });
    expect(tallied(commits, phaseAt)).toMatchObject({ phase: 3, since: timeOf(3) });
    expect(tallied([...commits, [], [{ type: "paused" }]], phaseAt)?.phases).toEqual([
      { phase: 1, spent: 1000, state: "completed", passed: 1 },
      { phase: 3, spent: 3000 },
      { phase: 2, spent: 0, state: "skipped" },
    ]);
  });

  it("gives a phase that is to be done again no number of a phase that stays done under the same name", () => {
    const phases = [1, 2].map((number) => ({ number, name: "Fix" }));
    const commits = [
      [{ ...started, structure: { phases } }, entered(1)],
      [passed(1), entered(2)],
      [{ type: "migrated", structure: { phases }, position: 1, places: [[0, 0]] }, entered(2)],
    ];
    expect(tallied(commits)?.phases).toEqual([
      { phase: 1, spent: 1000, state: "completed", passed: 1 },
      { phase: 2, spent: 1000 },
    ]);
  });

  it("finds phases that were rolled back by their names if a migration leaves the session in its place", () => {
    const phases = (...names: string[]) => ({ phases: names.map((name, index) => ({ number: index + 1, name })) });
    const commits = [
      [{ ...started, structure: phases("A", "B", "C") }, entered(1)],
      [passed(1), entered(2)],
      [passed(2), entered(3)],
      [{ type: "rolled_back", to: 1 }, entered(1)],
      [{ type: "migrated", structure: phases("A", "N", "B"), position: 0 }],
      [],
    ];
    expect(tallied([...commits, [{ type: "paused" }]])?.phases).toEqual([
      { phase: 1, spent: 4000, passed: 1 },
      { phase: 3, spent: 1000, passed: 1 },
    ]);
  });

  it("leaves the phases of a plan their numbers in a migration that has the same static ones", () => {
    const structure = { phases: [...started.structure.phases, { number: 3, name: "Next", plan: {} }] };
    const commits = [
      [{ ...started, structure }, entered(1)],
      [passed(1), entered(2)],
      [passed(2), entered(3)],
      [{ type: "rolled_back", to: 2 }, entered(2)],
      [{ type: "migrated", structure, position: 1 }],
    ];
    const numbers = (some: SessionTally | undefined) => some?.phases.map(({ phase }) => phase);
    expect(numbers(tallied(commits))).toEqual([1, 2, 3]);
    const [first = { number: 1, name: "" }, ...others] = structure.phases;
    const shifted = [first, { number: 2, name: "More" }, ...others.map((one) => ({ ...one, number: one.number + 1 }))];
    const later = [
      ...[...commits.slice(0, -2), [{ type: "rolled_back", to: 1 }, entered(1)]],
      [{ type: "migrated", structure: { phases: shifted }, position: 0 }],
    ];
    // Which of these the plan's phases were is not known any more.
    expect(numbers(tallied(later))).toEqual([1]);
  });

  it("says whether the session was started for a phase of another one", () => {
    const child = { ...started, parent: { sessionId: "w_b_ts_20260101_000000", phase: 1 } };
    expect(tallied([[child, entered(1)]])).toMatchObject({ child: true });
    expect(tallied([begun])).not.toHaveProperty("child");
  });

  it("ends with the deletion of its session", () => {
    expect(tallied([begun, [{ type: "deleted" }]], { status: "deleted" })).toBeUndefined();
  });

  it("counts the time in which the session was active at a phase", () => {
    const ends = [
      ...[{ type: "paused" }, { type: "failed" }, { type: "rolled_back", to: 1 }],
      ...[passed(1), { type: "gate_overridden", phase: 1 }, { type: "phase_skipped", phase: 1 }],
    ];
    for (const end of ends) {
      const tally = tallied([begun, [], [end], [end]]);
      expect(tally?.phases, end.type).toMatchObject([{ phase: 1, spent: 2000 }]);
      expect(tally).not.toHaveProperty("since");
    }
    for (const again of ["resumed", "retried"]) {
      const tally = tallied([
        begun,
        [{ type: "paused" }],
        [],
        [{ type: again }],
        [{ type: again }],
        [{ type: "paused" }],
      ]);
      expect(tally?.phases, again).toEqual([{ phase: 1, spent: 3000 }]);
    }
    expect(tallied([begun, [], [passed(1), entered(2)], [], [passed(2)]])?.phases).toMatchObject([
      ...[
        { phase: 1, spent: 2000 },
        { phase: 2, spent: 2000 },
      ],
    ]);
  });

  it("does not count time that a clock was set back", () => {
    const head = { status: "active", workflowType: "w", target: "a.ts", phase: 1, createdAt: timeOf(1) } as const;
    const at = (version: number, time: number, type: string) => ({
      ...{
        sessionId,
        version,
        hash: "h",
        at: timeOf(time),
        head,
        events: talliedEventsSchema.parse([{ type, phase: 1 }]),
      },
    });
    const tally = addToTally(addToTally(undefined, at(1, 5, "phase_entered")), at(2, 3, "paused"));
    expect(tally?.phases).toEqual([]);
    expect(tally).not.toHaveProperty("since");
    const atOnce = addToTally(addToTally(undefined, at(1, 5, "phase_entered")), at(2, 5, "paused"));
    expect(atOnce?.phases).toEqual([]);
  });

  it("sums up what the host has noted on submissions, of failed and passed attempts", () => {
    const failedAt = (cost: number) => ({ ...failed(), noted: { cost, model: "small" } });
    const passedAt = { ...passed(1), noted: { cost: 4, tokens: 7 } };
    expect(tallied([begun, [failedAt(1)], [failedAt(2)], [passedAt]])?.phases).toMatchObject([
      { phase: 1, noted: { cost: 7, tokens: 7 } },
    ]);
    expect(tallied([begun, [failed()], [passed(1)]])?.phases[0]).not.toHaveProperty("noted");
  });

  it("has what became of a phase, until it is rolled back", () => {
    expect(tallied([begun, [passed(1)]])?.phases).toEqual([{ phase: 1, spent: 1000, state: "completed", passed: 1 }]);
    const overridden = { phase: 1, spent: 1000, state: "completed", overridden: 1 };
    expect(tallied([begun, [{ type: "gate_overridden", phase: 1 }]])?.phases).toEqual([overridden]);
    const skipped = { phase: 1, spent: 1000, state: "skipped" };
    expect(tallied([begun, [{ type: "phase_skipped", phase: 1 }]])?.phases).toEqual([skipped]);
    const back = tallied([begun, [passed(1), entered(2)], [passed(2), entered(3)], [{ type: "rolled_back", to: 2 }]]);
    expect(back?.phases).toMatchObject([{ phase: 1, state: "completed" }, { phase: 2, passed: 1 }, { phase: 3 }]);
    expect(back?.phases[1]).not.toHaveProperty("state");
  });

  it("counts what happened at a phase", () => {
    const counted = {
      ...{ denied: "denied", step_refused: "refusedSteps", waiver_requested: "waiversRequested" },
      ...{ waiver_granted: "waiversGranted", waiver_denied: "waiversDenied" },
    };
    for (const [type, name] of Object.entries(counted)) {
      expect(tallied([[{ type, phase: 2 }], [{ type, phase: 2 }]])?.phases).toEqual([
        { phase: 2, spent: 0, [name]: 2 },
      ]);
    }
    for (const type of [
      "approval_requested",
      "approved",
      "plan_ticked",
      "snapshots_taken",
      "task_completed",
      "task_given_up",
      "assigned",
      "child_claimed",
      "completed",
    ]) {
      expect(tallied([[{ type }]])?.phases).toEqual([]);
    }
  });

  it("counts why gates refused, each field once for an attempt, and items without their numbers", () => {
    expect(tallied([[failed("a", "a", "b")], [failed("a")]])?.phases).toEqual([
      {
        phase: 1,
        spent: 0,
        failed: 2,
        fields: [
          ["a", 2, 0],
          ["b", 1, 0],
        ],
      },
    ]);
    const long = `${"x".repeat(100)}y`;
    expect(tallied([[failed("items.12", "items.3.name", "a.b12", "12", long)]])?.phases[0]?.fields).toEqual([
      ...[
        ["items.*", 1, 0],
        ["items.*.name", 1, 0],
        ["a.b12", 1, 0],
        ["12", 1, 0],
        ["x".repeat(100), 1, 0],
      ],
    ]);
  });

  it("counts with what gates were passed waived", () => {
    const waived = [{ fields: ["a", "b"] }, { fields: ["a"] }];
    expect(tallied([[failed("a")], [passed(1, waived)]])?.phases).toMatchObject([
      ...[
        {
          passed: 1,
          failed: 1,
          fields: [
            ["a", 1, 1],
            ["b", 0, 1],
          ],
        },
      ],
    ]);
  });

  it("tells at most 50 fields of a phase apart, and those that are waived", () => {
    const names = Array.from({ length: 51 }, (_, index) => `f${index}`);
    const fields = tallied([[failed(...names)], [failed("f0", "f50")], [passed(1, [{ fields: ["f50"] }])]])?.phases[0]
      ?.fields;
    expect(fields).toHaveLength(51);
    expect([fields?.[0], fields?.[49], fields?.[50]]).toEqual([
      ["f0", 2, 0],
      ["f49", 1, 0],
      ["f50", 0, 1],
    ]);
  });
});

it("a stored tally is refused if it is none", () => {
  const tally = tallied([begun, [passed(1)]]);
  expect(sessionTallySchema.safeParse({ ...tally, unapproved: true }).success).toBe(true);
  const wrong = [{ version: 0 }, { sessionId: "?" }, { status: "deleted" }, { unapproved: false }, { names: [[1]] }];
  for (const parts of [
    ...wrong,
    { phases: [{ phase: 1, spent: -1 }] },
    { phases: [{ phase: 1, spent: 0, failed: 0 }] },
  ]) {
    expect(sessionTallySchema.safeParse({ ...tally, ...parts }).success, JSON.stringify(parts)).toBe(false);
  }
  expect(() => talliedEventsSchema.parse([{ type: "phase_entered" }])).toThrow();
  expect(() => talliedHeadSchema.parse({ status: "none" })).toThrow();
});
