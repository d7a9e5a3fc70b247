import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Actor,
  allowedCommands,
  isWaiverOpen,
  rollbackTargets,
  type SessionCommand,
} from "../../../src/phased/state/commands.js";
import { sessionEventSchema } from "../../../src/phased/state/events.js";
import { applyEvent, type SessionHead, sessionHeadSchema } from "../../../src/phased/state/head.js";
import { artifacts, type PhaseAttempt, phaseHistory, type RecordedEvent } from "../../../src/phased/state/history.js";
import { inRanges, type Ranges } from "../../../src/phased/state/ranges.js";
import type { PhaseDefinition, WorkflowStructure } from "../../../src/workflow/structure.js";
import { howOften } from "../../support/how-often.js";
import { HASH, Model } from "./model.js";
import { asking, granted, phaseOf, Run, structureOf, submit, waiver, waiverWord, word } from "./run.js";

const RUNS = howOften(50, 3_000);
/** The kinds of commands of which many must succeed, and many be refused. */
const COMMON = [
  "completePhase",
  "approve",
  "deny",
  "retryPhase",
  "rollback",
  "overrideGate",
  "skipPhase",
  "pause",
  "resume",
  "migrate",
];
/** Number of commands that a finished session still gets. */
const AFTER_END = 5;
/** Largest size of a head of six phases, in characters of JSON, for a log of any length. */
const HEAD_MAX = 900;

const phase = fc.record({
  number: fc.nat({ max: 9 }),
  skippable: fc.boolean(),
  allowOverride: fc.boolean(),
  asks: fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const several = (minLength: number) =>
  fc.uniqueArray(phase, { minLength, maxLength: 6, selector: ({ number }) => number });
const phases = fc
  .oneof({ weight: 1, arbitrary: several(1) }, { weight: 4, arbitrary: several(4) })
  .map((drafts): PhaseDefinition[] =>
    drafts
      .sort((one, other) => one.number - other.number)
      .map(({ number, skippable, allowOverride, asks }) =>
        phaseOf(number, { skippable, gate: asks ? asking(allowOverride) : { kind: "open", allowOverride } }),
      ),
  );

const structures = fc.tuple(phases, fc.nat({ max: 12 })).map(([drawn, start]) => {
  const startPhase = drawn[start < drawn.length ? start : 0]?.number ?? 0;
  return structureOf(drawn, { startPhase });
});

const limits = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 4 }),
  maxAttemptsTotal: fc.integer({ min: 1, max: 7 }),
});

const TYPES = [
  "pass",
  "fail",
  "approve",
  "deny",
  "retryPhase",
  "rollback",
  "overrideGate",
  "skipPhase",
  "requestWaiver",
  "waive",
  "denyWaiver",
  "pause",
  "resume",
  "migrate",
  "start",
] as const;
type Type = (typeof TYPES)[number];

/** Useful commands in each state, weighted by repetition. */
const USEFUL: Readonly<Record<string, readonly Type[]>> = {
  active: [
    "pass",
    "pass",
    "pass",
    "fail",
    "fail",
    "fail",
    "retryPhase",
    "rollback",
    "pause",
    "overrideGate",
    "skipPhase",
    "migrate",
    "requestWaiver",
    "requestWaiver",
    "requestWaiver",
  ],
  asking: ["waive", "waive", "waive", "denyWaiver", "pass", "fail", "pause", "rollback", "migrate", "requestWaiver"],
  last: [
    "pass",
    "fail",
    "fail",
    "fail",
    "fail",
    "rollback",
    "rollback",
    "rollback",
    "retryPhase",
    "pause",
    "migrate",
    "requestWaiver",
  ],
  waiting: [
    "approve",
    "approve",
    "approve",
    "deny",
    "deny",
    "pass",
    "fail",
    "pause",
    "rollback",
    "retryPhase",
    "skipPhase",
  ],
  paused: ["resume", "resume", "resume", "resume", "migrate"],
  failed: [
    "retryPhase",
    "retryPhase",
    "retryPhase",
    "rollback",
    "rollback",
    "overrideGate",
    "skipPhase",
    "migrate",
    "requestWaiver",
    "waive",
  ],
};

/** A command before the state of the session is known: useful in most cases, else any command at any phase. */
const drafts = fc.record({
  wild: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  choice: fc.nat({ max: 999 }),
  /** Offset from the current phase, if the command is wild; distance of a rollback. */
  aim: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: -3, max: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(99, 0.5) },
  ),
  by: fc.constantFrom<Actor[]>("agent", "host"),
  resetEvidence: fc.boolean(),
  change: fc.nat({ max: 8 }),
});
type Draft = typeof drafts extends fc.Arbitrary<infer T> ? T : never;

