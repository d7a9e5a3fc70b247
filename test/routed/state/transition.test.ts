import { describe, expect, it } from "vitest";
import type { RoutedCommand, RoutedHead } from "../../../src/routed/state/events.js";
import { routedMachine } from "../../../src/routed/state/machine.js";
import { allowedOperations, decideRouted, noInstance, setsGoing } from "../../../src/routed/state/transition.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import {
  type After,
  approve,
  asking,
  decide,
  deny,
  fail,
  problem,
  refusal,
  refuse,
  report,
  run,
  snapshot,
  start,
  structure,
  timeOf,
  verification,
} from "./sample.js";

/** The head of a session that has begun with the first step. */
const begun = {
  ...{ status: "active", workflow: "garden", revision: "r1", total: 3, context: { soil: "clay" }, step: "dig" },
  ...{ visits: { dig: 1 }, attempts: 0, spent: 0, createdAt: timeOf(1) },
};
const reported = { operation: "advance", step: "dig", report: { status: "success" }, contextUpdates: { deep: true } };

describe("a start", () => {
  it("pins the structure, and enters the first step", () => {
    const { events, head } = run(start);
    expect(events).toEqual([{ type: "started", structure, context: { soil: "clay" }, firstStep: "dig" }]);
    expect(head).toEqual(begun);
  });

  it("counts the visit only of a step that limits them", () => {
    expect(run({ ...start, firstStep: "plant" } as RoutedCommand).head.visits).toEqual({});
  });

  it("asks the decider for the first step if there is none", () => {
    const { firstStep: _, ...without } = start as Extract<RoutedCommand, { type: "start" }>;
    const { events, head } = run(without);
    expect(events).toEqual([{ type: "started", structure, context: { soil: "clay" } }]);
    const { step: __, ...facts } = begun;
    const pending = { operation: "start", version: 1, digest: "d1" };
    expect(head).toEqual({ ...facts, visits: {}, pending });
    const decided = run(without, { ...decide, pending: 1, counted: true });
    expect(decided.events).toMatchObject([{ type: "decided", next: "plant" }]);
    expect(decided.events[0]).not.toHaveProperty("from");
    expect(decided.head).toMatchObject({ step: "plant", answered: { digest: "d1", version: 2 }, visits: { plant: 1 } });
  });

  it("records the snapshots of the first step", () => {
    const { events, head } = run({ ...start, snapshots: [snapshot] } as RoutedCommand);
    expect(events).toMatchObject([{ snapshots: [snapshot] }]);
    expect(head.baseline).toBe(1);
  });

  it("is refused for a session that there is, and must come first", () => {
    expect(refusal(run(start), start)).toMatchObject({
      ...{ code: "INVALID_TRANSITION", message: "a session with this id already runs garden" },
      details: { command: "start", status: "active", allowed: ["status"] },
    });
    expect(() => decideRouted(undefined, report, { at: timeOf(1), version: 1 })).toThrow("begins with a start");
  });
});

describe("a report", () => {
  it("is pending until the decider has answered", () => {
    const { events, head } = run(start, report);
    expect(events).toEqual([{ type: "reported", ...reported }]);
    const pending = { operation: "advance", version: 2, digest: "d2" };
    expect(head).toEqual({ ...begun, context: { soil: "clay", deep: true }, pending });
  });

  it("keeps what the client assumed, and what the gate found", () => {
    const more = { assumedStep: "plant", warnings: [problem], verification: [verification] };
    const { events, head } = run(start, { ...report, ...more } as RoutedCommand);
    expect(events).toEqual([{ type: "reported", ...reported, ...more }]);
    expect(head.pending).toEqual({ operation: "advance", version: 2, digest: "d2", assumedStep: "plant" });
    expect(run(start, { ...report, warnings: [] } as RoutedCommand).events[0]).not.toHaveProperty("warnings");
  });

  it("waits for a person if its gate asks for an approval", () => {
    const { events, head } = run(start, asking);
    const question = { step: "dig", prompt: "Deep enough?", approvers: ["ann"], evidenceHash: "e1" };
    expect(events).toEqual([
      { type: "reported", ...reported },
      { type: "approval_requested", ...question },
    ]);
    expect(head.pending).toMatchObject({ version: 2, awaiting: { version: 2, evidenceHash: "e1" } });
  });

  it("lets a suspended session run again, if the client came back with it", () => {
    const { head } = run(start, { type: "suspend" }, { ...report, operation: "resume" } as RoutedCommand);
    expect(head).toMatchObject({ status: "active", pending: { operation: "resume", version: 3 } });
    expect(head).not.toHaveProperty("reason");
  });

  it("needs a step", () => {
    const { firstStep: _, ...without } = start as Extract<RoutedCommand, { type: "start" }>;
    expect(() => run(without, report)).toThrow("before there is a first step");
  });
});

