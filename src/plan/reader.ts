/**
 * Gives each row its role: a phase, a task, a criterion, an item of a gate, or a part of a description. What a row belongs
 * to follows from the tree: a box inside a task is its criterion, under whatever label, and no item belongs to another one
 * of the same list.
 */
import { checkboxAt, checkboxesIn, type FoundCheckbox, isTicked, SYMBOL } from "./boxes.js";
import type { Dialect, Marks } from "./dialects.js";
import { type Outline, type PhaseStart, sameName } from "./outline.js";
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
  fieldOf,
  isGateTitle,
  type Label,
  labelOf,
  mentionedPhase,
  NO_TASKS,
  NO_TASKS_HEADING,
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
        readonly word?: StatusWord;
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
export interface PhaseDraft {
  /** The number or letter as it is written; undefined if the source has none. */
  readonly key: string | undefined;
  readonly name: string;
  readonly level: number;
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
  /** True if labels name groups of its items. */
  grouped?: boolean;
  /** Receives the items when the block ends. */
  readonly done: (items: readonly PlanItem[]) => void;
}

/** The level of a line in bold that is used as a heading. */
const BOLD_LEVEL = 7;

/** Titles of lists about the whole plan. */
const OF_PLAN = /\b(?:(?:acceptance|success|completion) criteria|project completion|definition of done)\b/i;

/** Labels that belong to the last task even if they are not indented. */
const OF_TASKS = /^(?:criteria|dependencies|blocks|time|files|requirements|description|parallel|status)$/;

/** Reads the rows of a plan into drafts of phases and tasks. */
export class PlanReader {
  readonly context: Context;
  readonly phases: PhaseDraft[] = [];
  readonly tasks = new Map<Row, TaskDraft>();
  /** Offsets of the checkboxes with a place in the plan. */
  readonly placed = new Set<number>();
  /** Lines that are not part of a task's description, because the plan has them elsewhere. */
  readonly told = new Set<number>();
  /** Lines of which a part is nowhere else in the plan. */
  readonly untold = new Set<number>();
  /** Ids of subtasks in one line, `Subtasks: T001, T002`: their tasks are elsewhere. */
  readonly listed: { readonly row: Row; readonly text: string }[] = [];
  /** Items that a list of tasks elsewhere repeats, by the row of the task. */
  readonly repeated: { readonly row: Row; readonly task: Row }[] = [];
  /** The line of the last task right below a row, in a plan with ids. */
  readonly #lastIds = new Map<Row | undefined, number>();
  /** The first id below a row. */
  readonly #idsBelow = new Map<Row, string>();
  /** Items with a checkbox below the acceptance criteria of the whole plan. */
  readonly #planCriteria: PlanItem[] = [];
  #phase: PhaseDraft | undefined;
  #task: TaskDraft | undefined;
  #block: Block | undefined;
  /** The level of a heading such as `Phase Validation Gates`, below which the gates of all phases are. */
  #gates: number | undefined;
  /** True in a part of the phase without a task so far, such as its notes. */
  #aside = false;
  /** Number of tasks in the list above, without a line of the section between them. */
  #run = 0;
  /** Receives the text after a label without one. */
  #field: ((text: string, row: Row) => void) | undefined;

  constructor(context: Context) {
    this.context = context;
    for (const [task, id] of context.outline.idOf) {
      this.#lastIds.set(task.parent, Math.max(task.line, this.#lastIds.get(task.parent) ?? 0));
      for (let { parent } = task; parent !== undefined && !this.#idsBelow.has(parent); { parent } = parent) {
        this.#idsBelow.set(parent, id);
      }
    }
  }

