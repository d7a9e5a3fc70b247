/**
 * Writes ticks into the text of a plan: of tasks, and of the items of validation gates. Both are found in the current
 * text, which may have been edited since they were pinned. Pure.
 */
import { isPhasegateError } from "../../errors.js";
import { isTicked } from "../../plan/boxes.js";
import type { Plan, PlanItem, PlanPhase, PlanReading, PlanTask, TickRequest } from "../../plan/plan.js";
import type { PlanText, SourceParser } from "../../ports/content-provider.js";
import type { PhaseDefinition, TaskDefinition } from "../../workflow/structure.js";
import { grouped, matchPhases, matchTasks } from "./match.js";

/** What is ticked or unticked of a phase, as it was pinned. */
export interface Claim {
  readonly phase: PhaseDefinition;
  /** The phases that were pinned with it. */
  readonly phases: readonly PhaseDefinition[];
  readonly tasks: readonly TaskDefinition[];
  /** Items of its validation gate, by number, from 1. */
  readonly items: readonly number[];
}

/** What is ticked and unticked. */
export interface DueParts {
  readonly tick: readonly Claim[];
  readonly untick: readonly Claim[];
}

/** A text with its ticks, and the tasks that show them, by their ids in the text. */
export interface TickedText {
  readonly text: string;
  /** The plan in the text. */
  readonly reading: PlanReading;
  readonly ticked: string[];
  readonly unticked: string[];
  /** Tasks that the text no longer has, by their former ids. */
  readonly missing: string[];
  /** Tasks without a checkbox in the text. */
  readonly unwritable: string[];
}

type TickingParser = SourceParser & Required<Pick<SourceParser, "tick">>;

/** Returns true if a parser can write ticks. */
export function canTick(parser: SourceParser): parser is TickingParser {
  return parser.tick !== undefined;
}

/** Writes ticks into the current text, whose plan is `reading`; everything else in it stays. */
export function tickText(
  parser: TickingParser,
  source: PlanText,
  reading: PlanReading,
  due: DueParts,
  tickCriteria: boolean,
): TickedText {
  const live = reading.plan.phases;
  const pins = new Set([...due.tick, ...due.untick].map(({ phases }) => phases));
  const matches = new Map([...pins].map((phases) => [phases, matchTasks(phases, live)]));
  const find = (claims: readonly Claim[]) =>
    claims.flatMap(({ phases, tasks }) => tasks.map((task) => ({ task, now: matches.get(phases)?.get(task) })));
  const [tick, untick] = [find(due.tick), find(due.untick)];
  const ticked = tick.flatMap(({ now }) => now ?? []);
  const isTickedNow = new Set(ticked);
  const unticked = untick.flatMap(({ now }) => (now === undefined || isTickedNow.has(now) ? [] : [now]));
  const writing = new Writing(parser, source, reading);
  writing.tickItems(itemsIn(live, due.untick), false);
  writing.tickItems(itemsIn(live, due.tick), true);
  for (const [tasks, done] of [[unticked, false] as const, [ticked, true] as const]) {
    // A task without a checkbox is done only if those of its criteria are ticked.
    const withCriteria = (task: PlanTask) => tickCriteria || task.checkbox === undefined;
    for (const criteria of [true, false]) {
      writing.tick(ids(tasks.filter((task) => withCriteria(task) === criteria)), criteria, done);
    }
  }
  const { reading: last } = writing;
  const after = new Map(last.plan.phases.flatMap(({ tasks }) => tasks.map((task) => [task.id, task] as const)));
  const shows = (done: boolean) => (id: string) => showsDone(after.get(id)) === done;
  const [done, open] = [ids(ticked), ids(unticked)];
  const missing = [...tick, ...untick].filter(({ now }) => now === undefined);
  return {
    text: writing.text,
    reading: last,
    ticked: done.filter(shows(true)),
    unticked: open.filter(shows(false)),
    missing: [...new Set(missing.map(({ task }) => task.plan?.id ?? task.name))],
    unwritable: [...done.filter(shows(false)), ...open.filter(shows(true))],
  };
}

/** Returns true if the text shows a task as done. */
export function showsDone(task: PlanTask | undefined): boolean {
  return task?.state === "done";
}

/** Returns the numbers, from 1, of the items of a phase's gate that the current plan shows as ticked. */
export function itemsShown(
  { phases: live }: Plan,
  phase: PhaseDefinition,
  phases: readonly PhaseDefinition[],
): number[] {
  const gate = matchPhases(phases, live).get(phase)?.validationGate ?? [];
  const isSet = (place: number | undefined) => place !== undefined && isTicked(gate[place]?.checkbox?.mark ?? "");
  return placesOf(phase, gate).flatMap((place, index) => (isSet(place) ? [index + 1] : []));
}

/** Returns where items of gates are in the current plan; the boxes of items that are gone stay as they are. */
function itemsIn(live: readonly PlanPhase[], claims: readonly Claim[]): NonNullable<TickRequest["items"]> {
  return claims.flatMap(({ phase, phases, items }) => {
    const now = items.length === 0 ? undefined : matchPhases(phases, live).get(phase);
    if (now === undefined) return [];
    const all = placesOf(phase, now.validationGate);
    const places = items.flatMap((item) => all[item - 1] ?? []);
    return places.length === 0 ? [] : [{ phase: now.number, places }];
  });
}

/** Returns the current place of each pinned item of a phase's gate: the same text, the first of it for the first. */
function placesOf({ gate }: PhaseDefinition, now: readonly PlanItem[]): (number | undefined)[] {
  const free = grouped([...now.keys()], (place) => now[place]?.text);
  return gate.kind === "plan" ? gate.items.map((text) => free.get(text)?.shift()) : [];
}

/** A text that is being ticked. Positions move with each change, so it is then read again. */
class Writing {
  readonly #parser: TickingParser;
  readonly #file: string;
  text: string;
  #reading: PlanReading | undefined;

  constructor(parser: TickingParser, { text, path }: PlanText, reading: PlanReading) {
    [this.#parser, this.#file, this.text, this.#reading] = [parser, path, text, reading];
  }

  get reading(): PlanReading {
    this.#reading ??= this.#parser.parse(this.text, this.#file);
    return this.#reading;
  }

  /** Ticks items of validation gates. That is for readers alone, so it fails without a word. */
  tickItems(items: NonNullable<TickRequest["items"]>, done: boolean): void {
    if (items.length > 0) this.#write({ tasks: [], criteria: false, done, items });
  }

  /** Ticks tasks together; if that fails, one by one, so that one task does not stop the others. */
  tick(tasks: readonly string[], criteria: boolean, done: boolean): void {
    if (tasks.length === 0 || this.#write({ tasks, criteria, done })) return;
    // A single task that can't be ticked is reported as unwritable, because the text does not show it.
    if (tasks.length > 1) for (const task of tasks) this.tick([task], criteria, done);
  }

  /** Returns false if the parser can't tick all of it. */
  #write(request: TickRequest): boolean {
    try {
      const text = this.#parser.tick(this.text, this.reading.plan, request);
      if (text !== this.text) this.#reading = undefined;
      this.text = text;
      return true;
    } catch (error) {
      // The parser has written a text that is no plan: fewer tasks would not help.
      if (isPhasegateError(error, "PLAN_PARSE") && error.cause === undefined) throw error;
      return false;
    }
  }
}

function ids(tasks: readonly PlanTask[]): string[] {
  return [...new Set(tasks.map(({ id }) => id))];
}