describe("a refused report", () => {
  const refused = { type: "gate_refused", ...reported, problems: [problem] };

  it("is an attempt", () => {
    const { events, head } = run(start, refuse);
    expect(events).toEqual([{ ...refused, attempt: 1 }]);
    expect(head).toEqual({ ...begun, attempts: 1, spent: 1 });
  });

  it("is none if it does not count", () => {
    const uncounted = { ...refuse, counted: false, maxAttempts: 1, verification: [verification] };
    const { events, head } = run(start, uncounted);
    expect(events).toEqual([{ ...refused, attempt: 1, uncounted: true, verification: [verification] }]);
    expect(head).toEqual(begun);
  });

  it("ends the instance after as many failures in a row", () => {
    const { events, head } = run(start, refuse, refuse, refuse);
    const reason = "the gate of dig was not passed in 3 attempts in a row";
    const failure = { code: "ATTEMPTS_EXHAUSTED", reason };
    expect(events).toMatchObject([{ attempt: 3 }, { type: "failed", step: "dig", ...failure }]);
    expect(head).toEqual({
      ...{ ...begun, attempts: 3, spent: 3, status: "failed", completedAt: timeOf(4), ...failure, retryable: true },
    });
    expect(run(start, refuse, refuse).head.status).toBe("active");
  });

  it("ends the instance after as many failures in total, which a client's retry does not forget", () => {
    const retry: RoutedCommand = { type: "retry", maxAttemptsTotal: 5 };
    const failed = run(start, refuse, refuse, refuse, retry, refuse, refuse);
    expect(failed.head).toMatchObject({ status: "failed", attempts: 2, spent: 5 });
    expect(failed.events.at(-1)).toMatchObject({ reason: "the gate of dig was not passed in 5 attempts in total" });
    expect(refusal(failed, retry)).toMatchObject({
      ...{ code: "INVALID_TRANSITION", details: { command: "retry", status: "failed", allowed: ["delete"] } },
      message: "the gate of dig was not passed in 5 attempts in total: there are no more",
    });
    expect(refusal(failed, { type: "retry", maxAttemptsTotal: 6 })).toBeUndefined();
    expect(refusal(failed, { ...retry, operator: "ops" })).toBeUndefined();
  });
});

describe("a person's answer", () => {
  const word = {
    ...{ step: "dig", by: "ann", evidenceHash: "e1", asked: 2, authenticated: true },
    ...{ signature: { signedAt: timeOf(7), value: "c2ln" }, keyId: "k1" },
  };

  it("leaves an approved report to the decider", () => {
    const { events, head } = run(start, asking, approve);
    expect(events).toEqual([{ type: "approved", ...word }]);
    expect(head.pending).toEqual({ operation: "advance", version: 2, digest: "d2" });
    const { signature: _, keyId: __, ...unsigned } = approve;
    expect(run(start, asking, { ...unsigned, note: "fine" }).events).toEqual([
      { type: "approved", step: "dig", by: "ann", evidenceHash: "e1", asked: 2, authenticated: true, note: "fine" },
    ]);
  });

  it("that denies is a failed attempt, and drops the report", () => {
    const { events, head } = run(start, asking, deny);
    expect(events).toEqual([{ type: "denied", ...word, note: "dig deeper" }]);
    expect(head).toEqual({ ...begun, context: { soil: "clay", deep: true }, attempts: 1, spent: 1 });
    expect(run(start, asking, { ...approve, type: "deny" }).events).toMatchObject([{ type: "denied", note: "" }]);
  });

  it("that denies may end the instance", () => {
    const { events, head } = run(start, refuse, refuse, asking, deny);
    expect(events.at(-1)).toMatchObject({ type: "failed", code: "ATTEMPTS_EXHAUSTED" });
    expect(head).toMatchObject({ status: "failed", attempts: 3 });
  });
});

