/** Links the tasks of a plan by their dependencies, and reports those that name nothing in the plan, and cycles. */
import {
  type IsId,
  type Named,
  named,
  type Place,
  RANGE_MAX,
  readDependencies,
  readWaves,
  relationsIn,
} from "./dependencies.js";
import { addTo, type PlanPosition, type PlanReport } from "./plan.js";
import type { Context, ReadPlan, TaskDraft } from "./reader.js";
import { ancestorsOf, cellsOf, type Row } from "./rows.js";
import { type Field, fieldOf } from "./titles.js";

/** A task and its dependencies as they are written. */
export interface LinkedTask {
  readonly id: string;
  readonly position: PlanPosition;
  readonly name?: string | undefined;
  /** The number of its item in a list. */
  readonly ordinal?: string | undefined;
  /** Reads the dependencies, on demand: a word such as `1.1-1.99` may be many ids. */
  readonly named: (isId: IsId) => readonly Named[];
}

/** A phase whose tasks are linked. Dependencies refer to it by `key`. */
interface LinkedPhase {
  readonly key: string;
  /** The code in its title, `WP01`, which dependencies may name. */
  readonly code?: string | undefined;
  readonly tasks: readonly LinkedTask[];
}

/** Maximum number of dependencies of a plan. A phase or a group means all its tasks, and each task may name it. */
export const EDGES_MAX = 500_000;

/** Returns the id of the task that a word names. */
export type IdOf = (word: string) => string | undefined;

/** Returns how ids are found: ids that differ only in case are two tasks; else the case does not matter. */
export function idFinder(tasks: Iterable<{ readonly id: string }>): IdOf {
  const known = new Map<string, string>();
  const ids = [...tasks].map(({ id }) => id);
  for (const id of ids) known.set(id.toLowerCase(), id);
  for (const id of ids) known.set(id, id);
  return (word) => known.get(word) ?? known.get(word.toLowerCase());
}

const ORDINAL = /^\s*(\d{1,4})[.)]\s/;

/** Returns the ids that each task depends on: by its labels and its text, by graphs of waves, and by lines about dependencies. */
export function linkDrafts(read: ReadPlan, idOf: IdOf): ReadonlyMap<string, readonly string[]> {
  const { phases, tasks, context } = read;
  const { words, source, regions, report } = context;
  const edges = readEdges(read, idOf);
  const waves = readWaves(source, regions);
  const linked = phases.map((phase): LinkedPhase => {
    const own = phase.tasks.map(({ id, position, dependencies, line, row }) => ({
      id,
      position,
      name: line.name,
      ordinal: ORDINAL.exec(source.text(row.line))?.[1],
      named: (isId: IsId) => [
        ...dependencies.map((said) => readDependencies(said, words, isId)),
        ...(edges.get(id) ?? []),
        named({ tasks: waves.get(id) ?? [] }),
      ],
    }));
    return { key: phase.key ?? `${phase.number}`, code: codeOf(phase.name), tasks: own };
  });
  const links = linkTasks(linked, report);
  reportPhaseDependencies(read, idOf);
  for (const task of tasks.values()) reportLabels(task, idOf, context);
  return links;
}

/** Returns the code in the title of a phase: `WP01` of `Work Package WP01: Setup`. */
function codeOf(name: string): string | undefined {
  return /(?<![\p{L}\p{N}])[A-Z]+-?\d+(?![\p{L}\p{N}])/u.exec(name)?.[0];
}

/** A sentence about tasks that do not wait for each other. */
const PARALLEL = /\b(?:parallel|independent|simultaneous)/i;

/** Labels whose text is read by itself. */
const VALUES: ReadonlySet<Field> = new Set(["dependencies", "blocks", "criteria", "requirements"] as const);

