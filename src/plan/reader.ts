/**
 * Gives each row its role: a phase, a task, a criterion, an item of a gate, or a part of a description. What a row belongs
 * to follows from the tree: a box inside a task is its criterion, under whatever label, and no item belongs to another one
 * of the same list.
 */
import { checkboxAt, checkboxesIn, type FoundCheckbox, isTicked, SYMBOL } from "./boxes.js";
import type { Dialect, Marks } from "./dialects.js";
import { BELOW_HEADINGS, type Outline, type PhaseStart, sameName } from "./outline.js";
import type { Checkbox, PlanItem, PlanPosition, PlanReport, StatusWord, TaskState } from "./plan.js";
import { ancestorsOf, beginsCell, isWithin, type Row, titleOf } from "./rows.js";
import type { Region, SourceText } from "./source.js";
import {
  bare,
  filesIn,
  isStruck,
  readReferences,
  readTaskLine,
  splitTime,
  type TaskLine,
  withoutComments,
} from "./task-line.js";
import {
  CHECKS_PHASE,
  type Field,
  fieldOf,
  isGateTitle,
  type Label,
  labelOf,
  mentionedPhase,
  NO_TASKS,
  NO_TASKS_HEADING,
  NO_WORK,
  namesOnlyIds,
  namesOnlyTasks,
} from "./titles.js";
import { type SaidState, stateBySign, type Vocabulary } from "./words.js";

/** What is known of a source before its rows get their roles. */
export interface Context {
  readonly source: SourceText;
  readonly regions: readonly Region[];
  readonly rows: readonly Row[];
  readonly dialect: Dialect;
  readonly words: Vocabulary;
  readonly outline: Outline;
  readonly legend: ReadonlySet<Row>;
  readonly marks: Marks;
  readonly report: PlanReport;
  /** The titles of phases that have no task: their checkboxes are tasks, except in notes and the like. */
  readonly empty: ReadonlySet<Row>;
}

/** A task while it is read. */
export interface TaskDraft {
  readonly row: Row;
  readonly line: TaskLine;
  /** The level of its heading, or of its line in bold; undefined for an item. */
  readonly level: number | undefined;
  readonly position: PlanPosition;
  /** Its id in the plan, and its state: both are known when all is read. */
  id: string;
  state: TaskState;
  checkbox: Checkbox | undefined;
  time: string | undefined;
  parallel: boolean;
  /** What its status line says; the state is undefined for other words. */
  status:
    | {
        readonly state: SaidState | undefined;
        word?: StatusWord | undefined;
        /** The text, if it says done and takes it back, `Done, but not tested`, or has no known word. */
        readonly unclear?: StatusWord;
      }
    | undefined;
  readonly inside: TaskDraft[];
  /** The texts about dependencies, as they are written. */
  readonly dependencies: string[];
  /** The texts about tasks that wait for it. */
  readonly blocks: string[];
  /** Labels without a meaning that name nothing but tasks. */
  readonly unread: Label[];
  readonly criteria: PlanItem[];
  readonly requirements: string[];
  readonly files: string[];
  /** The line after its last one. */
  endLine: number;
}

/** A phase while it is read. */
export interface PhaseDraft extends PhaseStart {
  /** Its title. */
  readonly row: Row;
  readonly position: PlanPosition;
  /** Its number in the plan, which is known when all is read. */
  number: number;
  goal?: string;
  duration?: string;
  /** The text in parentheses after its name, if it is a duration. */
  readonly timeInTitle: string | undefined;
  readonly tasks: TaskDraft[];
  readonly gate: PlanItem[];
  /** The texts about what it depends on, as they are written. */
  readonly dependencies: string[];
}

/** An item while it is read: its details follow. */
interface ItemDraft extends Omit<PlanItem, "details"> {
  details?: string[];
}

/** The rows below a label or a heading. */
interface Block {
  readonly kind: "criteria" | "gate" | "list" | "other";
  /** The label or heading. */
  readonly owner: Row;
  /** True for a section, which labels without a meaning don't end. */
  readonly section: boolean;
  /** The text after the label: the item, if no list follows. */
  text?: PlanItem | undefined;
  /** True if only items with a checkbox count. */
  readonly boxes?: boolean;
  readonly items: ItemDraft[];
  /** The depth of its first and its last item. */
  first?: number;
  last?: number;
  /** True for a gate that may be a list of the phase's tasks: those are no items of it. */
  readonly isChecklist?: boolean;
  /** True if labels name groups of its items. */
  grouped?: boolean;
  /** Receives the items when the block ends. */
  readonly done: (items: readonly PlanItem[]) => void;
}