describe("a decision", () => {
  it("enters the next step, and forgets the attempts and the snapshots of the last one", () => {
    const { events, head } = run({ ...start, snapshots: [snapshot] } as RoutedCommand, refuse, report, {
      ...{ ...decide, pending: 3, reasoning: "it is deep", usage: { model: "m", requests: 2 }, notes: ["a note"] },
    });
    expect(events).toEqual([
      {
        ...{ type: "decided", from: "dig", next: "plant", contextUpdates: { row: 1 }, status: "active" },
        ...{ milliseconds: 12, reasoning: "it is deep", usage: { model: "m", requests: 2 }, notes: ["a note"] },
      },
    ]);
    const answered = { digest: "d2", version: 4 };
    expect(head).toEqual({ ...begun, step: "plant", context: { soil: "clay", row: 1 }, answered });
  });

  it("records the snapshots of the step that is entered, and keeps those of a step that goes on", () => {
    const first = { ...start, snapshots: [snapshot] } as RoutedCommand;
    const entered = run(first, report, { ...decide, snapshots: [snapshot] });
    expect(entered.events[0]).toMatchObject({ snapshots: [snapshot] });
    expect(entered.head.baseline).toBe(3);
    expect(run(first, report, { ...decide, next: "dig", stays: true }).head.baseline).toBe(1);
  });

  it("is remembered for a report that is repeated, whatever happens then", () => {
    const answered = { digest: "d2", version: 3 };
    const suspended = run(start, report, decide, { type: "suspend" });
    expect(suspended.head.answered).toEqual(answered);
    expect(run(start, report, decide, { ...report, digest: "d4" } as RoutedCommand).head).toMatchObject({ answered });
  });

  it("counts visits", () => {
    const decided = run(start, report, { ...decide, next: "dig", counted: true });
    expect(decided.head.visits).toEqual({ dig: 2 });
    expect(decided.events[0]).not.toHaveProperty("notes");
  });

  it("may complete the work, end it as failed, or suspend it", () => {
    const end = (status: "completed" | "failed" | "paused", reasoning?: string) =>
      run(start, report, { ...decide, next: "FINISH", status, ...(reasoning === undefined ? {} : { reasoning }) }).head;
    expect(end("completed")).toMatchObject({ status: "completed", step: "FINISH", completedAt: timeOf(3) });
    expect(end("failed", "frost")).toMatchObject({
      ...{ status: "failed", step: "dig", completedAt: timeOf(3), code: "DECIDED", reason: "frost", retryable: true },
    });
    expect(end("failed")).toMatchObject({ reason: "the decider said that it has failed" });
    expect(end("paused", "rain")).toMatchObject({ status: "paused", step: "dig", reason: "rain" });
    expect(end("paused")).toMatchObject({ reason: "the decider said that it has to wait" });
  });

  it("and its failure are refused if the question was answered or withdrawn meanwhile", () => {
    const asked = run(start, report);
    const details = {
      command: "advance",
      status: "active",
      allowed: ["advance", "resume", "suspend", "cancel", "delete"],
    };
    for (const command of [decide, fail]) {
      expect(refusal(asked, command)).toBeUndefined();
      expect(refusal(run(start), command)).toMatchObject({ code: "INVALID_TRANSITION", details });
      expect(refusal(asked, { ...command, pending: 1 })).toMatchObject({ code: "INVALID_TRANSITION", details });
      expect(refusal(run(start, report, { type: "suspend" }), command)).toMatchObject({
        message: "somebody else has decided this step meanwhile",
      });
    }
  });

  it("that fails ends the instance, and can be retried", () => {
    const { events, head } = run(start, report, fail);
    const failure = { code: "DECIDER_FAILED", reason: "no answer" };
    expect(events).toEqual([{ type: "failed", step: "dig", ...failure, milliseconds: 9 }]);
    expect(head).toMatchObject({ status: "failed", ...failure, completedAt: timeOf(3), retryable: true });
    const { milliseconds: _, ...early } = fail;
    expect(run(start, report, early).events[0]).not.toHaveProperty("milliseconds");
    const { firstStep: __, ...without } = start as Extract<RoutedCommand, { type: "start" }>;
    expect(run(without, { ...fail, pending: 1 }).events[0]).not.toHaveProperty("step");
  });
});