  read(): void {
    const { rows, outline } = this.context;
    for (const row of rows) {
      const start = outline.starts.get(row);
      if (row === outline.untitled) this.#startPhase({ key: undefined, name: "Tasks", level: 0 }, row);
      if (start !== undefined) this.#startPhase(start, row);
      else if (row.kind === "heading") this.#readHeading(row);
      else if (row.kind === "rule") this.#close();
      else if (row.kind === "item") this.#readItem(row);
      else if (row.kind === "cells") this.#readCells(row);
      else this.#readText(row);
      if (row.kind === "heading" || (row.kind === "text" && row.depth === -1)) this.#run = 0;
    }
    this.#close();
    this.#readRepeated();
    this.phases.at(-1)?.gate.push(...this.#planCriteria);
  }

  #readHeading(row: Row): void {
    const { outline, words, dialect } = this.context;
    const block = this.#block;
    const isPart = block?.section === true && isWithin(row, block.owner) && !outline.idOf.has(row);
    const mentioned = mentionedPhase(row.text);
    if (isPart && (block.kind === "other" || mentioned === undefined)) return;
    this.#close();
    const [task, phase] = [this.#task, this.#phase];
    if (this.#gates !== undefined && row.depth <= this.#gates) this.#gates = undefined;
    if (this.#isTaskHeading(row)) return this.#startTask(row, row.depth);
    const isCheck =
      /^[^\p{L}]*(?:validation|verification)[^\p{L}]*$/iu.test(row.text) && this.#taskAround(row) === undefined;
    const isGate = isCheck || isGateTitle(row.text) || (this.#gates !== undefined && mentioned !== undefined);
    if (isGate && (mentioned !== undefined || !this.#isBetweenTasks(row))) return this.#startGate(row, mentioned);
    const field = isGate ? "criteria" : fieldOf(row.text, words);
    const inTask = task?.level !== undefined && row.depth > task.level;
    // Criteria behind the section of a task are its own, and so are those in a section that goes on with other tasks.
    const isBehind =
      field === "criteria" && task !== undefined && (task.level !== undefined || this.#idsBelow.has(row));
    if (inTask || (isBehind && phase !== undefined && row.depth > phase.level)) {
      return this.#readLabel({ field, name: row.text, text: "" }, row);
    }
    if (phase !== undefined && row.depth <= phase.level) this.#phase = undefined;
    this.#endTask(row.line);
    this.#aside = outline.identified || NO_TASKS_HEADING.test(row.text);
    const isCriteria = field === "success" || field === "criteria";
    // Outside of a phase, they are those of the plan: of its only phase in a dialect with one section of tasks.
    if (isCriteria && (this.#phase !== undefined || dialect.section !== undefined)) this.#openPhaseCriteria(row);
    else if (this.#phase === undefined && (isCriteria || OF_PLAN.test(row.text))) {
      this.#open({ kind: "other", owner: row, section: true });
    }
  }

  /** Checks whether a heading is a task: with the word "task", a `T012`, or `1.2` below the heading of phase 1. */
  #isTaskHeading(row: Row): boolean {
    const { idOf, ids } = this.context.outline;
    const [id, phase] = [idOf.get(row), this.#phase];
    if (phase === undefined || id === undefined) return false;
    if (!/^\d/.test(id) || ids.isNamed(row.text.replace(/^[^\p{L}\p{N}]+/u, ""))) return true;
    const isOfPhase = phase.key !== undefined && id.startsWith(`${phase.key}.`);
    return row.depth > phase.level && (isOfPhase || /^\d+[a-z]$/.test(id));
  }

  /** Checks whether a row is inside the section of a task that others of its phase follow: the gate of the phase is behind them. */
  #isBetweenTasks(row: Row): boolean {
    const task = this.#taskAround(row);
    return task?.row.kind === "heading" && (this.#lastIds.get(task.row.parent) ?? 0) > row.line;
  }

  /** Opens the section of a gate: of the phase that its title names, else of the last phase. */
  #startGate(row: Row, mentioned: string | undefined): void {
    this.#endTask(row.line);
    if (mentioned === undefined && /\bgates\b/i.test(row.text)) {
      this.#gates = row.depth;
      this.#phase = undefined;
      return;
    }
    const phase = mentioned === undefined ? this.phases.at(-1) : (this.#phaseOf(mentioned) ?? this.#phase);
    if (phase !== undefined) this.#openGateOf(phase, row, true);
  }

  #readItem(row: Row): void {
    const { legend, outline, dialect } = this.context;
    if (legend.has(row)) return;
    const block = this.#block;
    this.#field = undefined;
    if (block !== undefined) {
      if (this.#isInside(block, row) && !this.#beginsTask(block, row)) {
        const isStatus = block.kind === "gate" && row.label?.field === "status" && row.checkbox === undefined;
        return isStatus && this.#addStatusOfGate(block, row.label, row) ? undefined : this.#collect(block, row);
      }
      this.#close();
    }
    const inTask = this.#taskAround(row);
    const repeated = outline.repeats.get(row);
    if (repeated !== undefined && inTask === undefined) {
      if (row.checkbox !== undefined) this.repeated.push({ row, task: repeated });
    } else if (this.#isTask(row)) {
      this.#startTask(row, undefined);
    } else if (row.checkbox === undefined) {
      if (row.label !== undefined && this.#phase !== undefined) this.#readLabel(row.label, row);
    } else if (inTask !== undefined) {
      this.#addCriterion(inTask, row);
    } else if (dialect.section !== undefined) {
      // In a dialect with one section of tasks, the checklists of the others must hold at its end.
      this.#planCriteria.push(this.#item(row));
    }
  }

  #addCriterion(task: TaskDraft, row: Row): void {
    task.criteria.push(this.#item(row));
    this.told.add(row.line);
  }

  /** Reads a row of a table: in a task and in a gate, its boxes are items, named by its other cells. */
  #readCells(row: Row): void {
    const block = this.#block;
    const isItems = (block?.kind === "gate" || block?.kind === "criteria") && this.#isInside(block, row);
    const items = isItems ? block.items : this.#taskAround(row)?.criteria;
    if (items === undefined) return;
    for (const box of checkboxesIn(row.text)) {
      if (!beginsCell(row.text, box)) continue;
      const cells = row.text.split("|").map((cell) => cell.trim());
      const text = cells.filter((cell) => /\p{L}/u.test(cell) && checkboxAt(cell, 0) === undefined).join(" · ");
      const checkbox = { ...box, column: box.column + row.column };
      items.push(this.#item({ ...row, text: text === "" ? row.text : text, checkbox }));
    }
  }

  #readText(row: Row): void {
    const { label } = row;
    const [phase, field, block] = [this.#phase, this.#field, this.#block];
    if (phase !== undefined && this.context.outline.idOf.has(row)) {
      this.#close();
      this.#startTask(row, BOLD_LEVEL);
    } else if (label !== undefined) {
      if (phase !== undefined || this.#gates !== undefined || label.field === "gate")
        this.#readGroupedLabel(label, row);
    } else if (field !== undefined) {
      field(row.text, row);
    } else if (block?.kind === "gate" && block.items.length === 0) {
      // The sentence in the section of a gate without a list.
      if (block.section && !block.boxes && !/[:：]\s*\**$/.test(row.text)) block.text ??= this.#item(row);
    } else if (phase?.tasks.length === 0 && block === undefined && /^[\p{L}\p{N}`"'*_]/u.test(row.text)) {
      phase.goal ??= row.text;
    }
  }

  /** Reads a label. Below a heading for all gates, a line in bold may name the phase of the items after it. */
  #readGroupedLabel(label: Label, row: Row): void {
    const isBold = /^(\*\*|__)[^*]+\1:?$/.test(row.text);
    const mentioned = this.#gates === undefined || !isBold ? undefined : mentionedPhase(label.name);
    const phase = mentioned === undefined ? undefined : this.#phaseOf(mentioned);
    if (phase === undefined || label.field !== "other" || /^before\b/i.test(label.name)) this.#readLabel(label, row);
    else this.#openGateOf(phase, row, true);
  }

  #readLabel(label: Label, row: Row): void {
    const { field, name, text } = label;
    const block = this.#block;
    if (block !== undefined) {
      const isFirst = block.items.length === 0;
      // A label in an item of the list is a part of that item.
      const item = field === "other" && row.kind === "text" && row.parent?.kind === "item" ? row.parent : undefined;
      if (item !== undefined && !isFirst && this.#isInside(block, item)) return;
      if (block.kind === "gate") {
        if (field === "status" && this.#addStatusOfGate(block, label, row)) return;
        // Such a label groups the items of the gate, or precedes them.
        if ((block.section || isFirst) && /^(?:other|gate|success|criteria)$/.test(field)) {
          if (field === "gate") this.#addText(block, label, row);
          return;
        }
      }
      if (block.kind === "criteria" && field === "other" && text === "") {
        // A label before the first criterion, or after such a label, names a group of them.
        block.grouped ||= isFirst;
        if (block.grouped) return;
      }
    }
    this.#close();
    const around = this.#taskAround(row);
    const inItem = around !== undefined && around.level === undefined;
    const mentioned = mentionedPhase(name);
    const isOwn = inItem || (mentioned === undefined && this.#isBetweenTasks(row));
    const ofPhase = !isOwn && (field === "gate" || (field === "success" && /\bphase\b/i.test(name)));
    if (field === "gate" && (ofPhase || /\bphase\b/i.test(name))) {
      const phase = (mentioned === undefined ? undefined : this.#phaseOf(mentioned)) ?? this.#phase;
      if (phase === undefined) return;
      this.told.add(row.line);
      return this.#addText(this.#openGateOf(phase, row, false), label, row);
    }
    const task = ofPhase ? undefined : (around ?? this.#taskBefore(label, row));
    if (task !== undefined) return this.#ofTask(task, label, row);
    if (row.kind !== "heading" && row.parent !== undefined && this.#looksLikeTask(row.parent)) {
      if (!/^(?:dependencies|status|blocks)$/.test(field)) return;
      const message = `'${name}' stands in '${row.parent.text}', which is not read as a task: it has no checkbox and no id`;
      this.context.report.warn("TASK_UNREAD", this.#at(row), message);
    } else if (this.#phase !== undefined) {
      this.#ofPhase(this.#phase, label, row);
    }
  }

  /** Returns the nearest task above a row in the tree, or the task whose line in bold is above it. */
  #taskAround(row: Row): TaskDraft | undefined {
    const above = ancestorsOf(row).find((parent) => this.tasks.has(parent));
    if (above !== undefined) return this.tasks.get(above);
    return this.#task?.level === BOLD_LEVEL ? this.#task : undefined;
  }

  /** Returns the task of a label that stands behind it in place of inside of it. An item with boxes below is none. */
  #taskBefore({ field }: Label, row: Row): TaskDraft | undefined {
    const { parent } = row;
    const isOfOther = parent?.kind === "item" && parent.checkbox === undefined && !/[:：][*_]*$/.test(parent.text);
    if (!OF_TASKS.test(field) || isOfOther) return undefined;
    // Criteria that are not indented are those of one task, not of several in a list, unless other tasks follow.
    const isBetween = row.kind === "heading" || this.#run === 1 || (this.#lastIds.get(row.parent) ?? 0) > row.line;
    return field !== "criteria" || (row.kind !== "item" && isBetween) ? this.#task : undefined;
  }

  /** Checks whether a row that is no task may be one to people: an item, or a heading with a number. */
  #looksLikeTask(row: Row): boolean {
    const { starts, ids } = this.context.outline;
    return row.kind === "item" || (!starts.has(row) && ids.read(titleOf(row), ["number"]) !== undefined);
  }

  #ofTask(task: TaskDraft, label: Label, row: Row): void {
    const { field, text, name } = label;
    const isTold = field !== "description" && field !== "goal" && field !== "tasks" && field !== "other";
    if (isTold) this.told.add(row.line);
    switch (field) {
      case "time":
        if (text !== "") task.time ??= bare(text);
        return;
      case "status":
        this.#readStatus(task, text, row);
        if (text === "") this.#field = (said, below) => this.#readStatus(task, said, below);
        return;
      case "parallel":
        task.parallel = /^(?:y|true)/i.test(text);
        return;
      case "dependencies":
        return this.#readValue(text, row, (said) => task.dependencies.push(said));
      case "blocks":
        task.blocks.push(text);
        return;
      case "files":
        return this.#readValue(text, row, (said) => task.files.push(...filesOf(said)));
      case "requirements":
        return this.#readValue(text, row, (said) => task.requirements.push(...readReferences(bare(said))));
      case "criteria":
      case "success":
      case "gate": {
        if (/sub-?tasks/i.test(name) && namesOnlyIds(text)) return void this.listed.push({ row, text });
        const item = text === "" ? undefined : this.#item({ ...row, text });
        const done = (items: readonly PlanItem[]) => void task.criteria.push(...items);
        this.#open({ kind: "criteria", owner: row, section: false, text: item, done });
        return;
      }
      default:
        if (text !== "") this.untold.add(row.line);
        if (namesOnlyTasks(text)) task.unread.push(label);
        if (!this.#readBoxBehind(task, label, row)) this.#openOther(label, row);
    }
  }

  /** Returns the box at the start of a text in a row. */
  #boxBehind(row: Row, text: string): FoundCheckbox | undefined {
    return checkboxAt(this.context.source.text(row.line), row.column + row.text.lastIndexOf(text), true);
  }

  /** Reads a box right behind a label: `Done: [x]` is the task's own, `Tests: [x] pass` a criterion. */
  #readBoxBehind(task: TaskDraft, { name, text }: Label, row: Row): boolean {
    const checkbox = this.#boxBehind(row, text);
    if (text === "" || checkbox === undefined || row.checkbox !== undefined) return false;
    const isOwn = task.checkbox === undefined && this.context.words.stateIn(name)?.state === "done";
    if (isOwn) task.checkbox = this.#checkbox({ ...row, checkbox });
    else task.criteria.push(this.#item({ ...row, checkbox }));
    this.told.add(row.line);
    return true;
  }

  /** Reads a status line. A checkbox at its start is the task's own; the word is what a tick changes where there is none. */
  #readStatus(task: TaskDraft, text: string, row: Row): void {
    if (text === "") return;
    const { source, words } = this.context;
    const box = this.#boxBehind(row, text);
    const said = box === undefined ? text : source.text(row.line).slice(box.end).trim();
    const word = words.stateIn(said);
    // `[x] Pending` and `[x] Not started [ ] Done` say another state than their first box.
    const agrees = word === undefined || !isTicked(box?.mark ?? "") || word.state === "done";
    if (box !== undefined && agrees) task.checkbox ??= this.#checkbox({ ...row, checkbox: box });
    const position = source.position(row.line, row.column + row.text.lastIndexOf(said) + (word?.index ?? 0));
    // Without a box, a tick replaces what limits the word, too.
    const whole = word?.limited && box === undefined ? said.slice(word.index) : word?.word;
    const isUnclear = word === undefined ? /\p{L}/u.test(said) : word.limited;
    task.status ??= {
      state: word === undefined ? stateBySign(said) : word.limited ? undefined : word.state,
      ...(whole !== undefined && { word: { text: whole, position } }),
      ...(isUnclear && { unclear: { text: said, position } }),
    };
  }

  #ofPhase(phase: PhaseDraft, label: Label, row: Row): void {
    const { field, text } = label;
    if (field === "time") {
      if (text !== "") phase.duration ??= bare(text);
    } else if ((field === "goal" || field === "description") && phase.tasks.length === 0) {
      const add = (said: string) => {
        phase.goal = phase.goal === undefined ? said : `${phase.goal} ${said}`;
      };
      if (text === "") this.#field = add;
      else if (field === "goal") phase.goal = text;
      else phase.goal ??= text;
    } else if (field === "dependencies") {
      this.#readValue(text, row, (said) => phase.dependencies.push(said));
    } else if ((field === "criteria" || field === "success") && text === "") {
      this.#openPhaseCriteria(row);
    } else if (field !== "tasks") {
      this.#openOther(label, row);
    }
  }

  /** Opens the acceptance criteria of a phase or, outside of one, of the plan: those with a checkbox are items of its gate. */
  #openPhaseCriteria(row: Row): void {
    const gate = this.#phase?.gate ?? this.#planCriteria;
    // Those with a symbol count beside others with a checkbox.
    const done = (items: readonly PlanItem[]) => void (items.some(hasBox) && gate.push(...items));
    this.#open({ kind: "gate", owner: row, section: row.kind === "heading", boxes: true, done });
  }

  /** Reads the value of a label: the text after it, or the items of the list below it. */
  #readValue(text: string, row: Row, said: (text: string) => void): void {
    if (text !== "") return said(text);
    const done = (items: readonly PlanItem[]) => {
      for (const item of items) said(item.text);
    };
    this.#open({ kind: "list", owner: row, section: false, done });
  }

  /** Opens the list of a label without a meaning, whose boxes are no tasks; in a plan without ids, it may be above the tasks of a phase. */
  #openOther({ field, name, text }: Label, row: Row): void {
    if ((text !== "" || (!this.context.outline.identified && field === "other")) && !NO_TASKS.test(name)) return;
    this.#open({ kind: "other", owner: row, section: false });
  }

  #openGateOf(phase: PhaseDraft, owner: Row, section: boolean): Block {
    return this.#open({ kind: "gate", owner, section, done: (items) => void phase.gate.push(...items) });
  }

  #open(start: Omit<Block, "items" | "done"> & Partial<Pick<Block, "done">>): Block {
    this.#close();
    this.#block = { done: () => {}, ...start, items: [] };
    return this.#block;
  }

  #close(): void {
    const block = this.#block;
    this.#block = undefined;
    this.#field = undefined;
    block?.done(itemsOf(block, this.context.words));
  }

  /** Checks whether an item belongs to the list of a label: below it, or in the lists that follow it. Boxes behind a label between tasks do not. */
  #isInside({ owner, items, kind, section, first, last }: Block, row: Row): boolean {
    if (section) return true;
    const field = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? row.label?.field : undefined;
    const isBelow = row.depth > (items.length > 0 ? (first ?? owner.depth) : owner.depth);
    if (field !== undefined && field !== "other" && !isBelow) return false;
    if (isWithin(row, owner)) return true;
    if (owner.kind !== "item") return isWithin(row, owner.parent);
    if (row.parent !== owner.parent || (items.length > 0 && last !== row.depth)) return false;
    if (row.checkbox === undefined) return row.label === undefined;
    return kind === "gate" || this.#taskAround(row) !== undefined || this.context.outline.identified;
  }

  /** Checks whether an item of a list is a task. Items of a gate may mention tasks that are elsewhere. */
  #beginsTask({ kind }: Block, row: Row): boolean {
    const { idOf, mentions } = this.context.outline;
    const id = idOf.get(row);
    if (this.#phase === undefined || id === undefined || this.#isBelowItem(row)) return false;
    return kind !== "gate" || (row.depth === 0 && mentions.get(id) === 1);
  }

  #isBelowItem(row: Row): boolean {
    const task = this.#taskAround(row);
    return task !== undefined && task.level === undefined;
  }

  /** Checks whether an item is a task, by its id or, in a plan without ids, by its checkbox. */
  #isTask(row: Row): boolean {
    const { dialect, outline } = this.context;
    if (this.#phase === undefined || (dialect.nested === "criteria" && this.#isBelowItem(row))) return false;
    if (outline.idOf.has(row)) return true;
    // In a plan with ids, a checkbox without one is a task only among tasks; in the section of a task it is a criterion.
    return row.checkbox !== undefined && !this.#aside && this.#taskAround(row) === undefined;
  }

  /** Adds an item to a block: with its checkbox, as a bullet, or as a detail of the item before. */
  #collect(block: Block, row: Row): void {
    const { last = row.depth, kind, items } = block;
    const before = items.at(-1);
    if (row.checkbox === undefined) {
      if (block.boxes && !SYMBOL.test(row.text)) return;
      if (kind !== "other") this.told.add(row.line);
      if (before !== undefined && (row.depth > last || /^notes?$/i.test(row.label?.name ?? ""))) {
        before.details ??= [];
        before.details.push(row.text);
        return;
      }
    } else if (kind === "list" || kind === "other") {
      const task = this.#taskAround(row);
      if (task !== undefined) this.#addCriterion(task, row);
      else if (block.section) this.#reportOfPlan(row);
      return;
    } else {
      // A bullet above deeper checkboxes names their group.
      if (row.depth > last && before?.checkbox === undefined && before?.details === undefined) items.pop();
      this.told.add(row.line);
    }
    items.push(this.#item(row));
    block.first ??= row.depth;
    block.last = row.depth;
  }

  /** Reports the checkbox of a criterion of the whole plan: no phase and no task requires it. */
  #reportOfPlan(row: Row): void {
    const box = this.#checkbox(row);
    if (box === undefined) return;
    const message = "this is a criterion of the whole plan: no phase requires it";
    this.context.report.warn("CHECKBOX_OF_PLAN", box.position, message);
  }

  /** Adds the checkbox of a status line in the section of a gate, as the item that its title names. */
  #addStatusOfGate({ items, owner, section }: Block, { text }: Label, row: Row): boolean {
    const checkbox = this.#boxBehind(row, text);
    if (!section || checkbox === undefined) return false;
    // The bullets before it are properties of the gate, such as its type.
    items.splice(0, items.length, ...items.filter(hasBox), this.#item({ ...row, text: owner.text, checkbox }));
    return true;
  }

  /** Adds the sentence of `**Checkpoint**: …`, which is the item of the gate if no list follows. */
  #addText(block: Block, { name, text }: Label, row: Row): void {
    if (text !== "" && !/quality|exit/i.test(name)) block.text ??= this.#item({ ...row, text });
  }

  /** Returns an item of a list, and marks its checkbox as placed. */
  #item(row: Row): ItemDraft {
    const checkbox = this.#checkbox(row);
    const mark = row.checkbox?.mark ?? "";
    const isDropped = isStruck(row.text) || this.context.marks(mark) === "dropped";
    return {
      text: bare(withoutComments(row.text)),
      checked: isTicked(mark),
      ...(isDropped && !isTicked(mark) && { dropped: true }),
      ...(checkbox && { checkbox }),
      position: this.#at(row),
    };
  }

  #at({ line, column }: Row): PlanPosition {
    return this.context.source.position(line, column);
  }

  /** Returns the checkbox of a row, and marks it as placed. */
  #checkbox({ checkbox, line }: Row): Checkbox | undefined {
    if (checkbox === undefined) return undefined;
    const position = this.context.source.position(line, checkbox.column);
    this.placed.add(position.offset);
    return { mark: checkbox.mark, position };
  }

  /** Returns the phase with this key. Later phases are not found, because a gate follows its phase. */
  #phaseOf(key: string): PhaseDraft | undefined {
    return key === "final" ? this.phases.at(-1) : this.phases.findLast((phase) => phase.key === key);
  }

  /** Ends the open task before a line. */
  #endTask(line: number): void {
    if (this.#task !== undefined) this.#task.endLine = Math.min(this.#task.endLine, line);
    this.#task = undefined;
  }

  #startPhase({ key, name, level }: PhaseStart, row: Row): PhaseDraft {
    this.#close();
    this.#endTask(row.line);
    this.#gates = undefined;
    this.#aside = false;
    const { name: bareName, time } = splitTime(name);
    this.#phase = {
      key,
      name: bareName,
      level,
      position: this.#at(row),
      number: 0,
      timeInTitle: time,
      tasks: [],
      gate: [],
      dependencies: [],
    };
    this.phases.push(this.#phase);
    return this.#phase;
  }

  /** Begins a task of the open phase. The task before ends. `level` is that of a heading. */
  #startTask(row: Row, level: number | undefined): void {
    this.#close();
    this.#endTask(row.line);
    this.#aside = false;
    const { outline, dialect, words, source } = this.context;
    const forms = outline.identified ? ([...dialect.ids, "number"] as const) : dialect.ids;
    const line = readTaskLine(row.text, forms, outline.ids, words, outline.idOf.get(row));
    const phase = outline.grouped ? this.#groupOf(line.id, line.name, row) : this.#phase;
    if (phase === undefined) return;
    const task: TaskDraft = {
      row,
      line,
      level,
      position: this.#at(row),
      id: "",
      state: "pending",
      time: line.time,
      parallel: line.parallel,
      checkbox: this.#checkbox(row),
      status: row.checkbox === undefined ? statusInTitle(row.text, words) : undefined,
      dependencies: line.dependencies === undefined ? [] : [line.dependencies],
      blocks: [],
      unread: [],
      criteria: [],
      inside: [],
      requirements: [...line.requirements],
      files: [...line.files],
      endLine: source.lines.length,
    };
    if (level === undefined) this.#run += 1;
    this.#taskAround(row)?.inside.push(task);
    this.#task = task;
    this.tasks.set(row, task);
    phase.tasks.push(task);
    for (const cell of row.cells ?? []) this.#ofTask(task, cell, row);
  }

  /** Gives the checkboxes of lists that repeat tasks to those without their own. */
  #readRepeated(): void {
    const { nameOf } = this.context.outline;
    for (const { row, task: own } of this.repeated) {
      const task = this.tasks.get(own);
      const isSame = sameName(nameOf.get(row) ?? "", nameOf.get(own) ?? "");
      if (isSame && task !== undefined && task.status === undefined) task.checkbox ??= this.#checkbox(row);
    }
  }

  /** Returns the phase of a task in a plan without phase headings: by the number that its id, or that of a task below it, begins with. */
  #groupOf(id: string | undefined, name: string, row: Row): PhaseDraft | undefined {
    const known = id ?? this.#idsBelow.get(row);
    const [, key] = /^(?:[a-z]+(?=\d+\.))?(\d+)/i.exec(known ?? "") ?? [];
    const phase = this.#phase;
    if (key === undefined || phase === undefined || phase.key === key) return phase;
    const title = id === key || id === undefined ? name : phase.key === undefined ? phase.name : "";
    const replaced = phase.key === undefined && phase.tasks.length === 0;
    if (replaced) this.phases.pop();
    const started = this.#startPhase({ key, name: title, level: phase.level }, row);
    if (replaced) started.gate.push(...phase.gate);
    return started;
  }
}

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
  const end = STATE_AT_END.exec(text.slice(-40))?.[1]?.trim() ?? "";
  const said = words.stateIn(end);
  const signs = [AT_BEGIN.exec(text)?.[1], AT_END.exec(text.slice(-40))?.[1], end].map((one) => stateBySign(one ?? ""));
  const state = said?.word.length === end.length && end !== "" ? said.state : signs.find((one) => one !== undefined);
  return state && { state };
}

function filesOf(text: string): readonly string[] {
  const paths = filesIn(text);
  return paths.length > 0 ? paths : [bare(text)];
}