/** Returns what tasks wait for, by their lines, descriptions and lines about dependencies. Reports what seems to name one and is not read. */
function readEdges({ context, tasks, told }: ReadPlan, idOf: IdOf): ReadonlyMap<string, readonly Named[]> {
  const { words, source, rows, report } = context;
  const isId = (word: string) => idOf(word) !== undefined;
  // `US2` is no task where tasks are T001 and T002.
  const letters = (id: string) => id.toLowerCase().split(/\d/, 1)[0];
  const prefixes = new Set([...tasks.values()].map(({ id }) => letters(id)));
  const found = new Map<string, Named[]>();
  let edges = 0;
  const read = (text: string, { line, column }: Row, place: Place, own: readonly string[] = []) => {
    const position = source.position(line, column);
    const { relations, unread } = relationsIn(text, words, isId, place);
    const self = named({ tasks: own });
    for (const { later, needs } of relations) {
      const needed = needs === undefined ? self : readDependencies(needs, words, isId);
      const ids = later === undefined ? own : readDependencies(later, words, isId).tasks;
      // A sentence may repeat the task that it is about.
      if (later === undefined && needed.tasks.join() === own.join()) continue;
      edges += ids.length * needed.tasks.length;
      for (const said of edges > EDGES_MAX ? [] : ids) {
        const id = idOf(said);
        if (id !== undefined) addTo(found, id, needed);
        else if (prefixes.has(letters(said))) {
          const message = `the line '${text}' names task ${said}, which is not in the plan`;
          report.warn("DEPENDENCY_UNKNOWN", position, message, "Name a task of this plan, or remove the line.");
        }
      }
    }
    if (edges > EDGES_MAX || (unread !== undefined && !PARALLEL.test(text))) {
      const message = `'${unread ?? text}' names a task beside a word for a dependency, and is not read as one`;
      report.warn("DEPENDENCY_UNREAD", position, message, "If it is one, write 'Depends on:' in the task that waits.");
    }
  };
  for (const { id, line, blocks, row } of tasks.values()) {
    for (const said of [line.name, ...blocks.map((text) => `blocks ${text}`)]) read(said, row, "line", [id]);
  }
  for (const row of rows) {
    const [own] = ancestorsOf(row).flatMap((above) => tasks.get(above) ?? []);
    const isValue = row.label === undefined ? told.has(row.line) : VALUES.has(row.label.field);
    if (own === undefined || row.checkbox !== undefined || isValue) continue;
    read(row.text, row, "description", [own.id]);
  }
  for (const { text, row } of linesAbout(context)) if (!told.has(row.line)) read(text, row, "about");
  return found;
}

/** The columns of a table that link tasks. */
const LINKS: ReadonlySet<Field> = new Set(["dependencies", "blocks"] as const);

/** Returns the lines and items below headings about dependencies, and the rows of tables with such a column as sentences. */
function linesAbout({ rows, words }: Context): { readonly text: string; readonly row: Row }[] {
  const isAbout = ({ kind, text }: Row) =>
    kind === "heading" && (/\bdependenc/i.test(text) || fieldOf(text, words) === "dependencies");
  const headings = new Set(rows.filter(isAbout));
  let header: readonly string[] | undefined;
  return rows.flatMap((row) => {
    const { kind, text, checkbox } = row;
    if (kind !== "cells") {
      header = undefined;
      const isLine = kind !== "heading" && checkbox === undefined;
      return isLine && ancestorsOf(row).some((above) => headings.has(above)) ? [{ text, row }] : [];
    }
    const cells = cellsOf(text);
    header ??= cells;
    const column = header.findIndex((cell) => LINKS.has(fieldOf(cell, words)));
    const value = cells[column] ?? "";
    const task = cells.find((_, at) => at !== column);
    return /\d/.test(value) ? [{ text: `${task} ${header[column]}: ${value}`, row }] : [];
  });
}