describe("a move without a decision", () => {
  it("suspends and releases", () => {
    const suspended = run(start, report, { type: "suspend", reason: "rain", operator: "ops" });
    expect(suspended.events).toEqual([{ type: "suspended", reason: "rain", operator: "ops" }]);
    expect(suspended.head).toMatchObject({ status: "paused", reason: "rain", pending: { version: 2 } });
    expect(run(start, { type: "suspend" }).events).toEqual([{ type: "suspended" }]);
    const released = run(start, { type: "suspend", reason: "rain" }, { type: "release", operator: "ops", note: "dry" });
    expect(released.events).toEqual([{ type: "released", operator: "ops", note: "dry" }]);
    expect(released.head).toEqual(begun);
  });

  it("retries, and grants all attempts again if the host asks for it", () => {
    const failed = [start, refuse, refuse, refuse];
    const byClient = run(...failed, { type: "retry", maxAttemptsTotal: 5, snapshots: [snapshot] });
    expect(byClient.events).toEqual([{ type: "retried", snapshots: [snapshot] }]);
    expect(byClient.head).toEqual({ ...begun, spent: 3, baseline: 5 });
    const byHost = run(...failed, { type: "retry", maxAttemptsTotal: 5, operator: "ops", note: "seen" });
    expect(byHost.events).toEqual([{ type: "retried", operator: "ops", note: "seen" }]);
    expect(byHost.head).toEqual(begun);
  });

  it("cancels and deletes for good", () => {
    const cancelled = run(start, { type: "cancel", reason: "winter" });
    expect(cancelled.events).toEqual([{ type: "cancelled", reason: "winter" }]);
    const end = { status: "failed", completedAt: timeOf(2), code: "CANCELLED", retryable: false };
    expect(cancelled.head).toEqual({ ...begun, ...end, reason: "cancelled: winter" });
    expect(run(start, { type: "cancel" }).head).toMatchObject({ reason: "cancelled" });
    const deleted = run(start, { type: "delete", reason: "done", operator: "ops" });
    expect(deleted.events).toEqual([{ type: "deleted", reason: "done", operator: "ops" }]);
    expect(deleted.head).toEqual({ ...begun, status: "deleted", reason: "done" });
  });
});

