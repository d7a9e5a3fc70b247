import { describe, expect, it } from "vitest";
import {
  isRefusalKept,
  keptTasks,
  refusalKey,
  type TaskNotes,
  taskNotesSchema,
  tasksAfter,
  tasksDecided,
  tasksOf,
  withTask,
} from "../../../src/phased/state/task-notes.js";
import type { TaskDefinition } from "../../../src/workflow/structure.js";
import { phaseOf, structureOf } from "./run.js";

const done = (task: number, note?: string) => ({ type: "task_completed", phase: 1, task, note }) as const;
const givenUp = (task: number, note: string) => ({ type: "task_given_up", phase: 1, task, note }) as const;

/** Returns what is noted after some events. */
const notedBy = (...events: Parameters<typeof withTask>[1][]) =>
  events.reduce<TaskNotes | undefined>((notes, event) => withTask(notes, event), undefined);

/** Returns tasks of these names, numbered from 1. */
const tasksCalled = (...names: string[]) =>
  names.map(
    (name, index): TaskDefinition => ({ number: index + 1, name, file: `task-${index + 1}.md` }) as TaskDefinition,
  );

describe("the notes of a phase", () => {
  it("have the tasks that are done and those that are given up, each in one of both", () => {
    expect(notedBy(done(1), done(2))).toEqual({ done: [[1, 2]] });
    const note = { task: 3, note: "no camera" };
    expect(notedBy(done(1), givenUp(3, "no camera"))).toEqual({ done: [[1, 1]], givenUp: [[3, 3]], last: note });
    expect(notedBy(done(3), givenUp(3, "no camera"))).toEqual({ done: [], givenUp: [[3, 3]], last: note });
    expect(notedBy(givenUp(3, "no camera"), done(3, "found one"))).toEqual({
      ...{ done: [[3, 3]], last: { task: 3, note: "found one" } },
    });
  });

  it("keep the last note, unless it says why a task was given up that is done now", () => {
    expect(notedBy(done(1, "look at a.ts"), done(2))?.last).toEqual({ task: 1, note: "look at a.ts" });
    expect(notedBy(done(1, "look at a.ts"), done(1))?.last).toEqual({ task: 1, note: "look at a.ts" });
    expect(notedBy(givenUp(1, "no camera"), done(2))?.last).toEqual({ task: 1, note: "no camera" });
    expect(notedBy(givenUp(1, "no camera"), done(1))).toEqual({ done: [[1, 1]] });
  });

  it("mark the last note as older than a person's decision", () => {
    const notes = notedBy(done(1, "look at a.ts"));
    expect(tasksDecided(notes)).toEqual({
      ...{ done: [[1, 1]], last: { task: 1, note: "look at a.ts", beforeDecision: true } },
    });
    expect(tasksDecided(notedBy(done(1)))).toEqual({ done: [[1, 1]] });
    expect(tasksDecided(undefined)).toBeUndefined();
    expect(taskNotesSchema.parse(tasksDecided(notes))).toEqual(tasksDecided(notes));
    for (const last of [{ note: 1 }, { note: "a", task: "1" }, { note: "a", beforeDecision: false }]) {
      expect(taskNotesSchema.safeParse({ done: [], last }).success).toBe(false);
    }
  });

  it("follow the tasks to their new numbers", () => {
    const notes = notedBy(done(1, "look at a.ts"), givenUp(2, "no camera"), done(3));
    const pairs = [
      [1, 4],
      [2, 5],
      [3, 6],
    ] as const;
    expect(tasksAfter(notes, pairs)).toEqual({
      ...{
        done: [
          [4, 4],
          [6, 6],
        ],
        givenUp: [[5, 5]],
        last: { task: 5, note: "no camera" },
      },
    });
    expect(tasksAfter(notes, [[1, 1]])).toEqual({ done: [[1, 1]], last: { note: "no camera" } });
    expect(tasksAfter(notes)).toEqual({ done: [], last: { note: "no camera" } });
    expect(tasksAfter(notedBy(done(1)), [[2, 2]])).toBeUndefined();
    expect(tasksAfter(notedBy(done(1)), [[1, 2]])).toEqual({ done: [[2, 2]] });
    expect(tasksAfter({ done: [], givenUp: [[1, 1]] }, [[1, 2]])).toEqual({ done: [], givenUp: [[2, 2]] });
    const both: TaskNotes = { done: [[1, 1]], givenUp: [[2, 2]] };
    expect(tasksAfter(both, pairs)).toEqual({ done: [[4, 4]], givenUp: [[5, 5]] });
    expect(tasksAfter(undefined, pairs)).toBeUndefined();
  });
});