/** Reports what a phase depends on that the plan does not have. Phases come in order, so that this makes no edges. */
function reportPhaseDependencies({ phases, context }: ReadPlan, idOf: IdOf): void {
  const keys = new Set(phases.flatMap(({ key, name }) => [key, codeOf(name)]));
  const isKnown = (name: string) => keys.has(name) || idOf(name) !== undefined;
  for (const { name, position, dependencies } of phases) {
    for (const said of dependencies) {
      const { phases: others, tasks } = readDependencies(said, context.words, isKnown);
      const missing = [...others.map((key) => key.toLowerCase()), ...tasks].filter((one) => !isKnown(one));
      if (missing.length === 0) continue;
      const message = `'${name}' depends on ${missing.join(", ")}, which is not in the plan`;
      context.report.warn("DEPENDENCY_UNKNOWN", position, message);
    }
  }
}

/** Labels that name tasks without waiting for them. */
const NO_EDGE =
  /\b(?:parallel|related|relates|see|next|followed|follow-up|enables|task|tasks|id|ids|covers|parent|group|replaces)\b/i;

/** Reports labels without a meaning that name only tasks: they may be dependencies. */
function reportLabels({ id, unread, position }: TaskDraft, idOf: IdOf, { words, report }: Context): void {
  for (const { name, text } of unread) {
    const { tasks } = readDependencies(text.replace(/[[\]]/g, " "), words, (one) => idOf(one) !== undefined);
    if (NO_EDGE.test(name) || !tasks.every((one) => one !== id && idOf(one))) continue;
    const message = `task ${id}: '${name}: ${text}' names tasks, and the label has no meaning here`;
    const hint = "If it names what must be done first, write 'Depends on:', or add the label to the words of the plan.";
    report.warn("DEPENDENCY_UNREAD", position, message, hint);
  }
}

/** Maximum number of unknown tasks that are reported for each task. */
const MISSING_MAX = 10;

/** Returns the ids that each task depends on. A phase means all its tasks; unknown ids and the task itself are reported and left out. */
export function linkTasks(phases: readonly LinkedPhase[], report: PlanReport): Map<string, readonly string[]> {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const known = idFinder(tasks);
  const keys = new Map([...phases].reverse().map((phase) => [phase.key, phase]));
  const codes = new Map(
    phases.flatMap((phase) => (phase.code && !known(phase.code) ? [[phase.code, phase] as const] : [])),
  );
  const names = unique(tasks.map(({ name, id }) => [name?.toLowerCase(), id]));
  const numbers = unique([]);
  const links = new Map<string, readonly string[]>();
  let edges = 0;
  for (const phase of phases) {
    // A list may go on in the next phase, or begin anew.
    for (const [number, id] of unique(phase.tasks.map(({ ordinal, id }) => [ordinal, id]))) numbers.set(number, id);
    const idOf: IdOf = (word) => known(word) ?? numbers.get(word);
    for (const task of phase.tasks) {
      const { id, position } = task;
      const unknown = (what: string) =>
        report.warn("DEPENDENCY_UNKNOWN", position, `task ${id} depends on ${what}, which is not in the plan`);
      const named = task.named((word) => idOf(word) !== undefined).map((one) => byName(one, names));
      for (const one of named) reportUnread(one, task, idOf, report);
      const found = new Set<string>();
      const add = (others: readonly LinkedTask[]) => {
        for (const other of others) found.add(other.id);
      };
      // Beyond the limit nothing is looked up: a phase can mean thousands of tasks.
      for (const one of edges > EDGES_MAX ? [] : named) {
        for (const other of one.tasks.flatMap((word) => codes.get(word) ?? [])) if (other !== phase) add(other.tasks);
        for (const key of new Set(one.phases)) {
          // `Phase 1.1` is a phase where the plan has it, and else means phase 1.
          const written = key.toLowerCase();
          const other = keys.get(written) ?? keys.get(written.replace(/\..*/, ""));
          if (other === undefined) unknown(`phase ${key}`);
          else if (other !== phase) add(other.tasks);
        }
        const own = one.tasks.filter((word) => !codes.has(word));
        const missing = own.filter((word) => idOf(word) === undefined);
        for (const word of missing.slice(0, MISSING_MAX)) unknown(`task ${word}`);
        if (missing.length > MISSING_MAX) unknown(`${missing.length - MISSING_MAX} more tasks`);
        const ids = own.flatMap((word) => idOf(word) ?? []);
        if (ids.includes(id)) report.warn("DEPENDENCY_SELF", position, `task ${id} depends on itself`);
        for (const other of [...ids, ...one.unsure.flatMap((word) => idOf(word) ?? [])]) {
          if (other !== id) found.add(other);
        }
      }
      edges += found.size;
      if (edges > EDGES_MAX && named.some((one) => one.tasks.length + one.phases.length > 0)) {
        const message = `the plan has more than ${EDGES_MAX} dependencies; those of task ${id} are ignored`;
        report.warn("DEPENDENCY_UNREAD", position, message, "Name fewer tasks and phases.");
      }
      links.set(id, edges > EDGES_MAX ? [] : [...found]);
    }
  }
  const cycle = findCycle(links);
  for (const { id, position } of tasks) {
    if (id !== cycle?.[0]) continue;
    report.warn("DEPENDENCY_CYCLE", position, `tasks depend on each other: ${[...cycle, id].join(" → ")}`);
  }
  return links;
}

