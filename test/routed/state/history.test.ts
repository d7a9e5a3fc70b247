import { describe, expect, it } from "vitest";
import { allowedNext, eventIn, type RoutedCommand, structureOf, visitsOf } from "../../../src/routed/state/events.js";
import { RoutedHistory, withReveal } from "../../../src/routed/state/history.js";
import {
  approve,
  asking,
  decide,
  deny,
  fail,
  problem,
  refuse,
  report,
  run,
  start,
  structure,
  timeOf,
  verification,
} from "./sample.js";

const { firstStep: _, ...withoutStep } = start as Extract<RoutedCommand, { type: "start" }>;

/** Returns the history of a session after some commands. */
function historyOf(...commands: readonly RoutedCommand[]): RoutedHistory {
  const history = new RoutedHistory();
  for (const version of commands.keys()) {
    const { events, head } = run(...commands.slice(0, version + 1));
    history.add({ version: version + 1, at: timeOf(version + 1), events, head });
  }
  return history;
}
const entriesOf = (...commands: readonly RoutedCommand[]) => historyOf(...commands).entries;

const reported = {
  ...{ version: 2, timestamp: timeOf(2), stepName: "dig", report: { status: "success" }, outcomeStatus: "success" },
};

describe("the history of a routed session", () => {
  it("says to whom nobody but the host has handed it over: by whom, and why", () => {
    const assign: RoutedCommand = { type: "assign", owner: { name: "bob" }, by: "otto", note: "holiday" };
    expect(entriesOf(start, assign)).toEqual([
      {
        ...{ version: 2, timestamp: timeOf(2), stepName: "dig" },
        ...{ outcomeStatus: "ASSIGNED", reason: "holiday", by: "otto" },
      },
    ]);
  });

  it("has last entries, which begin with the last question at the latest", () => {
    const suspend: RoutedCommand = { type: "suspend", reason: "lunch" };
    const release: RoutedCommand = { type: "release", operator: "otto" };
    const versions = (history: RoutedHistory, count: number) => history.last(count).map(({ version }) => version);
    const asked = historyOf(start, suspend, release, report, suspend, release);
    expect([0, 1, 3, 4, 5, 9].map((count) => versions(asked, count))).toEqual([
      ...[
        [4, 5, 6],
        [4, 5, 6],
        [4, 5, 6],
      ],
      ...[
        [3, 4, 5, 6],
        [2, 3, 4, 5, 6],
        [2, 3, 4, 5, 6],
      ],
    ]);
    const unasked = historyOf(start, suspend, release);
    expect([0, 1, 2, 9].map((count) => versions(unasked, count))).toEqual([[], [3], [2, 3], [2, 3]]);
    expect(versions(historyOf(withoutStep, suspend), 1)).toEqual([1, 2]);
  });

  it("has no entry for a start, unless the decider is asked for the first step", () => {
    expect(entriesOf(start)).toEqual([]);
    expect(entriesOf(withoutStep)).toEqual([
      { version: 1, timestamp: timeOf(1), stepName: "", outcomeStatus: "STARTED" },
    ]);
    expect(entriesOf(withoutStep, { ...decide, pending: 1 })).toMatchObject([
      { stepName: "", outcomeStatus: "STARTED", determinedNextStep: "plant" },
    ]);
    const release: RoutedCommand = { type: "release", operator: "ops" };
    expect(entriesOf(withoutStep, { type: "suspend" }, release, { ...decide, pending: 1 })).toMatchObject([
      { outcomeStatus: "STARTED", determinedNextStep: "plant" },
      { outcomeStatus: "SUSPENDED" },
      { outcomeStatus: "RESUMED" },
    ]);
  });

  it("has a report with its checks", () => {
    expect(entriesOf(start, report)).toEqual([reported]);
    const back = {
      ...report,
      operation: "resume",
      assumedStep: "plant",
      verification: [verification],
    } as RoutedCommand;
    expect(entriesOf(start, back)).toEqual([
      { ...reported, assumedStep: "plant", outcomeStatus: "RESUMING", verification: [verification] },
    ]);
    const refused = { ...refuse, report: { status: 5 }, verification: [verification] };
    expect(entriesOf(start, refused)).toEqual([
      ...[
        { ...reported, report: { status: "5" }, outcomeStatus: "5", problems: [problem], verification: [verification] },
      ],
    ]);
    expect(entriesOf(start, refuse)).toEqual([{ ...reported, problems: [problem] }]);
  });

  it("has a decision in the entry of its report", () => {
    expect(entriesOf(start, report, decide)).toEqual([
      {
        ...{ ...reported, determinedNextStep: "plant" },
        decision: { status: "active", contextUpdates: { row: 1 }, milliseconds: 12, at: timeOf(3) },
      },
    ]);
    const usage = { model: "m", inputTokens: 10, outputTokens: 20, requests: 2 };
    const [entry] = entriesOf(start, report, { ...decide, reasoning: "deep", usage, notes: ["a note"] });
    expect(entry?.decision).toMatchObject({ reasoning: "deep", usage, notes: ["a note"] });
    const [free] = entriesOf(start, report, { ...decide, usage: {} });
    expect(free?.decision?.usage).toEqual({});
  });

  it("has a person's answer in the entry of its report", () => {
    const reasonAfter = (answer: RoutedCommand) => entriesOf(start, asking, answer).map(({ reason }) => reason);
    expect(reasonAfter(approve)).toEqual(["approved by ann"]);
    expect(reasonAfter({ ...approve, note: "fine" })).toEqual(["approved by ann: fine"]);
    expect(reasonAfter(deny)).toEqual(["denied by ann: dig deeper"]);
  });

  it("has an answer in the entry of its report even if the session was suspended in between", () => {
    const release: RoutedCommand = { type: "release", operator: "ops" };
    const entries = entriesOf(start, report, { type: "suspend" }, release, { ...fail });
    expect(entries.map(({ outcomeStatus, reason }) => [outcomeStatus, reason])).toEqual([
      ["success", "no answer"],
      ["SUSPENDED", undefined],
      ["RESUMED", undefined],
    ]);
  });

  it("has the other moves with their step, their reason, and who did it for the host", () => {
    const words = { reason: "rain", operator: "ops" };
    const suspend: RoutedCommand = { type: "suspend", ...words };
    const entry = { version: 2, timestamp: timeOf(2), stepName: "dig", reason: "rain", by: "ops" };
    expect(entriesOf(start, suspend)).toEqual([{ ...entry, outcomeStatus: "SUSPENDED" }]);
    expect(entriesOf(start, { type: "delete", ...words })).toEqual([{ ...entry, outcomeStatus: "DELETED" }]);
    const { by: __, ...cancelled } = entry;
    expect(entriesOf(start, { type: "cancel", reason: "rain" })).toEqual([
      ...[{ ...cancelled, outcomeStatus: "CANCELLED" }],
    ]);
    const bare = { version: 2, timestamp: timeOf(2), stepName: "dig" };
    expect(entriesOf(start, { type: "suspend" })).toEqual([{ ...bare, outcomeStatus: "SUSPENDED" }]);
    expect(entriesOf(start, { type: "suspend" }, { type: "release", operator: "ops" })[1]).toEqual({
      ...{ ...bare, version: 3, timestamp: timeOf(3), outcomeStatus: "RESUMED", by: "ops" },
    });
    const later = { version: 3, timestamp: timeOf(3), stepName: "dig", reason: "dry", by: "ops" };
    expect(entriesOf(start, suspend, { type: "release", operator: "ops", note: "dry" })[1]).toEqual({
      ...later,
      outcomeStatus: "RESUMED",
    });
    const retry: RoutedCommand = { type: "retry", maxAttemptsTotal: 5, operator: "ops", note: "dry" };
    expect(entriesOf(start, report, fail, retry).at(-1)).toEqual({
      ...{ ...later, version: 4, timestamp: timeOf(4), outcomeStatus: "RETRIED" },
    });
  });

  it("goes on from stored entries as if it had read them itself", () => {
    const stored = entriesOf(start, report, { type: "suspend" });
    const history = new RoutedHistory(stored);
    history.add({ version: 4, at: timeOf(4), events: [{ type: "failed", code: "C", reason: "late" }], head: {} });
    expect(history.entries.map(({ reason }) => reason)).toEqual(["late", undefined]);
    const empty = new RoutedHistory();
    empty.add({ version: 2, at: timeOf(2), events: [{ type: "failed", code: "C", reason: "early" }], head: {} });
    expect(empty.entries).toEqual([]);
    empty.add({ version: 3, at: timeOf(3), events: [{ type: "suspended" }], head: {} });
    empty.add({ version: 4, at: timeOf(4), events: [{ type: "failed", code: "C", reason: "then" }], head: {} });
    expect(empty.entries).toMatchObject([{ stepName: "", outcomeStatus: "SUSPENDED", reason: "then" }]);
  });

  it("says how much of an entry an agent may see, where the gate conceals something", () => {
    const gate = structure.steps[1]?.gate;
    if (gate === undefined) throw new Error("the second step has a gate");
    const concealing = { ...structure, steps: [{ name: "dig", gate: { ...gate, reveal: "names" as const } }] };
    expect(withReveal(reported, concealing)).toEqual({ ...reported, reveal: "names" });
    expect(withReveal({ ...reported, stepName: "plant" }, structure)).not.toHaveProperty("reveal");
    expect(withReveal(reported, structure)).toEqual(reported);
    const started = { ...reported, stepName: "" };
    expect(withReveal(started, structure)).toEqual(started);
  });
});