describe("the tasks of a phase", () => {
  const phase = phaseOf(1, { tasks: tasksCalled("dig", "plant", "water") });
  const structure = structureOf([phase, phaseOf(2, { tasks: tasksCalled("weed") })]);
  const task = (number: number, name: string) => ({ number, name, done: false, ready: true });

  it("are done, given up or ready, as the notes say", () => {
    const head = { position: 0, completed: [], tasks: { done: [[1, 1]], givenUp: [[2, 2]] } as TaskNotes };
    expect(tasksOf(head, structure, phase)).toEqual([
      { ...task(1, "dig"), done: true, ready: false },
      { ...task(2, "plant"), ready: false, closed: "given_up" },
      task(3, "water"),
    ]);
    expect(tasksOf({ position: 0, completed: [] }, structure, phase)).toEqual([
      ...[task(1, "dig"), task(2, "plant"), task(3, "water")],
    ]);
  });

  it("are all done once the phase has passed, and all to do in a phase ahead", () => {
    const passed = { position: 1, completed: [[0, 0]] as [number, number][], tasks: { done: [[1, 1]] } as TaskNotes };
    expect(tasksOf(passed, structure, phase).map((one) => [one.done, one.ready, one.closed])).toEqual(
      phase.tasks.map(() => [true, false, undefined]),
    );
    const before = { position: 0, completed: [], tasks: { done: [[1, 1]], givenUp: [[1, 1]] } as TaskNotes };
    expect(tasksOf(before, structure, phaseOf(2, { tasks: tasksCalled("weed") }))).toEqual([task(1, "weed")]);
    const ended = {
      position: 0,
      completed: [[0, 0]] as [number, number][],
      tasks: { done: [], givenUp: [[1, 1]] } as TaskNotes,
    };
    expect(tasksOf(ended, structure, phase)[0]).toEqual({ ...task(1, "dig"), done: true, ready: false });
  });

  it("are as their plan says, if it does", () => {
    const planned = [
      { number: 1, name: "dig", state: "done", ready: false },
      { number: 2, name: "plant", state: "open", ready: true, closed: "waived" as const },
    ];
    expect(tasksOf({ position: 0, completed: [] }, structure, phase, planned)).toEqual([
      { ...task(1, "dig"), done: true, ready: false },
      { ...task(2, "plant"), closed: "waived" },
    ]);
  });
});

describe("noted tasks after a change of the workflow", () => {
  const notes: TaskNotes = { done: [[1, 1]], givenUp: [[2, 2]] };
  const before = structureOf([phaseOf(1, { tasks: tasksCalled("dig", "plant", "water") })]);
  const kept = (tasks: TaskDefinition[], pairs?: readonly (readonly [number, number])[], noted = notes) =>
    keptTasks({ position: 0, tasks: noted }, before, { structure: structureOf([phaseOf(1, { tasks })]), tasks: pairs });

  it("stay under their numbers", () => {
    expect(kept(tasksCalled("dig", "plant", "water"))).toEqual({
      tasks: [
        [1, 1],
        [2, 2],
      ],
    });
  });

  it("stay by the numbers that a plan gives them, if they still ask for the same", () => {
    expect(kept(tasksCalled("weed", "dig deep"), [[1, 2]])).toEqual({ tasks: [[1, 2]] });
    expect(kept(tasksCalled("dig", "plant"), [])).toEqual({});
    const [dig, plant] = tasksCalled("dig", "plant");
    if (dig === undefined || plant === undefined) throw new Error("there are two");
    expect(kept([{ ...dig, textRevision: "r2" }, plant])).toEqual({ tasks: [[2, 2]] });
  });

  it("are none if nothing was noted, or the phase is gone", () => {
    expect(keptTasks({ position: 0 }, before, { structure: before })).toEqual({});
    expect(keptTasks({ position: 1, tasks: notes }, before, { structure: before })).toEqual({});
    const longer = structureOf([phaseOf(1), phaseOf(2, { tasks: tasksCalled("dig") })]);
    expect(keptTasks({ position: 1, tasks: notes }, longer, { structure: before })).toEqual({});
    expect(keptTasks({ position: 1, tasks: notes }, before, { structure: longer })).toEqual({});
    expect(kept(tasksCalled("dig"), undefined, { done: [[3, 3]] })).toEqual({});
  });

  it("must ask for what they asked for, if they are from a plan", () => {
    const plan = { description: "deep", acceptanceCriteria: ["a metre"], requirements: ["1.1"] };
    const planned = (parts: Partial<typeof plan>) => {
      const [task] = tasksCalled("dig");
      return [{ ...task, plan: { ...plan, ...parts } } as unknown as TaskDefinition];
    };
    const from = structureOf([phaseOf(1, { tasks: planned({}) })]);
    const keptOf = (parts: Partial<typeof plan>) =>
      keptTasks({ position: 0, tasks: notes }, from, {
        structure: structureOf([phaseOf(1, { tasks: planned(parts) })]),
        tasks: [[1, 1]],
      });
    expect(keptOf({})).toEqual({ tasks: [[1, 1]] });
    const changes = [{ description: "flat" }, { acceptanceCriteria: [] }, { requirements: ["1.2"] }];
    for (const change of changes) expect(keptOf(change)).toEqual({});
  });
});

describe("refused steps", () => {
  const step = { phase: 1, operation: "getPhase", code: "PHASE_LOCKED" };

  it("are known by what was asked for", () => {
    expect(refusalKey({ ...step, requested: 3, task: 2 })).toBe("getPhase 3 2");
    expect(refusalKey({ ...step, requested: 0 })).toBe("getPhase 0");
    expect(refusalKey(step)).toBe("getPhase");
  });

  it("are kept once, and ten in a visit to a phase", () => {
    expect(isRefusalKept({}, step)).toBe(true);
    expect(isRefusalKept({ refused: ["getPhase"] }, step)).toBe(false);
    expect(isRefusalKept({ refused: ["getPhase 3"] }, step)).toBe(true);
    const others = Array.from({ length: 10 }, (_, index) => `getPhase ${index}`);
    expect(isRefusalKept({ refused: others.slice(1) }, step)).toBe(true);
    expect(isRefusalKept({ refused: others }, step)).toBe(false);
  });
});