/** Titles of lists about the whole plan. */
const OF_PLAN = /\b(?:(?:acceptance|success|completion) criteria|project completion|definition of done)\b/i;

/** Labels that belong to the last task even if they are not indented. */
const OF_TASKS: ReadonlySet<Field> = new Set([
  ...(["criteria", "dependencies", "blocks", "time", "files"] as const),
  ...(["requirements", "description", "parallel", "status"] as const),
]);

/** Labels that group the items of a gate, or precede them. */
const OF_GATES: ReadonlySet<Field> = new Set(["other", "gate", "success", "criteria"] as const);

const isSubtasks = (title: string) => /sub-?tasks/i.test(title);

/** Labels that say that the item or heading around them is a task. */
const ONLY_OF_TASKS: ReadonlySet<Field> = new Set(["dependencies", "status", "blocks"] as const);

/** The phase, task and list to which the next row may belong. */
interface Open {
  phase?: PhaseDraft;
  task?: TaskDraft;
  block?: Block;
  /** The level of a heading such as `Phase Validation Gates`, below which the gates of all phases are. */
  gates?: number;
  /** True in a part of the phase without a task so far, such as its notes. */
  aside: boolean;
  /** True in a phase of `Context.empty`. */
  isEmpty: boolean;
  /** Number of tasks in the list above, without a line of the section between them. */
  run: number;
  /** Receives the text after a label without one. */
  field?: (text: string, row: Row) => void;
}