describe("a pinned structure", () => {
  it("has the transitions and gates of its definition, and nothing else", () => {
    const { name, revision, goal, steps } = structure;
    const described = steps.map((step) => ({ ...step, content: "text" }));
    const definition = { name, revision, goal, index: "# Garden", steps: described };
    expect(structureOf(definition as never)).toEqual(structure);
    expect(structureOf({ name, revision, index: "", steps: [] } as never)).toEqual({ name, revision, steps: [] });
  });

  it("allows the steps that may follow, as long as they may be entered", () => {
    expect(allowedNext(structure, undefined, {})).toEqual(["dig", "plant", "water"]);
    expect(allowedNext(structure, "dig", { dig: 1 })).toEqual(["dig", "plant", "water", "FINISH"]);
    expect(allowedNext(structure, "dig", { dig: 2, water: 1 })).toEqual(["plant", "FINISH"]);
    expect(allowedNext(structure, "plant", { dig: 2 })).toEqual(["FINISH"]);
    expect(allowedNext(structure, "weed", {})).toEqual(["dig", "plant", "water", "FINISH"]);
  });

  it("counts visits of a step that is called like a property of every object", () => {
    expect(visitsOf("toString", {})).toBe(0);
    expect(visitsOf("dig", { dig: 2 })).toBe(2);
  });
});

it("the event of a type in a commit is found", () => {
  const { events } = run(start, report);
  expect(eventIn({ events }, "reported")).toBe(events[0]);
  expect(eventIn({ events: [{ type: "cancelled" }, ...events] }, "reported")).toBe(events[0]);
  expect(eventIn({ events }, "decided")).toBeUndefined();
});
