/**
 * Writes ticks into the text of a plan: of tasks, and of the items of validation gates. Both are found in the current
 * text, which may have been edited since they were pinned. Pure.
 */
import { isPhasegateError } from "../../errors.js";
import { isTicked } from "../../plan/boxes.js";
import type { Plan, PlanItem, PlanPhase, PlanReading, PlanTask, TickRequest } from "../../plan/plan.js";
import type { PlanText, SourceParser } from "../../ports/content-provider.js";
import type { PhaseDefinition, TaskDefinition } from "../../workflow/structure.js";
import { grouped, matchPhases, matchTasks, type PhaseMatches, type TaskMatches } from "./match.js";

/** A pinned task, with the phases that were pinned with it. */
export interface KnownTask {
  readonly task: TaskDefinition;
  readonly phases: readonly PhaseDefinition[];
}

/** An item of a phase's validation gate, by number, from 1. */
export interface KnownItem {
  readonly phase: PhaseDefinition;
  readonly phases: readonly PhaseDefinition[];
  readonly item: number;
}

/** Tasks, and items of validation gates. */
export interface Known {
  readonly tasks: readonly KnownTask[];
  readonly items: readonly KnownItem[];
}

/** What is ticked and unticked. */
export interface DueParts {
  readonly tick: Known;
  readonly untick: Known;
}

/** A text with its ticks, and the tasks that show them, by their ids in the text. */
export interface TickedText {
  readonly text: string;
  /** The plan in the text. */
  readonly reading: PlanReading;
  readonly ticked: readonly string[];
  readonly unticked: readonly string[];
  /** Tasks that the text no longer has, by their former ids. */
  readonly missing: readonly string[];
  /** Tasks without a checkbox in the text. */
  readonly unwritable: readonly string[];
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
  const { plan } = reading;
  const find = finder(plan);
  const ticked = due.tick.tasks.flatMap((task) => find(task) ?? []);
  const isTickedNow = new Set(ticked);
  const unticked = due.untick.tasks.flatMap((task) => find(task) ?? []).filter((task) => !isTickedNow.has(task));
  const writing = new Writing(parser, source, reading);
  writing.tickItems(itemsIn(plan, due.untick.items), false);
  writing.tickItems(itemsIn(plan, due.tick.items), true);
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
  const missing = [...due.tick.tasks, ...due.untick.tasks].filter((task) => find(task) === undefined);
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

function finder(plan: Plan): (known: KnownTask) => PlanTask | undefined {
  const known = new Map<readonly PhaseDefinition[], TaskMatches>();
  return ({ task, phases }) => {
    const matches = known.get(phases) ?? matchTasks(phases, plan.phases);
    known.set(phases, matches);
    return matches.get(task);
  };
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
function itemsIn({ phases: live }: Plan, items: readonly KnownItem[]): NonNullable<TickRequest["items"]> {
  const known = new Map<readonly PhaseDefinition[], PhaseMatches>();
  // A gate may have thousands of items.
  const placesIn = new Map<PlanPhase, Map<PhaseDefinition, (number | undefined)[]>>();
  return items.flatMap(({ phase, phases, item }) => {
    const matches = known.get(phases) ?? matchPhases(phases, live);
    known.set(phases, matches);
    const now = matches.get(phase);
    if (now === undefined) return [];
    const inPhase = placesIn.get(now) ?? new Map<PhaseDefinition, (number | undefined)[]>();
    placesIn.set(now, inPhase);
    const places = inPhase.get(phase) ?? placesOf(phase, now.validationGate);
    inPhase.set(phase, places);
    const place = places[item - 1];
    return place === undefined ? [] : [{ phase: now.number, places: [place] }];
  });
}

/** Returns the current place of each pinned item of a phase's gate: the same text, the first of it for the first. */
function placesOf({ gate }: PhaseDefinition, now: readonly PlanItem[]): (number | undefined)[] {
  const free = grouped([...now.keys()], (place) => now[place]?.text);
  return gate.kind === "plan" ? gate.items.map((text) => free.get(text)?.shift()) : [];
}

/** A text that is being ticked. */
class Writing {
  text: string;
  private readonly parser: TickingParser;
  private readonly file: string;
  private read: PlanReading | undefined;

  constructor(parser: TickingParser, { text, path }: PlanText, reading: PlanReading) {
    this.parser = parser;
    this.file = path;
    this.text = text;
    this.read = reading;
  }

  /** Positions move with each change, so the text is read again. */
  get reading(): PlanReading {
    this.read ??= this.parser.parse(this.text, this.file);
    return this.read;
  }

  /** Ticks items of validation gates. That is for readers alone, so it fails without a word. */
  tickItems(items: NonNullable<TickRequest["items"]>, done: boolean): void {
    if (items.length > 0) this.write({ tasks: [], criteria: false, done, items });
  }

  /** Ticks tasks together; if that fails, one by one, so that one task does not stop the others. */
  tick(tasks: readonly string[], criteria: boolean, done: boolean): void {
    if (tasks.length === 0 || this.write({ tasks, criteria, done })) return;
    // A single task that can't be ticked is reported as unwritable, because the text does not show it.
    if (tasks.length > 1) for (const task of tasks) this.tick([task], criteria, done);
  }

  /** Returns false if the parser can't tick all of it. */
  private write(request: TickRequest): boolean {
    try {
      const text = this.parser.tick(this.text, this.reading.plan, request);
      if (text !== this.text) this.read = undefined;
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