describe("which commands a session takes", () => {
  const suspended = run(start, { type: "suspend" });
  const states: Readonly<Record<string, After>> = {
    running: run(start),
    asking: run(start, asking),
    suspended,
    "suspended while it asks": run(start, asking, { type: "suspend" }),
    failed: run(start, report, fail),
    cancelled: run(start, { type: "cancel" }),
    completed: run(start, report, { ...decide, next: "FINISH", status: "completed" }),
    deleted: run(start, { type: "delete" }),
  };
  const commands = {
    advance: report,
    resume: { ...report, operation: "resume" },
    refused: refuse,
    "refused on resume": { ...refuse, operation: "resume" },
    approve,
    deny,
    suspend: { type: "suspend" },
    cancel: { type: "cancel" },
    retry: { type: "retry", maxAttemptsTotal: 5 },
    release: { type: "release", operator: "ops" },
    delete: { type: "delete" },
  } as Readonly<Record<string, RoutedCommand>>;
  const taken = {
    running: ["advance", "resume", "refused", "refused on resume", "suspend", "cancel", "delete"],
    asking: ["advance", "resume", "refused", "refused on resume", "approve", "deny", "suspend", "cancel", "delete"],
    suspended: ["resume", "refused on resume", "cancel", "release", "delete"],
    "suspended while it asks": ["resume", "refused on resume", "cancel", "release", "delete"],
    failed: ["retry", "delete"],
    cancelled: ["delete"],
    completed: ["delete"],
    deleted: [],
  };
  const goesOn = ["resume", "refused on resume", "release"];
  const goes = { suspended: goesOn, "suspended while it asks": goesOn, failed: ["retry"] };
  for (const [name, state] of Object.entries(states)) {
    it(`${name}`, () => {
      const names = Object.keys(commands).filter((command) => refusal(state, commands[command] ?? start) === undefined);
      expect(names).toEqual(taken[name as keyof typeof taken]);
      const going = Object.keys(commands).filter((command) => setsGoing(state.head, commands[command] ?? start));
      expect(going).toEqual(goes[name as keyof typeof goes] ?? []);
      expect(setsGoing(state.head, start)).toBe(false);
    });
  }

  it("and which operations its refusals name", () => {
    expect(Object.values(states).map(({ head }) => allowedOperations(head))).toEqual([
      ["advance", "resume", "suspend", "cancel", "delete"],
      ["advance", "approve", "deny", "resume", "suspend", "cancel", "delete"],
      ["resume", "cancel", "delete"],
      ["resume", "cancel", "delete"],
      ["retry", "delete"],
      ["delete"],
      ["delete"],
      [],
    ]);
    const refused = (name: string, command: RoutedCommand) => refusal(states[name] ?? suspended, command);
    expect(refused("failed", report)).toMatchObject({
      ...{ code: "INVALID_TRANSITION", message: "advance is not possible: the workflow is FAILED (no answer)" },
      ...{
        remedy: "Possible now: retry, delete.",
        details: { command: "advance", status: "failed", allowed: ["retry", "delete"] },
      },
    });
    expect(refused("suspended", report)).toMatchObject({
      message: "advance is not possible: the workflow is SUSPENDED",
    });
    expect(refused("completed", report)).toMatchObject({ remedy: "It is over: start a new instance for more." });
    for (const command of ["approve", "deny", "suspend", "cancel", "retry", "delete"]) {
      expect(refused("deleted", commands[command] ?? start)).toMatchObject({ details: { command } });
    }
    for (const command of ["resume", "refused on resume", "release"]) {
      expect(refused("deleted", commands[command] ?? start)).toMatchObject({ details: { command: "resume" } });
    }
  });

  it("a suspended question for the first step is asked again by a client's retry, not by the host's", () => {
    const { firstStep: _, ...without } = start as Extract<RoutedCommand, { type: "start" }>;
    const waiting = run(without, { type: "suspend" });
    expect(refusal(waiting, { type: "retry", maxAttemptsTotal: 5 })).toBeUndefined();
    expect(refusal(waiting, { type: "retry", maxAttemptsTotal: 5, operator: "ops" })).toBeDefined();
    expect(refusal(run(without, { type: "cancel" }), { type: "retry", maxAttemptsTotal: 5 })).toBeDefined();
  });
});

describe("a call with the report that is recorded already", () => {
  const again: RoutedCommand = { type: "continue", operation: "advance", of: 2 };
  const finish: RoutedCommand = { ...decide, next: "FINISH", status: "completed" };

  it("is recorded, and changes nothing", () => {
    const { events, head } = run(start, report, again);
    expect(events).toEqual([{ type: "continued", operation: "advance", of: 2 }]);
    expect(head).toEqual(run(start, report).head);
  });

  it("is recorded in each status but the end", () => {
    for (const before of [[report, fail], [{ type: "suspend" }]] as const) {
      expect(refusal(run(start, ...before), again)).toBeUndefined();
    }
    expect(refusal(run(start, report, finish), again)).toMatchObject({ details: { command: "advance" } });
  });
});