/** Returns the values by their keys; of a key that several have, undefined. */
function unique(pairs: readonly (readonly [string | undefined, string])[]) {
  const found = new Map<string | undefined, string | undefined>();
  for (const [key, value] of pairs) found.set(key, found.has(key) ? undefined : value);
  return found;
}

/** Returns the tasks whose names a text has, if it has nothing else. */
function byName(said: Named, names: ReturnType<typeof unique>): Named {
  const parts = said.unread?.toLowerCase().split(/[,;]/) ?? [];
  const tasks = parts.flatMap((part) => names.get(part.replace(/["“”]/g, "").trim()) ?? []);
  return tasks.length > 0 && tasks.length === parts.length ? named({ tasks }) : said;
}

function reportUnread(
  { unread, tooLong, unsure }: Named,
  { id, position }: LinkedTask,
  idOf: IdOf,
  report: PlanReport,
) {
  const warn = (message: string, hint?: string) =>
    report.warn("DEPENDENCY_UNREAD", position, `task ${id}: ${message}`, hint);
  for (const range of tooLong.slice(0, MISSING_MAX)) {
    const message = `the range '${range}' has more than ${RANGE_MAX} tasks, so only its two ends count`;
    warn(message, "Name the phase instead, or shorter ranges.");
  }
  const words = unsure.filter((word) => idOf(word) === undefined);
  if (unread !== undefined && words.length === unsure.length) {
    warn(`the dependency '${unread}' names no task`, "Name tasks by their ids, or write None.");
  } else if (words.length > 0) {
    const list = words.slice(0, MISSING_MAX).map((word) => `'${word}'`);
    warn(`its dependencies name ${list.join(", ")}, which is the id of no task`);
  }
}

/** Returns the tasks of a cycle, in order; undefined if there is none. */
function findCycle(links: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const isOpen = new Map<string, boolean>();
  for (const root of links.keys()) {
    isOpen.set(root, true);
    // Iterative, because a plan may have a chain of thousands of tasks.
    const path = [{ id: root, next: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const id = links.get(top.id)?.[top.next];
      top.next += 1;
      if (id === undefined) {
        isOpen.set(top.id, false);
        path.pop();
      } else if (isOpen.get(id)) {
        return path.slice(path.findIndex((step) => step.id === id)).map((step) => step.id);
      } else if (!isOpen.has(id)) {
        isOpen.set(id, true);
        path.push({ id, next: 0 });
      }
    }
  }
  return undefined;
}