/** The start is usually the first command, and some sessions are deleted half-way. */
const sequences = fc.tuple(
  fc.oneof({ weight: 15, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  fc.array(drafts, { minLength: 1, maxLength: 58, size: "max" }),
  fc.option(fc.nat({ max: 58 }), { freq: 4 }),
);

function commandFor(draft: Draft, model: Model, run: Run): SessionCommand {
  const type = typeOf(draft, model);
  const phase = aimed(draft.wild ? draft.aim : type === "rollback" ? -1 - (draft.choice % 3) : 0, model);
  switch (type) {
    case "pass":
      return { ...submit(phase), waived: granted(run.head) };
    case "fail":
      return submit(phase, false);
    case "approve":
    case "deny":
      return word(run, type, draft.wild && draft.change > 3 ? "other" : HASH);
    case "retryPhase":
      return { type, phase, resetEvidence: draft.resetEvidence, by: draft.by };
    case "rollback":
      return { type, to: phase, by: draft.by };
    case "overrideGate":
    case "skipPhase":
      return { type, phase, by: "ann", reason: "because" };
    case "migrate":
      return migration(draft, model);
    case "start":
      return { type, target: "src/a.ts", options: {} };
    case "requestWaiver":
      return waiver(phase, draft.wild && draft.change > 3 ? [] : ["tests"]);
    case "waive":
    case "denyWaiver":
      return waiverWord(run, type);
    case "pause":
    case "resume":
      return { type };
  }
}

function typeOf({ wild, choice }: Draft, { status, phase, structure, waits, asksWaiver }: Model): Type {
  const isLast = status === "active" && phase === structure.phases.at(-1)?.number;
  const isAsking = status === "active" && asksWaiver;
  const where = status === "active" && waits ? "waiting" : isAsking ? "asking" : isLast ? "last" : status;
  const types = wild ? TYPES : (USEFUL[where] ?? TYPES);
  return types[choice % types.length] ?? "start";
}

function aimed(aim: number, { structure, phase }: Model): number {
  const place = structure.phases.findIndex(({ number }) => number === phase);
  return structure.phases[place + aim]?.number ?? (aim === 0 ? phase : aim + 50);
}

/** Returns the structure after an author's change. */
function changed(structure: WorkflowStructure, change: number): WorkflowStructure {
  const { phases: before, revision } = structure;
  const last = before.at(-1)?.number ?? 0;
  const begins = before.filter(({ number }) => number <= Math.max(structure.startPhase, last - 2));
  const edited: PhaseDefinition[][] = [
    [...before],
    [...before, phaseOf(last + 1, { skippable: true })],
    begins,
    before.map((phase, place) => (place === before.length - 1 ? { ...phase, number: phase.number + 3 } : phase)),
    (before[0]?.number ?? 0) > 0 ? [phaseOf((before[0]?.number ?? 1) - 1, { name: revision }), ...before] : [...before],
    before.map((phase) => ({ ...phase, skippable: !phase.skippable })),
    inserted(before, 0, revision),
    inserted(before, Math.floor(before.length / 2), revision),
    before.length > 1 ? before.slice(1) : [...before],
  ];
  const next = edited[change]?.slice(0, 8) ?? [];
  if (change === 6) return { ...structure, revision: nextOf(revision), phases: next, startPhase: next[0]?.number ?? 0 };
  const startPhase = next.some(({ number }) => number === structure.startPhase)
    ? structure.startPhase
    : (next.at(-1)?.number ?? 0);
  return { ...structure, revision: nextOf(revision), phases: next, startPhase };
}

/** Returns another revision: a name of a new phase, too. */
function nextOf(revision: string): string {
  return `r${Number(revision.slice(1)) + 1}`;
}

/** Returns the phases with a new one in a place, and the others renumbered behind it. */
function inserted(before: readonly PhaseDefinition[], place: number, revision: string): PhaseDefinition[] {
  const last = before.at(-1)?.number ?? 0;
  const added = { ...phaseOf(before[place]?.number ?? last), name: `New at ${revision}` };
  const behind = before.slice(place).map((phase) => ({ ...phase, number: phase.number + 1 }));
  return [...before.slice(0, place), added, ...behind];
}

/** Returns a migration after an author's change: with all differences accepted, or with none. */
function migration({ by, change }: Draft, model: Model): SessionCommand {
  const structure = changed(model.structure, change);
  if (by === "agent" || model.status === "none") return { type: "migrate", structure, by: "ann" };
  const accept = new Map(model.differences(structure).map((name) => [name, "seen"]));
  return { type: "migrate", structure, by: "ann", accept };
}

function numbersIn(ranges: Ranges, structure: WorkflowStructure): number[] {
  return structure.phases.filter((_, place) => inRanges(ranges, place)).map(({ number }) => number);
}

const sorted = (numbers: Iterable<number>) => [...numbers].sort((one, other) => one - other);

function expectAsModelled(run: Run, model: Model): void {
  if (run.head === undefined) {
    expect(model.status).toBe("none");
    return;
  }
  const { structure, head } = run;
  expect({
    status: head.status,
    phase: head.phase,
    number: structure.phases[head.position]?.number,
    total: head.total,
    revision: head.revision,
    completed: numbersIn(head.completed, structure),
    skipped: numbersIn(head.skipped, structure),
    attempts: head.attempts,
    waits: head.awaiting !== undefined,
    asksWaiver: isWaiverOpen(head),
    waived: head.waived?.length ?? 0,
    withWaivers: numbersIn(head.withWaivers ?? [], structure),
    spent: sorted(head.spent.map(([place, times]) => (structure.phases[place]?.number ?? 99) * 100 + times)),
  }).toEqual({
    status: model.status,
    phase: model.phase,
    number: model.phase,
    total: model.structure.phases.length,
    revision: model.structure.revision,
    completed: sorted(model.completed),
    skipped: sorted(model.skipped),
    attempts: model.inARow,
    waits: (model.status === "active" || model.status === "paused") && model.waits,
    asksWaiver: model.asksWaiver && model.status !== "deleted",
    waived: model.waived,
    withWaivers: sorted(model.withWaivers),
    spent: sorted([...model.failures].map(([number, times]) => number * 100 + times)),
  });
}

/** Checks invariants of any head, independently of the model. */
function expectInOrder(head: SessionHead, structure: WorkflowStructure): void {
  const behind = [...head.completed, ...head.skipped];
  const first = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const done = structure.phases.map((_, place) => inRanges(behind, place));
  const whole = head.status === "completed" || (head.status === "deleted" && done[head.position] === true);
  const end = whole ? head.total : head.position;
  expect(done).toEqual(structure.phases.map((_, place) => place >= first && place < end));
  for (const place of done.keys()) {
    expect(inRanges(head.completed, place) && inRanges(head.skipped, place), `both: ${place}`).toBe(false);
  }
}

/** Folds the events of a commit after a JSON round trip, and compares. */
function expectFold(
  fold: SessionHead | undefined,
  events: readonly RecordedEvent[],
  run: Run,
): SessionHead | undefined {
  let next = fold;
  for (const { event, at, version } of events) {
    const stored = sessionEventSchema.parse(JSON.parse(JSON.stringify(event)));
    expect(stored).toEqual(event);
    next = applyEvent(next, stored, { at, version });
  }
  expect(next).toEqual(run.head);
  if (run.head === undefined) return next;
  const text = JSON.stringify(run.head);
  expect(sessionHeadSchema.parse(JSON.parse(text))).toEqual(run.head);
  expect(text.length).toBeLessThan(HEAD_MAX);
  return next;
}

/** Checks that exactly the commands in `allowed` are possible. */
function expectAllowed(run: Run): void {
  if (run.head === undefined) return;
  const { head, structure } = run;
  const { phase } = head;
  const possible = (command: SessionCommand) => {
    const copy = new Run(structure, run.limits);
    copy.head = head;
    return copy.ask(command) === undefined;
  };
  const allowed = allowedCommands(head, structure);
  const asked: SessionCommand[] = [{ type: "pause" }, { type: "resume" }, { type: "delete" }];
  for (const command of asked) expect(allowed.includes(command.type), command.type).toBe(possible(command));
  const targets = structure.phases.filter(({ number }) => possible({ type: "rollback", to: number, by: "agent" }));
  expect(allowed.includes("rollback")).toBe(targets.length > 0);
  if (targets.length > 0) expect(rollbackTargets(head, structure)).toEqual(targets.map(({ number }) => number));
  if (possible(submit(phase))) expect(allowed).toContain("completePhase");
  for (const type of ["approve", "deny"] as const) {
    expect(allowed.includes(type), type).toBe(possible(word(run, type)));
  }
  // Another name: `tests` may be waived already.
  const more = waiver(phase, ["docs"]);
  expect(allowed.includes("requestWaiver"), "requestWaiver").toBe(possible(more) && !isWaiverOpen(head));
  for (const type of ["waive", "denyWaiver"] as const) {
    expect(allowed.includes(type), type).toBe(possible(waiverWord(run, type)));
  }
  if (allowed.includes("retryPhase")) {
    expect(possible({ type: "retryPhase", phase, resetEvidence: true, by: "host" })).toBe(true);
  }
}

/** Checks that the history agrees with the head: completed phases are there once, and the current phase is open. */
function expectHistory(run: Run): void {
  const history = phaseHistory(run.log);
  const numbers = (...statuses: PhaseAttempt["status"][]) =>
    sorted(history.filter(({ status }) => statuses.includes(status)).map(({ phase }) => phase));
  const head = run.head;
  if (head === undefined) {
    expect(history).toEqual([]);
    return;
  }
  expect(numbers("completed", "overridden")).toEqual(numbersIn(head.completed, run.structure));
  expect(numbers("skipped")).toEqual(numbersIn(head.skipped, run.structure));
  expect(sorted(artifacts(run.log).keys())).toEqual(numbers("completed"));
  const isOpen = head.status === "active" || head.status === "paused";
  if (head.status !== "deleted") expect(numbers("active")).toEqual(isOpen ? [head.phase] : []);
  const failures = run.log.filter(({ event }) => event.type === "gate_failed");
  expect(numbers("failed")).toHaveLength(failures.length);
}

/** Runs random sequences of commands beside the model. Returns how often each kind was done and refused. */
function runBesideModel(parameters: { readonly numRuns: number; readonly seed?: number }): ReadonlyMap<string, number> {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(structures, limits, sequences, (structure, bounds, [startsFirst, asked, deletedAfter]) => {
      const run = new Run(structure, bounds);
      const model = new Model(structure, bounds);
      let fold: SessionHead | undefined;
      let asOver = 0;
      const step = (command: SessionCommand) => {
        const before = run.head;
        const logged = run.log.length;
        const text = JSON.stringify(before);
        const error = run.wait(7).ask(command);
        const possible = model.ask(command);
        expect(error === undefined, `${command.type}: ${error?.message}`).toBe(possible);
        const name = `${command.type} ${possible ? "done" : "refused"}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
        expect(JSON.stringify(before)).toBe(text);
        if (!possible) expect(run.head).toBe(before);
        fold = expectFold(fold, run.log.slice(logged), run);
        expectAsModelled(run, model);
        expectAllowed(run);
        if (run.head !== undefined) expectInOrder(run.head, run.structure);
      };
      if (startsFirst) step({ type: "start", target: "src/a.ts", options: {} });
      for (const [index, draft] of asked.entries()) {
        if (index === deletedAfter) step({ type: "delete", reason: "enough" });
        step(commandFor(draft, model, run));
        if (model.status === "completed" || model.status === "deleted") asOver += 1;
        if (asOver > AFTER_END) break;
      }
      expectFold(undefined, run.log, run);
      expectHistory(run);
    }),
    parameters,
  );
  return seen;
}

describe("a phased session", () => {
  it(`behaves like the model in ${RUNS} random sequences of commands`, () => {
    runBesideModel({ numRuns: RUNS });
  });

  // With a seed: the rarest kind succeeds some 18 times in 100 sequences, often several times in one, so that 50 may have none.
  it("does and refuses each kind of command in the sequences of a seed", () => {
    const seen = runBesideModel({ numRuns: RUNS, seed: 1 });
    for (const type of COMMON) {
      expect(seen.get(`${type} done`), type).toBeGreaterThan(RUNS / 50);
      expect(seen.get(`${type} refused`), type).toBeGreaterThan(RUNS / 50);
    }
  });

  it("has a head whose size does not grow with its log", () => {
    const run = Run.started(structureOf([1, 2, 3, 4]), { maxAttempts: 2 });
    let largest = 0;
    for (let round = 0; round < 1_000; round += 1) {
      run.do(submit(1), submit(2, false), { type: "retryPhase", phase: 2, resetEvidence: false, by: "agent" });
      run.do(submit(2), { type: "pause", note: "n".repeat(100) }, { type: "resume" }, submit(3));
      run.do({ type: "rollback", to: 1, by: "agent" });
      largest = Math.max(largest, JSON.stringify(run.head).length);
    }
    expect(run.log.length).toBeGreaterThan(10_000);
    expect(largest).toBeLessThan(500);
  });

  it("has a head whose size does not grow with its phases or evidence", () => {
    const run = Run.started(structureOf(Array.from({ length: 300 }, (_, index) => index + 1)));
    const first = JSON.stringify(run.head).length;
    for (let phase = 1; phase <= 299; phase += 1) {
      const evidence = { inline: { text: "x".repeat(10_000) } };
      run.do({ type: "completePhase", phase, evidence, verdict: { passed: true, warnings: [] } });
    }
    expect(JSON.stringify(run.head).length).toBeLessThan(first + 30);
  });
});