describe("the owner of a session", () => {
  const ann = { name: "ann" };
  const given: RoutedCommand = { type: "assign", owner: { name: "bob" }, by: "host", note: "holiday" };

  it("is recorded at the start, kept by every event, and in the summary", () => {
    const { events, head } = run({ ...start, owner: ann } as RoutedCommand, report, decide);
    expect(run({ ...start, owner: ann } as RoutedCommand).events).toMatchObject([{ type: "started", owner: ann }]);
    expect(events).toHaveLength(1);
    expect(head.owner).toEqual(ann);
    expect(routedMachine.summarize(head)).toMatchObject({ owner: "ann" });
    expect(routedMachine.summarize(run(start).head)).not.toHaveProperty("owner");
  });

  it("is another one after the session was handed over, until it is deleted", () => {
    const { events, head } = run({ ...start, owner: ann } as RoutedCommand, given);
    expect(events).toEqual([{ type: "assigned", owner: { name: "bob" }, by: "host", note: "holiday" }]);
    expect(head).toMatchObject({ status: "active", step: "dig", owner: { name: "bob" } });
    const { note: _, ...silent } = given;
    expect(run(start, silent as RoutedCommand).events[0]).not.toHaveProperty("note");
    expect(refusal(run(start, { type: "delete" }), given)).toMatchObject({ details: { status: "deleted" } });
  });
});

it("a session that is not there is named", () => {
  expect(noInstance(parseSessionId("garden-1"))).toMatchObject({
    code: "SESSION_NOT_FOUND",
    details: { sessionId: "garden-1" },
  });
});

describe("the machine", () => {
  const summaries: readonly [RoutedHead, object][] = [
    [run(start).head, { status: "active", current: "dig" }],
    [run(start, { type: "suspend" }).head, { status: "paused" }],
    [run(start, report, fail).head, { status: "failed", completedAt: timeOf(3) }],
    [
      run(start, report, { ...decide, next: "FINISH", status: "completed" }).head,
      { status: "completed", current: "FINISH" },
    ],
    [run(start, { type: "delete" }).head, { status: "deleted" }],
  ];

  it("summarizes a session for lists", () => {
    expect(routedMachine.kind).toBe("routed");
    for (const [head, summary] of summaries) {
      expect(routedMachine.summarize(head)).toMatchObject({ workflowType: "garden", target: "", total: 3, ...summary });
    }
    expect(routedMachine.summarize(run(start).head).completedAt).toBeUndefined();
    const { firstStep: _, ...without } = start as Extract<RoutedCommand, { type: "start" }>;
    expect(routedMachine.summarize(run(without).head)).toMatchObject({ current: "", createdAt: timeOf(1) });
  });

  it("finds the payloads of snapshots", () => {
    const taken = [
      snapshot,
      { ...snapshot, value: { payload: "p1", characters: 3, names: ["a"] } },
      { verifier: "files", check: "c2", failed: "no" },
    ];
    const payloads = (command: RoutedCommand) =>
      run(start, command).events.flatMap((event) => routedMachine.payloadsOf(event));
    expect(run({ ...start, snapshots: taken } as RoutedCommand).events.flatMap(routedMachine.payloadsOf)).toEqual([
      "p1",
    ]);
    expect(payloads(report)).toEqual([]);
    expect(run(start).events.flatMap(routedMachine.payloadsOf)).toEqual([]);
  });

  it("refuses events and heads that it does not write", () => {
    const { events, head } = run(start, asking);
    expect(() => routedMachine.parse(events, { ...head, status: "PAUSED" })).toThrow();
    expect(() => routedMachine.parse(events, { ...head, total: 0 })).toThrow();
    expect(() => routedMachine.parse(events, { ...head, spent: -1 })).toThrow();
    expect(() => routedMachine.parse([{ type: "begun" }], head)).toThrow();
    expect(() => routedMachine.parse([{ ...events[0], operation: "start" }], head)).toThrow();
    const [started] = run(start).events;
    const without = { ...started, structure: { ...structure, steps: [] } };
    expect(() => routedMachine.parse([without], head)).toThrow();
  });
});