/** Reads the rows of a plan into drafts of phases and tasks. */
export function readRoles(context: Context) {
  const { source, rows, dialect, words, outline, legend, marks, report, empty } = context;
  const phases: PhaseDraft[] = [];
  const tasks = new Map<Row, TaskDraft>();
  /** Offsets of the checkboxes with a place in the plan. */
  const placed = new Set<number>();
  /** Lines that are not part of a task's description, because the plan has them elsewhere. */
  const told = new Set<number>();
  /** Lines of which a part is nowhere else in the plan. */
  const untold = new Set<number>();
  /** Ids of subtasks in one line, `Subtasks: T001, T002`: their tasks are elsewhere. */
  const listed: { readonly row: Row; readonly text: string }[] = [];
  /** Items that a list of tasks elsewhere repeats, by the row of the task. */
  const repeated: { readonly row: Row; readonly task: Row }[] = [];
  /** Items with a checkbox below the acceptance criteria of the whole plan. */
  const planCriteria: PlanItem[] = [];
  /** The line of the last task right below a row, in a plan with ids. */
  const lastIds = new Map<Row | undefined, number>();
  /** The first id below a row. */
  const idsBelow = new Map<Row, string>();
  for (const [task, id] of outline.idOf) {
    lastIds.set(task.parent, Math.max(task.line, lastIds.get(task.parent) ?? 0));
    for (let { parent } = task; parent !== undefined && !idsBelow.has(parent); { parent } = parent) {
      idsBelow.set(parent, id);
    }
  }
  /** The place in the plan of the next row. */
  const open: Open = { aside: false, isEmpty: false, run: 0 };
  for (const row of rows) {
    const start = outline.starts.get(row);
    if (row === outline.untitled) startPhase({ key: undefined, name: "Tasks", level: 0 }, row);
    if (start !== undefined) startPhase(start, row);
    else if (row.kind === "heading") readHeading(row);
    else if (row.kind === "rule") closeBlock();
    else if (row.kind === "item") readItem(row);
    else if (row.kind === "cells") readCells(row);
    else readText(row);
    if (row.kind === "heading" || row.depth === -1) open.run = 0;
  }
  closeBlock();
  readRepeated();
  phases.at(-1)?.gate.push(...planCriteria);
  return { context, phases, tasks, placed, told, untold, listed, repeated };

  function readHeading(row: Row): void {
    const block = open.block;
    const isPart = block?.section === true && isWithin(row, block.owner) && !outline.idOf.has(row);
    const mentioned = mentionedPhase(row.text);
    if (isPart && (block.kind === "other" || mentioned === undefined)) return;
    closeBlock();
    const [task, phase] = [open.task, open.phase];
    if (row.depth <= (open.gates ?? 0)) open.gates = undefined;
    if (isTaskHeading(row)) return startTask(row, row.depth);
    const isCheck = /^[^\p{L}]*(?:validation|verification)[^\p{L}]*$/iu.test(row.text) && taskAround(row) === undefined;
    const isOfPhase = mentioned !== undefined && phaseOf(mentioned) !== undefined;
    const isNamed = isCheck || isGateTitle(row.text) || (open.gates !== undefined && mentioned !== undefined);
    const isChecklist = !isNamed && isOfPhase && [row, row.parent].some((one) => CHECKS_PHASE.test(one?.text ?? ""));
    const isGate = isNamed || isChecklist;
    if (isGate && (mentioned !== undefined || !isBetweenTasks(row))) return startGate(row, mentioned, isChecklist);
    const field = isGate ? "criteria" : fieldOf(row.text, words);
    const inTask = ancestorsOf(row).some((above) => tasks.has(above));
    // Criteria behind the section of a task are its own, and so are those in a section that goes on with other tasks.
    const isBehind = field === "criteria" && task !== undefined && (task.level !== undefined || idsBelow.has(row));
    if (inTask || (isBehind && phase !== undefined && row.depth > phase.level)) {
      return readLabel({ field, name: row.text, text: "" }, row);
    }
    if (phase !== undefined && row.depth <= phase.level) open.phase = undefined;
    endTask(row.line);
    open.aside = open.isEmpty ? NO_WORK.test(row.text) : outline.identified || NO_TASKS_HEADING.test(row.text);
    // Without a task that they could be part of, "Subtasks" are tasks.
    const isOfNoTask = isSubtasks(row.text) && phase?.tasks.length === 0;
    const isCriteria = !isOfNoTask && (field === "success" || field === "criteria");
    // Outside of a phase, they are those of the phase that is named, else of the plan: of its only phase in a dialect with one
    // section of tasks.
    const owner = (mentioned === undefined ? undefined : phaseOf(mentioned)) ?? open.phase;
    if (isCriteria && (owner !== undefined || dialect.section !== undefined)) openPhaseCriteria(row, owner);
    else if (open.phase === undefined && (isCriteria || OF_PLAN.test(row.text))) {
      openBlock({ kind: "other", owner: row, section: true });
    }
  }

  /** Checks whether a heading is a task: with the word "task", a `T012`, or `1.2` below the heading of phase 1. */
  function isTaskHeading(row: Row): boolean {
    const { idOf, ids } = outline;
    const [id, phase] = [idOf.get(row), open.phase];
    if (phase === undefined || id === undefined) return false;
    if (!/^\d/.test(id) || ids.isNamed(row.text.replace(/^[^\p{L}\p{N}]+/u, ""))) return true;
    const isOfPhase = phase.key === undefined || id.startsWith(`${phase.key}.`);
    return row.depth > phase.level && (isOfPhase || /^\d+[a-z]/.test(id));
  }

  /** Checks whether a row is inside the section of a task that others of its phase follow: the gate of the phase is behind them. */
  function isBetweenTasks(row: Row): boolean {
    const task = taskAround(row);
    return task?.row.kind === "heading" && (lastIds.get(task.row.parent) ?? 0) > row.line;
  }

  /** Opens the section of a gate: of the phase that its title names, else of the last phase. */
  function startGate(row: Row, mentioned: string | undefined, isChecklist: boolean): void {
    endTask(row.line);
    if (mentioned === undefined && /\bgates\b/i.test(row.text)) {
      open.gates = row.depth;
      open.phase = undefined;
      return;
    }
    const phase = mentioned === undefined ? phases.at(-1) : (phaseOf(mentioned) ?? open.phase);
    if (phase !== undefined) openGateOf(phase, row, true, isChecklist);
  }

  function readItem(row: Row): void {
    if (legend.has(row)) return;
    const block = open.block;
    open.field = undefined;
    if (block !== undefined) {
      const isRepeat = block.isChecklist && outline.repeats.has(row);
      if (isInside(block, row) && !isRepeat && !beginsTask(block, row)) {
        const isStatus = block.kind === "gate" && row.label?.field === "status" && row.checkbox === undefined;
        return isStatus && addStatusOfGate(block, row.label, row) ? undefined : collect(block, row);
      }
    }
    const inTask = taskAround(row);
    const main = outline.repeats.get(row);
    if (main !== undefined && inTask === undefined) {
      repeated.push({ row, task: main });
    } else if (isTask(row)) {
      startTask(row, undefined);
    } else if (row.checkbox === undefined) {
      const { label } = row;
      if (label !== undefined && (open.phase !== undefined || label.field === "gate")) readLabel(label, row);
    } else if (inTask !== undefined) {
      addCriterion(inTask, row);
    } else if (dialect.section !== undefined) {
      // In a dialect with one section of tasks, the checklists of the others must hold at its end.
      planCriteria.push(itemOf(row));
    }
  }

  function addCriterion(task: TaskDraft, row: Row): void {
    task.criteria.push(itemOf(row));
    told.add(row.line);
  }

  /** Reads a row of a table: in a task and in a gate, its boxes are items, named by its other cells. */
  function readCells(row: Row): void {
    const block = open.block;
    const isItems = (block?.kind === "gate" || block?.kind === "criteria") && isInside(block, row);
    const items = isItems ? block.items : taskAround(row)?.criteria;
    if (items === undefined) return;
    const line = source.text(row.line);
    const cells = row.text.split("|").map((cell) => cell.trim());
    const named = cells.filter((cell) => /\p{L}/u.test(cell) && checkboxAt(cell, 0) === undefined).join(" · ");
    for (const checkbox of checkboxesIn(line)) {
      if (beginsCell(line, checkbox)) items.push(itemOf({ ...row, text: named === "" ? row.text : named, checkbox }));
    }
  }

  function readText(row: Row): void {
    const { label } = row;
    const [phase, field, block] = [open.phase, open.field, open.block];
    if (phase !== undefined && outline.idOf.has(row)) {
      startTask(row, BELOW_HEADINGS);
    } else if (label !== undefined) {
      if (phase !== undefined || open.gates !== undefined || label.field === "gate") readGroupedLabel(label, row);
    } else if (field !== undefined) {
      field(row.text, row);
    } else if (block?.kind === "gate") {
      // The sentence in the section of a gate without a list.
      if (block.section && !block.boxes && !/[:：]\s*\**$/.test(row.text)) block.text ??= itemOf(row);
    } else if (phase?.tasks.length === 0 && block === undefined && /^[\p{L}\p{N}`"'*_]/u.test(row.text)) {
      phase.goal ??= row.text;
    }
  }

  /** Reads a label. Below a heading for all gates, a line in bold may name the phase of the items after it. */
  function readGroupedLabel(label: Label, row: Row): void {
    const isBold = /^(\*\*|__)[^*]+\1:?$/.test(row.text);
    const mentioned = open.gates === undefined || !isBold ? undefined : mentionedPhase(label.name);
    const phase = mentioned === undefined ? undefined : phaseOf(mentioned);
    if (phase === undefined || label.field !== "other" || /^before\b/i.test(label.name)) readLabel(label, row);
    else openGateOf(phase, row, true);
  }

  function readLabel(label: Label, row: Row): void {
    const { field, name, text } = label;
    const block = open.block;
    if (block !== undefined) {
      const isFirst = block.items.length === 0;
      // A label in an item of the list is a part of that item.
      const item = field === "other" && row.parent?.kind === "item" ? row.parent : undefined;
      if (item !== undefined && !isFirst && isInside(block, item)) return;
      if (block.kind === "gate") {
        if (field === "status" && (addStatusOfGate(block, label, row) || block.section)) return;
        if ((block.section || isFirst) && OF_GATES.has(field)) {
          if (field === "gate") addText(block, label, row);
          return;
        }
      }
      if (block.kind === "criteria" && field === "other" && text === "") {
        // A label before the first criterion, or after such a label, names a group of them.
        block.grouped ||= isFirst;
        if (block.grouped) return;
      }
    }
    closeBlock();
    const around = taskAround(row);
    const inItem = around !== undefined && around.level === undefined;
    const mentioned = mentionedPhase(name);
    const isOwn = inItem || (mentioned === undefined && isBetweenTasks(row));
    const isOfPhase = !isOwn && (field === "gate" || (field === "success" && /\bphase\b/i.test(name)));
    if (field === "gate" && (isOfPhase || /\bphase\b/i.test(name))) {
      const phase = (mentioned === undefined ? undefined : phaseOf(mentioned)) ?? open.phase;
      if (phase === undefined) return;
      told.add(row.line);
      return addText(openGateOf(phase, row, false), label, row);
    }
    const task = isOfPhase ? undefined : (around ?? taskBefore(label, row));
    if (task !== undefined) return ofTask(task, label, row);
    if (row.kind !== "heading" && row.parent !== undefined && looksLikeTask(row.parent)) {
      if (!ONLY_OF_TASKS.has(field)) return;
      const message = `'${name}' stands in '${row.parent.text}', which is not read as a task`;
      report.warn("TASK_UNREAD", at(row), message);
    } else if (open.phase !== undefined) {
      ofPhase(open.phase, label, row);
    }
  }

  /** Returns the nearest task above a row in the tree, or the task whose line in bold is above it. */
  function taskAround(row: Row): TaskDraft | undefined {
    const above = ancestorsOf(row).find((parent) => tasks.has(parent));
    if (above !== undefined) return tasks.get(above);
    return open.task?.level === BELOW_HEADINGS ? open.task : undefined;
  }

  /** Returns the task of a label that stands behind it in place of inside of it. An item with boxes below is not a task. */
  function taskBefore({ field }: Label, row: Row): TaskDraft | undefined {
    const { parent } = row;
    const isOfOther = parent?.kind === "item" && !/[:：][*_]*$/.test(parent.text);
    if (!OF_TASKS.has(field) || isOfOther) return undefined;
    // Criteria that are not indented are those of one task, not of several in a list, unless other tasks follow.
    const isBetween = row.kind === "heading" || open.run === 1 || (lastIds.get(row.parent) ?? 0) > row.line;
    return field !== "criteria" || (row.kind !== "item" && isBetween) ? open.task : undefined;
  }

  /** Checks whether a row that is no task may be one to people: an item, or a heading with a number. */
  function looksLikeTask(row: Row): boolean {
    const { starts, ids } = outline;
    return row.kind === "item" || (!starts.has(row) && ids.read(titleOf(row), ["number"]) !== undefined);
  }

  function ofTask(task: TaskDraft, label: Label, row: Row): void {
    const { field, text, name } = label;
    told.add(row.line);
    switch (field) {
      case "time":
        if (text !== "") task.time ??= bare(text);
        return;
      case "status":
        readStatus(task, text, row);
        if (text === "") open.field = (said, below) => readStatus(task, said, below);
        return;
      case "parallel":
        task.parallel = /^(?:y|true)/i.test(text);
        return;
      case "dependencies":
        return readValue(text, row, (said) => task.dependencies.push(said));
      case "blocks":
        task.blocks.push(text);
        return;
      case "files":
        return readValue(text, row, (said) => task.files.push(...filesOf(said)));
      case "requirements":
        return readValue(text, row, (said) => task.requirements.push(...readReferences(bare(said))));
      case "criteria":
      case "success":
      case "gate": {
        if (isSubtasks(name) && namesOnlyIds(text)) return void listed.push({ row, text });
        const item = text === "" ? undefined : itemOf({ ...row, text });
        const done = (items: readonly PlanItem[]) => void task.criteria.push(...items);
        openBlock({ kind: "criteria", owner: row, section: false, text: item, done });
        return;
      }
      default:
        untold.add(row.line);
        if (namesOnlyTasks(text)) task.unread.push(label);
        if (!readBoxBehind(task, label, row)) openOther(label, row);
    }
  }

  /** Returns the box at the start of a text in a row. */
  function boxBehind(row: Row, text: string): FoundCheckbox | undefined {
    return checkboxAt(source.text(row.line), row.column + row.text.lastIndexOf(text), true);
  }

  /** Reads a box right behind a label: `Done: [x]` is the task's own, `Tests: [x] pass` a criterion. */
  function readBoxBehind(task: TaskDraft, { name, text }: Label, row: Row): boolean {
    const checkbox = boxBehind(row, text);
    if (checkbox === undefined) return false;
    const isOwn = task.checkbox === undefined && words.stateIn(name)?.state === "done";
    if (isOwn) task.checkbox = placeBox({ ...row, checkbox });
    else task.criteria.push(itemOf({ ...row, checkbox }));
    return true;
  }

  /** Reads a status line. A checkbox at its start is the task's own; the word is what a tick changes where there is none. */
  function readStatus(task: TaskDraft, text: string, row: Row): void {
    if (text === "") return;
    const box = boxBehind(row, text);
    const said = box === undefined ? text : source.text(row.line).slice(box.end).trim();
    const word = words.stateIn(said);
    // `[x] Pending` and `[x] Not started [ ] Done` say another state than their first box.
    if (box !== undefined && (word === undefined || !isTicked(box.mark) || word.state === "done")) {
      task.checkbox ??= placeBox({ ...row, checkbox: box });
    }
    const position = source.position(row.line, row.column + row.text.lastIndexOf(said) + (word?.index ?? 0));
    // Without a box, a tick replaces what limits the word, too.
    const whole = word?.limited && box === undefined ? said.slice(word.index) : word?.word;
    const isUnclear = word === undefined ? /\p{L}/u.test(said) : word.limited;
    const ownWord = whole === undefined ? undefined : { text: whole, position };
    // The state may stand in the title already; a tick changes the word, too.
    if (task.status !== undefined) task.status.word ??= ownWord;
    task.status ??= {
      state: word === undefined ? stateBySign(said) : word.limited ? undefined : word.state,
      word: ownWord,
      ...(isUnclear && { unclear: { text: said, position } }),
    };
  }

  function ofPhase(phase: PhaseDraft, label: Label, row: Row): void {
    const { field, text } = label;
    if (field === "time") {
      if (text !== "") phase.duration ??= bare(text);
    } else if ((field === "goal" || field === "description") && phase.tasks.length === 0) {
      const add = (said: string) => {
        phase.goal = phase.goal === undefined ? said : `${phase.goal} ${said}`;
      };
      if (text === "") open.field = add;
      else if (field === "goal") phase.goal = text;
      else phase.goal ??= text;
    } else if (field === "dependencies") {
      readValue(text, row, (said) => phase.dependencies.push(said));
    } else if ((field === "criteria" || field === "success") && text === "") {
      openPhaseCriteria(row);
    } else if (field !== "tasks") {
      openOther(label, row);
    }
  }

  /** Opens the acceptance criteria of a phase or, outside of one, of the plan: those with a checkbox are items of its gate. */
  function openPhaseCriteria(row: Row, phase = open.phase): void {
    const gate = phase?.gate ?? planCriteria;
    // Those with a symbol count beside others with a checkbox.
    const done = (items: readonly PlanItem[]) => void (items.some(hasBox) && gate.push(...items));
    openBlock({ kind: "gate", owner: row, section: row.kind === "heading", boxes: true, done });
  }

  /** Reads the value of a label: the text after it, or the items of the list below it. */
  function readValue(text: string, row: Row, said: (text: string) => void): void {
    if (text !== "") return said(text);
    const done = (items: readonly PlanItem[]) => {
      for (const item of items) said(item.text);
    };
    openBlock({ kind: "list", owner: row, section: false, done });
  }

  /** Opens the list of a label without a meaning, whose boxes are no tasks; in a plan without ids, it may be above the tasks of a phase. */
  function openOther({ field, name, text }: Label, row: Row): void {
    if (open.isEmpty && !NO_WORK.test(name)) return;
    if ((text !== "" || (!outline.identified && field === "other")) && !NO_TASKS.test(name)) return;
    openBlock({ kind: "other", owner: row, section: false });
  }

  function openGateOf(phase: PhaseDraft, owner: Row, section: boolean, isChecklist = false): Block {
    const done = (items: readonly PlanItem[]) => void phase.gate.push(...items);
    return openBlock({ kind: "gate", owner, section, boxes: isChecklist, isChecklist, done });
  }

  function openBlock(start: Omit<Block, "items" | "done"> & Partial<Pick<Block, "done">>): Block {
    closeBlock();
    open.block = { done: () => {}, ...start, items: [] };
    return open.block;
  }

  function closeBlock(): void {
    const block = open.block;
    open.block = undefined;
    open.field = undefined;
    block?.done(itemsOf(block, words));
  }

  /** Checks whether an item belongs to the list of a label: below it, or in the lists that follow it. Boxes behind a label between tasks do not. */
  function isInside({ owner, items, kind, section, first, last }: Block, row: Row): boolean {
    if (section) return true;
    const field = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? row.label?.field : undefined;
    const isBelow = row.depth > (first ?? owner.depth);
    if (field !== undefined && field !== "other" && !isBelow) return false;
    if (isWithin(row, owner)) return true;
    if (owner.kind !== "item") return isWithin(row, owner.parent);
    if (row.parent !== owner.parent || (items.length > 0 && last !== row.depth)) return false;
    if (row.checkbox === undefined) return row.label === undefined;
    return kind === "gate" || taskAround(row) !== undefined || outline.identified;
  }

  /** Checks whether an item of a list is a task. Items of a gate may mention tasks that are elsewhere. */
  function beginsTask({ kind }: Block, row: Row): boolean {
    const { idOf, mentions } = outline;
    const id = idOf.get(row);
    if (open.phase === undefined || id === undefined || isBelowItem(row)) return false;
    return kind !== "gate" || (row.depth === 0 && mentions.get(id) === 1);
  }

  function isBelowItem(row: Row): boolean {
    const task = taskAround(row);
    return task !== undefined && task.level === undefined;
  }

  /** Checks whether an item is a task, by its id or, in a plan without ids, by its checkbox. */
  function isTask(row: Row): boolean {
    if (open.phase === undefined || (dialect.nested === "criteria" && isBelowItem(row))) return false;
    if (outline.idOf.has(row)) return true;
    // In a plan with ids, a checkbox without one is a task only among tasks; in the section of a task it is a criterion.
    return row.checkbox !== undefined && !open.aside && taskAround(row) === undefined;
  }

  /** Adds an item to a block: with its checkbox, as a bullet, or as a detail of the item before. */
  function collect(block: Block, row: Row): void {
    const { last = row.depth, kind, items } = block;
    const before = items.at(-1);
    if (row.checkbox === undefined) {
      if (block.boxes && !SYMBOL.test(row.text)) return;
      if (kind !== "other") told.add(row.line);
      if (before !== undefined && (row.depth > last || /^notes?$/i.test(row.label?.name ?? ""))) {
        before.details ??= [];
        before.details.push(row.text);
        return;
      }
    } else if (kind === "list" || kind === "other") {
      const task = taskAround(row);
      if (task !== undefined) addCriterion(task, row);
      const box = block.section ? placeBox(row) : undefined;
      const message = "this is a criterion of the whole plan: no phase requires it";
      if (box !== undefined) report.warn("CHECKBOX_OF_PLAN", box.position, message);
      return;
    } else {
      // A bullet above deeper checkboxes names their group.
      if (row.depth > last && before?.checkbox === undefined && before?.details === undefined) items.pop();
      told.add(row.line);
    }
    items.push(itemOf(row));
    block.first ??= row.depth;
    block.last = row.depth;
  }

  /** Adds the checkbox of a status line in the section of a gate, as the item that its title names. */
  function addStatusOfGate({ items, owner, section }: Block, { text }: Label, row: Row): boolean {
    const checkbox = boxBehind(row, text);
    if (!section || checkbox === undefined) return false;
    // The bullets before it are properties of the gate, such as its type.
    items.splice(0, items.length, ...items.filter(hasBox), itemOf({ ...row, text: owner.text, checkbox }));
    return true;
  }

  /** Adds the sentence of `**Checkpoint**: …`, which is the item of the gate if no list follows. */
  function addText(block: Block, { name, text }: Label, row: Row): void {
    if (text !== "" && !/quality|exit/i.test(name)) block.text ??= itemOf({ ...row, text });
  }

  /** Returns an item of a list, and marks its checkbox as placed. */
  function itemOf(row: Row): ItemDraft {
    const checkbox = placeBox(row);
    const mark = row.checkbox?.mark ?? "";
    const isDropped = isStruck(row.text) || marks(mark) === "dropped";
    return {
      text: bare(withoutComments(row.text)),
      checked: isTicked(mark),
      ...(isDropped && !isTicked(mark) && { dropped: true }),
      ...(checkbox && { checkbox }),
      position: at(row),
    };
  }

  function at({ line, column }: Row): PlanPosition {
    return source.position(line, column);
  }

  /** Returns the checkbox of a row, and marks it as placed. */
  function placeBox({ checkbox, line, nameLine }: Row): Checkbox | undefined {
    if (checkbox === undefined) return undefined;
    if (nameLine !== undefined) told.add(nameLine);
    const position = source.position(line, checkbox.column);
    placed.add(position.offset);
    return { mark: checkbox.mark, position };
  }

  /** Returns the phase with this key. Later phases are not found, because a gate follows its phase. */
  function phaseOf(key: string): PhaseDraft | undefined {
    return key === "final" ? phases.at(-1) : phases.findLast((phase) => phase.key === key);
  }

  function endTask(line: number): void {
    if (open.task !== undefined) open.task.endLine = Math.min(open.task.endLine, line);
    open.task = undefined;
  }

  function startPhase(start: PhaseStart, row: Row): PhaseDraft {
    closeBlock();
    endTask(row.line);
    open.gates = undefined;
    open.aside = false;
    open.isEmpty = empty.has(row);
    const { name, time: timeInTitle } = splitTime(start.name);
    const lists = { tasks: [], gate: [], dependencies: [] };
    open.phase = { ...start, row, name, position: at(row), number: 0, timeInTitle, ...lists };
    phases.push(open.phase);
    return open.phase;
  }

  /** Begins a task of the open phase. The task before ends. `level` is that of a heading. */
  function startTask(row: Row, level: number | undefined): void {
    closeBlock();
    endTask(row.line);
    open.aside = false;
    const forms = outline.identified ? ([...dialect.ids, "number"] as const) : dialect.ids;
    const line = readTaskLine(row.text, forms, outline.ids, words, outline.idOf.get(row));
    const phase = outline.grouped ? groupOf(line.id, line.name, row) : open.phase;
    if (phase === undefined) return;
    const task: TaskDraft = {
      row,
      line,
      level,
      position: at(row),
      id: "",
      state: "pending",
      time: line.time,
      parallel: line.parallel,
      checkbox: placeBox(row),
      status: statusInTitle(row.text, words),
      dependencies: line.dependencies === undefined ? [] : [line.dependencies],
      blocks: [],
      unread: [],
      criteria: [],
      inside: [],
      requirements: [...line.requirements],
      files: [...line.files],
      endLine: source.lines.length,
    };
    open.run += 1;
    taskAround(row)?.inside.push(task);
    open.task = task;
    tasks.set(row, task);
    phase.tasks.push(task);
    for (const cell of row.cells ?? []) ofTask(task, cell, row);
  }

  /** Gives the checkboxes of lists that repeat tasks to those without their own. */
  function readRepeated(): void {
    const { nameOf } = outline;
    for (const { row, task: own } of repeated) {
      const task = tasks.get(own);
      const isSame = sameName(nameOf.get(row) ?? "", nameOf.get(own) ?? "");
      if (isSame && task !== undefined && task.status === undefined) task.checkbox ??= placeBox(row);
    }
  }

  /** Returns the phase of a task in a plan without phase headings: by the number that its id, or that of a task below it, begins with. */
  function groupOf(id: string | undefined, name: string, row: Row): PhaseDraft | undefined {
    const known = id ?? idsBelow.get(row);
    const [, key] = /^(?:[a-z]+(?=\d+\.))?(\d+)/i.exec(known ?? "") ?? [];
    const phase = open.phase;
    if (key === undefined || phase === undefined || phase.key === key) return phase;
    const replaced = phase.tasks.length === 0;
    const isTitle = id === key || id === undefined;
    const title = isTitle ? name : replaced ? phase.name : "";
    if (replaced) phases.pop();
    const started = startPhase({ key, name: title, level: phase.level }, replaced && !isTitle ? phase.row : row);
    if (replaced) started.gate.push(...phase.gate);
    return started;
  }
}

/** The drafts of a plan, and what their reading has found. */
export type ReadPlan = ReturnType<typeof readRoles>;

/** Returns the items that count: all but the names of groups among checkboxes, else the text after the label. */
function itemsOf({ items, text }: Block, words: Vocabulary): readonly PlanItem[] {
  if (items.length === 0) return text === undefined ? [] : [text];
  const isGroup = (item: PlanItem) => item.details === undefined && labelOf(item.text, words)?.text === "";
  return items.some(hasBox) ? items.filter((item) => hasBox(item) || !isGroup(item)) : items;
}

function hasBox({ checkbox }: PlanItem): boolean {
  return checkbox !== undefined;
}

/** Signs before or behind a name, and words or a share in brackets, behind a dash or behind a sign at its end. */
const AT_BEGIN = /^[*_\s]*([\p{Extended_Pictographic}\p{So}✓✔✗✘]\uFE0F?)/u;
const AT_END = /([\p{Extended_Pictographic}✓✔✗✘]\uFE0F?)[*_\s]*$/u;
const STATE_AT_END =
  /(?:[([—–]|\s-|[\p{Extended_Pictographic}]\uFE0F?)\s*(\p{L}[\p{L} ]{2,16}|\d{1,3} ?(?:%|\/ ?\d{1,3}))[)\]]?[*_\s]*$/u;

/** Reads a state beside the name of a task without a checkbox: `✅ Task 1.1: Name`, `Task 1.1: Name (done)`, `… — DONE`, `… (80%)`. */
function statusInTitle(text: string, words: Vocabulary): TaskDraft["status"] {
  const end = (STATE_AT_END.exec(text.slice(-40))?.[1] ?? "").trim();
  const said = words.stateIn(end);
  const signs = [AT_BEGIN.exec(text)?.[1], AT_END.exec(text.slice(-40))?.[1], end].map((one) => stateBySign(one ?? ""));
  const state = said?.word.length === end.length ? said.state : signs.find((one) => one !== undefined);
  return state && { state };
}

function filesOf(text: string): readonly string[] {
  const paths = filesIn(text);
  return paths.length > 0 ? paths : [bare(text)];
}
