/**
 * Gives each row its role: a phase, a task, a criterion, an item of a gate, or a part of a description. What a row belongs
 * to follows from the tree: a box inside a task is its criterion, under whatever label, and no item belongs to another one
 * of the same list.
 */
import { checkboxAt, checkboxesIn, type FoundCheckbox, isTicked, SYMBOL } from "./boxes.js";
import { type Dialect, type ItemDraft, itemsOf, type Marks, type PhaseDraft, type TaskDraft } from "./drafts.js";
import type { TaskIds } from "./ids.js";
import { type Outline, type PhaseStart, sameName } from "./outline.js";
import type { Checkbox, PlanItem } from "./plan.js";
import { ancestorsOf, beginsCell, isWithin, type Row, titleOf } from "./rows.js";
import type { SourceText } from "./source.js";
import { bare, filesIn, isStruck, readReferences, readTaskLine, splitTime, withoutComments } from "./task-line.js";
import {
  type Field,
  fieldOf,
  isGateTitle,
  type Label,
  mentionedPhase,
  NO_TASKS,
  NO_TASKS_HEADING,
  namesOnlyIds,
  namesOnlyTasks,
} from "./titles.js";
import { stateBySign, type Vocabulary } from "./words.js";

/** The rows below a label or a heading. */
interface Block {
  readonly kind: "criteria" | "gate" | "list" | "other";
  /** The label or heading. */
  readonly owner: Row;
  /** True for a section, which labels without a meaning don't end. */
  readonly section: boolean;
  /** The text after the label: the item, if no list follows. */
  readonly text?: PlanItem | undefined;
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

/** A block before its items. */
type BlockStart = Omit<Block, "items" | "first" | "last" | "grouped">;

/** The level of a line in bold that is used as a heading. */
const BOLD_LEVEL = 7;

/** Titles of lists about the whole plan. */
const OF_PLAN = /\b(?:(?:acceptance|success|completion) criteria|project completion|definition of done)\b/i;

/** Labels that belong to the last task even if they are not indented. */
const OF_TASKS: ReadonlySet<Field> = new Set([
  ...([
    "criteria",
    "dependencies",
    "blocks",
    "time",
    "files",
    "requirements",
    "description",
    "parallel",
    "status",
  ] as const),
]);

/** Reads the rows of a plan into drafts of phases and tasks. */
export class PlanReader {
  readonly source: SourceText;
  readonly dialect: Dialect;
  readonly outline: Outline;
  readonly words: Vocabulary;
  /** Items that explain marks. */
  readonly legend: ReadonlySet<Row>;
  /** The meaning of marks. */
  readonly marks: Marks;
  readonly phases: PhaseDraft[] = [];
  /** Offsets of the checkboxes with a place in the plan. */
  readonly placed = new Set<number>();
  /** Lines that are not part of a task's description, because the plan has them elsewhere. */
  readonly told = new Set<number>();
  /** Lines of which a part is nowhere else in the plan. */
  readonly untold = new Set<number>();
  /** Ids of subtasks in one line, `Subtasks: T001, T002`: their tasks are elsewhere. */
  readonly listed: { readonly row: Row; readonly text: string }[] = [];
  /** Labels in items that are no tasks. */
  readonly ofOthers: { readonly row: Row; readonly label: Label }[] = [];
  /** Items with a checkbox that are criteria of the whole plan. */
  readonly ofPlan: Row[] = [];
  /** Items that a list of tasks elsewhere repeats, by the row of the task. */
  readonly repeated: { readonly row: Row; readonly task: Row }[] = [];
  readonly #tasks = new Map<Row, TaskDraft>();
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

  constructor(
    source: SourceText,
    dialect: Dialect,
    outline: Outline,
    words: Vocabulary,
    legend: ReadonlySet<Row>,
    marks: Marks,
  ) {
    this.marks = marks;
    this.source = source;
    this.dialect = dialect;
    this.outline = outline;
    this.words = words;
    this.legend = legend;
    for (const [task, id] of outline.idOf) {
      this.#lastIds.set(task.parent, Math.max(task.line, this.#lastIds.get(task.parent) ?? 0));
      for (let { parent } = task; parent !== undefined && !this.#idsBelow.has(parent); { parent } = parent) {
        this.#idsBelow.set(parent, id);
      }
    }
  }

  read(rows: readonly Row[]): void {
    for (const row of rows) {
      const start = this.outline.starts.get(row);
      if (row === this.outline.untitled) this.#startPhase({ key: undefined, name: "Tasks", level: 0 }, row);
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
    const block = this.#block;
    const isPart = block?.section === true && isWithin(row, block.owner) && !this.outline.idOf.has(row);
    if (isPart && (block.kind === "other" || !mentionedPhase(row.text))) return;
    this.#close();
    const [task, phase] = [this.#task, this.#phase];
    if (this.#gates !== undefined && row.depth <= this.#gates) this.#gates = undefined;
    if (this.#isTaskHeading(row)) return this.#startTask(row, row.depth);
    const mentioned = mentionedPhase(row.text);
    const isCheck =
      /^[^\p{L}]*(?:validation|verification)[^\p{L}]*$/iu.test(row.text) && this.#taskAround(row) === undefined;
    const isGate = isCheck || isGateTitle(row.text) || (this.#gates !== undefined && mentioned !== undefined);
    if (isGate && (mentioned !== undefined || !this.#isBetweenTasks(row))) {
      return this.#startGate(row, mentioned);
    }
    const field = isGate ? "criteria" : fieldOf(row.text, this.words);
    const inTask = task?.level !== undefined && row.depth > task.level;
    // Criteria behind the section of a task are its own, and so are those in a section that goes on with other tasks.
    const isBehind =
      field === "criteria" && task !== undefined && (task.level !== undefined || this.#idsBelow.has(row));
    if (inTask || (isBehind && phase !== undefined && row.depth > phase.level)) {
      return this.#readLabel({ field, name: row.text, text: "" }, row);
    }
    if (phase !== undefined && row.depth <= phase.level) this.#endPhase(row.line);
    this.#endTask(row.line);
    this.#aside = this.outline.identified || NO_TASKS_HEADING.test(row.text);
    const isCriteria = field === "success" || field === "criteria";
    // Outside of a phase, they are those of the plan: of its only phase in a dialect with one section of tasks.
    if (isCriteria && (this.#phase !== undefined || this.dialect.section !== undefined)) this.#openPhaseCriteria(row);
    else if (this.#phase === undefined && (isCriteria || OF_PLAN.test(row.text))) {
      this.#open({ kind: "other", owner: row, section: true, done: () => {} });
    }
  }

  /** Checks whether a heading is a task: with the word "task", a `T012`, or `1.2` below the heading of phase 1. */
  #isTaskHeading(row: Row): boolean {
    const id = this.outline.idOf.get(row);
    const phase = this.#phase;
    if (phase === undefined || id === undefined) return false;
    if (!/^\d/.test(id) || this.outline.ids.isNamed(row.text.replace(/^[^\p{L}\p{N}]+/u, ""))) return true;
    const isOfPhase = phase.key !== undefined && id.startsWith(`${phase.key}.`);
    return row.depth > phase.level && (isOfPhase || /^\d+[a-z]$/.test(id));
  }

  /** Checks whether a row is inside the section of a task that others of its phase follow: the gate of the phase is behind them. */
  #isBetweenTasks(row: Row): boolean {
    const task = this.#taskAround(row);
    const heading = task?.row.kind === "heading" ? task.row : undefined;
    return heading !== undefined && (this.#lastIds.get(heading.parent) ?? 0) > row.line;
  }

  /** Opens the section of a gate: of the phase that its title names, else of the last phase. */
  #startGate(row: Row, mentioned: string | undefined): void {
    this.#endTask(row.line);
    const phase = mentioned === undefined ? this.phases.at(-1) : (this.#phaseOf(mentioned) ?? this.#phase);
    if (mentioned === undefined && /\bgates\b/i.test(row.text)) {
      this.#gates = row.depth;
      this.#endPhase(row.line);
    } else if (phase !== undefined) {
      this.#openGateOf(phase, row, true);
    }
  }

  #readItem(row: Row): void {
    if (this.legend.has(row)) return;
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
    const repeated = this.outline.repeats.get(row);
    if (repeated !== undefined && inTask === undefined) {
      if (row.checkbox !== undefined) this.repeated.push({ row, task: repeated });
      return;
    }
    if (this.#isTask(row)) return this.#startTask(row, undefined);
    if (row.checkbox === undefined) {
      if (row.label !== undefined && this.#phase !== undefined) this.#readLabel(row.label, row);
    } else if (inTask !== undefined) {
      this.#addCriterion(inTask, row);
    } else if (this.dialect.section !== undefined) {
      // In a dialect with one section of tasks, the checklists of the others must hold at its end.
      this.#planCriteria.push(this.#item(row));
    }
  }

  #addCriterion(task: TaskDraft, row: Row): void {
    task.criteria.push(this.#item(row));
    this.#tell(row);
  }

  /** Reads a row of a table: in a task and in a gate, its boxes are items, named by its other cells. */
  #readCells(row: Row): void {
    const block = this.#block;
    const inGate =
      block !== undefined && (block.kind === "gate" || block.kind === "criteria") && this.#isInside(block, row);
    const task = this.#taskAround(row);
    if (!inGate && task === undefined) return;
    for (const box of checkboxesIn(row.text)) {
      if (!beginsCell(row.text, box)) continue;
      const cells = row.text.split("|").map((cell) => cell.trim());
      const text = cells.filter((cell) => /\p{L}/u.test(cell) && checkboxAt(cell, 0) === undefined).join(" · ");
      const moved = {
        ...box,
        column: box.column + row.column,
        start: box.start + row.column,
        end: box.end + row.column,
      };
      const item = this.#item({ ...row, text: text === "" ? row.text : text, checkbox: moved });
      if (inGate) block.items.push(item);
      else task?.criteria.push(item);
    }
  }

  #readText(row: Row): void {
    if (this.#phase !== undefined && this.outline.idOf.has(row)) {
      this.#close();
      return this.#startTask(row, BOLD_LEVEL);
    }
    const { label } = row;
    const [phase, field] = [this.#phase, this.#field];
    if (label !== undefined) {
      if (phase !== undefined || this.#gates !== undefined || label.field === "gate")
        this.#readGroupedLabel(label, row);
    } else if (field !== undefined) field(row.text, row);
    else if (this.#block?.kind === "gate" && itemless(this.#block)) this.#addSentence(this.#block, row);
    else if (phase !== undefined && phase.tasks.length === 0 && this.#block === undefined) {
      if (phase.goal === undefined && /^[\p{L}\p{N}`"'*_]/u.test(row.text)) phase.goal = row.text;
    }
  }

  /** Reads a label. Below a heading for all gates, a line in bold may name the phase of the items after it. */
  #readGroupedLabel(label: Label, row: Row): void {
    const mentioned = this.#gates === undefined || !isBold(row.text) ? undefined : mentionedPhase(label.name);
    const phase = mentioned === undefined ? undefined : this.#phaseOf(mentioned);
    if (phase !== undefined && label.field === "other" && !/^before\b/i.test(label.name)) {
      this.#openGateOf(phase, row, true);
    } else {
      this.#readLabel(label, row);
    }
  }

  #readLabel(label: Label, row: Row): void {
    const block = this.#block;
    // A label in an item of the list is a part of that item.
    const isPart = label.field === "other" && row.kind === "text" && row.parent?.kind === "item";
    if (block !== undefined && isPart && block.items.length > 0 && row.parent && this.#isInside(block, row.parent))
      return;
    if (block?.kind === "gate" && label.field === "status" && this.#addStatusOfGate(block, label, row)) return;
    if (block?.kind === "gate" && staysInGate(block.section || itemless(block), label)) {
      if (label.field === "gate") this.#addText(label, row);
      return;
    }
    if (block?.kind === "criteria" && label.field === "other" && label.text === "" && groups(block)) return;
    this.#close();
    const around = this.#taskAround(row);
    const inItem = around !== undefined && around.level === undefined;
    const isOwn = inItem || (mentionedPhase(label.name) === undefined && this.#isBetweenTasks(row));
    const ofPhase = !isOwn && (label.field === "gate" || (label.field === "success" && /\bphase\b/i.test(label.name)));
    if (label.field === "gate" && (ofPhase || /\bphase\b/i.test(label.name))) return this.#openGate(label, row);
    const task = ofPhase ? undefined : (around ?? this.#taskBefore(label, row));
    if (task !== undefined) return this.#ofTask(task, label, row);
    if (row.kind !== "heading" && row.parent !== undefined && this.#looksLikeTask(row.parent))
      this.ofOthers.push({ row, label });
    else if (this.#phase !== undefined) this.#ofPhase(this.#phase, label, row);
  }

  /** Returns the nearest task above a row in the tree, or the task whose line in bold is above it. */
  #taskAround(row: Row): TaskDraft | undefined {
    const above = ancestorsOf(row).find((parent) => this.#tasks.has(parent));
    if (above !== undefined) return this.#tasks.get(above);
    return this.#task?.level === BOLD_LEVEL ? this.#task : undefined;
  }

  /** Returns the task of a label that stands behind it in place of inside of it. An item with boxes below is none. */
  #taskBefore({ field }: Label, row: Row): TaskDraft | undefined {
    const { parent } = row;
    const isOfOther = parent?.kind === "item" && parent.checkbox === undefined && !/[:：][*_]*$/.test(parent.text);
    if (!OF_TASKS.has(field) || isOfOther) return undefined;
    // Criteria that are not indented are those of one task, not of several in a list, unless other tasks follow.
    const isBetween = row.kind === "heading" || this.#run === 1 || (this.#lastIds.get(row.parent) ?? 0) > row.line;
    return field !== "criteria" || (row.kind !== "item" && isBetween) ? this.#task : undefined;
  }

  /** Checks whether a row that is no task may be one to people: an item, or a heading with a number. */
  #looksLikeTask(row: Row): boolean {
    if (row.kind === "item") return true;
    return !this.outline.starts.has(row) && this.outline.ids.read(titleOf(row), ["number"]) !== undefined;
  }

  /** Opens the gate of the phase that a label names, else of the open phase. */
  #openGate(label: Label, row: Row): void {
    const mentioned = mentionedPhase(label.name);
    const phase = (mentioned === undefined ? undefined : this.#phaseOf(mentioned)) ?? this.#phase;
    if (phase === undefined) return;
    this.#tell(row);
    this.#openGateOf(phase, row, false);
    this.#addText(label, row);
  }

  #ofTask(task: TaskDraft, label: Label, row: Row): void {
    const { field, text } = label;
    switch (field) {
      case "time":
        if (text !== "") task.time ??= bare(text);
        return this.#tell(row);
      case "status":
        this.#readStatus(task, text, row);
        if (text === "") this.#field = (said, below) => this.#readStatus(task, said, below);
        return this.#tell(row);
      case "parallel":
        task.marked = /^(?:y|true)/i.test(text);
        return this.#tell(row);
      case "dependencies":
        return this.#readValue(label, row, (said) => task.dependencies.push(said));
      case "blocks":
        task.blocks.push(text);
        return this.#tell(row);
      case "files":
        return this.#readValue(label, row, (said) => task.files.push(...filesOf(said)));
      case "requirements":
        return this.#readValue(label, row, (said) => task.requirements.push(...readReferences(bare(said))));
      case "criteria":
      case "success":
      case "gate": {
        this.#tell(row);
        if (/sub-?tasks/i.test(label.name) && namesOnlyIds(text)) {
          this.listed.push({ row, text });
          return;
        }
        const item = text === "" ? undefined : this.#item({ ...row, text });
        const done = (items: readonly PlanItem[]) => void task.criteria.push(...items);
        return this.#open({ kind: "criteria", owner: row, section: false, text: item, done });
      }
      default:
        if (text !== "") this.untold.add(row.line);
        if (namesOnlyTasks(text)) task.unread.push({ name: label.name, text });
        return this.#readBoxBehind(task, label, row) ? undefined : this.#openOther(label, row);
    }
  }

  /** Reads a box right behind a label: `Done: [x]` is the task's own, `Tests: [x] pass` a criterion. */
  #readBoxBehind(task: TaskDraft, { name, text }: Label, row: Row): boolean {
    const checkbox = checkboxAt(this.source.text(row.line), row.column + row.text.lastIndexOf(text), true);
    if (text === "" || checkbox === undefined || row.checkbox !== undefined) return false;
    const isOwn = task.checkbox === undefined && this.words.stateIn(name)?.state === "done";
    if (isOwn) task.checkbox = this.#checkbox({ ...row, checkbox });
    else task.criteria.push(this.#item({ ...row, checkbox }));
    this.#tell(row);
    return true;
  }

  /** Reads a status line. A checkbox at its start is the task's own; the word is what a tick changes where there is none. */
  #readStatus(task: TaskDraft, text: string, row: Row): void {
    if (text === "") return;
    const at = row.column + row.text.lastIndexOf(text);
    const box = checkboxAt(this.source.text(row.line), at, true);
    const said = box === undefined ? text : this.source.text(row.line).slice(box.end).trim();
    const word = this.words.stateIn(said);
    // `[x] Pending` and `[x] Not started [ ] Done` say another state than their first box.
    const agrees = word === undefined || !isTicked(box?.mark ?? "") || word.state === "done";
    if (box !== undefined && agrees && task.checkbox === undefined)
      task.checkbox = this.#checkbox({ ...row, checkbox: box });
    const start = row.column + row.text.lastIndexOf(said) + (word?.index ?? 0);
    const position = this.source.position(row.line, start);
    // Without a box, a tick replaces what limits the word, too.
    const whole = word?.limited && box === undefined ? said.slice(word.index) : word?.word;
    task.status ??= {
      state: word === undefined ? stateBySign(said) : word.limited ? undefined : word.state,
      ...(whole !== undefined && { word: { text: whole, position } }),
      ...((word?.limited || (word === undefined && /\p{L}/u.test(said))) && { unclear: { text: said, position } }),
    };
  }

  #ofPhase(phase: PhaseDraft, label: Label, row: Row): void {
    const { field, text } = label;
    if (field === "time") {
      if (text !== "") phase.duration ??= bare(text);
    } else if ((field === "goal" || field === "description") && phase.tasks.length === 0) {
      if (text !== "") phase.goal ??= text;
      if (field === "goal" && text !== "") phase.goal = text;
      else if (text === "")
        this.#field = (said) => (phase.goal = phase.goal === undefined ? said : `${phase.goal} ${said}`);
    } else if (field === "dependencies") {
      phase.dependencies.push(text);
      if (text === "") this.#readValue(label, row, (said) => phase.dependencies.push(said));
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
    const done = (items: readonly PlanItem[]) =>
      void (items.some(({ checkbox }) => checkbox !== undefined) && gate.push(...items));
    this.#open({ kind: "gate", owner: row, section: row.kind === "heading", boxes: true, done });
  }

  /** Reads the value of a label: the text after it, or the items of the list below it. */
  #readValue(label: Label, row: Row, said: (text: string) => void): void {
    this.#tell(row);
    if (label.text !== "") return said(label.text);
    const done = (items: readonly PlanItem[]) => {
      for (const { text } of items) said(text);
    };
    this.#open({ kind: "list", owner: row, section: false, done });
  }

  /**
   * Opens the list of a label without a meaning: its checkboxes are no tasks. In a plan without ids such a label may be
   * above the tasks of a phase.
   */
  #openOther({ field, name, text }: Label, row: Row): void {
    if ((text !== "" || (!this.outline.identified && field === "other")) && !NO_TASKS.test(name)) return;
    this.#open({ kind: "other", owner: row, section: false, done: () => {} });
  }

  #openGateOf(phase: PhaseDraft, owner: Row, section: boolean): void {
    this.#open({ kind: "gate", owner, section, done: (items) => void phase.gate.push(...items) });
  }

  /** Opens a block; the one before ends. */
  #open(start: BlockStart): void {
    this.#close();
    this.#block = { ...start, items: [] };
  }

  /** Ends the open list and text. */
  #close(): void {
    const block = this.#block;
    this.#block = undefined;
    this.#field = undefined;
    block?.done(itemsOf(block, this.words));
  }

  /**
   * Checks whether an item belongs to the list below a label: it is below the label's item, or in the lists that follow the
   * label in the same item or section. In a list, a label has the items after it only if it has none below it, and never
   * those with a checkbox if it stands between tasks.
   */
  #isInside(block: Block, row: Row): boolean {
    const { owner, items, kind } = block;
    if (block.section) return true;
    const field = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? row.label?.field : undefined;
    const isBelow = row.depth > (items.length > 0 ? (block.first ?? owner.depth) : owner.depth);
    if (field !== undefined && field !== "other" && !isBelow) return false;
    if (isWithin(row, owner)) return true;
    if (owner.kind !== "item") return isWithin(row, owner.parent);
    if (row.parent !== owner.parent || (items.length > 0 && block.last !== row.depth)) return false;
    if (row.checkbox !== undefined)
      return kind === "gate" || this.#taskAround(row) !== undefined || this.outline.identified;
    return row.label === undefined;
  }

  /** Checks whether an item of a list is a task. Items of a gate may mention tasks that are elsewhere. */
  #beginsTask({ kind }: Block, row: Row): boolean {
    if (this.#isBelowItem(row) || !this.#isTask(row) || !this.outline.idOf.has(row)) return false;
    return kind !== "gate" || (row.depth === 0 && this.outline.mentions.get(this.outline.idOf.get(row) ?? "") === 1);
  }

  /** Checks whether an item is in a task that is an item. */
  #isBelowItem(row: Row): boolean {
    const task = this.#taskAround(row);
    return task !== undefined && task.level === undefined;
  }

  /** Checks whether an item is a task, by its id or, in a plan without ids, by its checkbox. */
  #isTask(row: Row): boolean {
    if (this.#phase === undefined) return false;
    const below = this.#isBelowItem(row);
    if (below && this.dialect.nested === "criteria") return false;
    if (this.outline.idOf.has(row)) return true;
    if (row.checkbox === undefined || below || this.#aside) return false;
    // In a plan with ids, a checkbox without one is a task only among tasks; in the section of a task it is a criterion.
    return this.#taskAround(row) === undefined;
  }

  /** Adds an item to a block: with its checkbox, as a bullet, or as a detail of the item before. */
  #collect(block: Block, row: Row): void {
    const { last = row.depth, kind } = block;
    const before = block.items.at(-1);
    if (row.checkbox === undefined) {
      if (block.boxes && !SYMBOL.test(row.text)) return;
      if (kind !== "other") this.#tell(row);
      if (before !== undefined && (row.depth > last || /^notes?$/i.test(row.label?.name ?? ""))) {
        before.details ??= [];
        before.details.push(row.text);
        return;
      }
    } else if (kind === "list" || kind === "other") {
      const task = this.#taskAround(row);
      if (task !== undefined) this.#addCriterion(task, row);
      else if (block.section) this.ofPlan.push(row);
      return;
    } else if (row.depth > last && before?.checkbox === undefined && before?.details === undefined) {
      // A bullet above deeper checkboxes names their group.
      block.items.pop();
    }
    if (row.checkbox !== undefined) this.#tell(row);
    block.items.push(this.#item(row));
    block.first ??= row.depth;
    block.last = row.depth;
  }

  /** Adds the sentence in the section of a gate without a list. */
  #addSentence(block: Block, row: Row): void {
    if (!block.section || block.boxes || block.text !== undefined || /[:：]\s*\**$/.test(row.text)) return;
    this.#block = { ...block, text: this.#item(row) };
  }

  /** Adds the checkbox of a status line in the section of a gate, as the item that its title names. */
  #addStatusOfGate(block: Block, { text }: Label, row: Row): boolean {
    const checkbox = checkboxAt(this.source.text(row.line), row.column + row.text.lastIndexOf(text), true);
    if (!block.section || checkbox === undefined) return false;
    // The bullets before it are properties of the gate, such as its type.
    block.items.splice(0, block.items.length, ...block.items.filter((item) => item.checkbox !== undefined));
    block.items.push(this.#item({ ...row, text: block.owner.text, checkbox }));
    return true;
  }

  /** Adds the sentence of `**Checkpoint**: …`, which is the item of the gate if no list follows. */
  #addText({ name, text }: Label, row: Row): void {
    const block = this.#block;
    if (block === undefined || text === "" || /quality|exit/i.test(name)) return;
    this.#block = { ...block, text: block.text ?? this.#item({ ...row, text }) };
  }

  /** Returns an item of a list, and marks its checkbox as placed. */
  #item(row: Row): ItemDraft {
    const checkbox = this.#checkbox(row);
    const mark = row.checkbox?.mark ?? "";
    const isDropped = isStruck(row.text) || this.marks(mark) === "dropped";
    return {
      text: bare(withoutComments(row.text)),
      checked: isTicked(mark),
      ...(isDropped && !isTicked(mark) && { dropped: true }),
      ...(checkbox && { checkbox }),
      position: this.source.position(row.line, row.column),
    };
  }

  /** Returns the checkbox of a row, and marks it as placed. */
  #checkbox({ checkbox, line }: { readonly checkbox?: FoundCheckbox; readonly line: number }): Checkbox | undefined {
    if (checkbox === undefined) return undefined;
    const position = this.source.position(line, checkbox.column);
    this.placed.add(position.offset);
    return { mark: checkbox.mark, position };
  }

  /** Keeps a row out of the task's description. */
  #tell({ line }: Row): void {
    this.told.add(line);
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

  #endPhase(line: number): void {
    this.#endTask(line);
    this.#phase = undefined;
  }

  #startPhase({ key, name, level }: PhaseStart, row: Row): PhaseDraft {
    this.#close();
    this.#endPhase(row.line);
    this.#gates = undefined;
    this.#aside = false;
    const { name: bareName, time } = splitTime(name);
    const position = this.source.position(row.line, row.column);
    const phase: PhaseDraft = {
      key,
      name: bareName,
      level,
      position,
      timeInTitle: time,
      tasks: [],
      gate: [],
      dependencies: [],
    };
    this.phases.push(phase);
    this.#phase = phase;
    return phase;
  }

  /** Begins a task of the open phase. The task before ends. `level` is that of a heading. */
  #startTask(row: Row, level: number | undefined): void {
    this.#close();
    this.#endTask(row.line);
    this.#aside = false;
    const forms: readonly TaskIds[] = this.outline.identified ? [...this.dialect.ids, "number"] : this.dialect.ids;
    const line = readTaskLine(row.text, forms, this.outline.ids, this.words, this.outline.idOf.get(row));
    const phase = this.outline.grouped ? this.#groupOf(line.id, line.name, row) : this.#phase;
    if (phase === undefined) return;
    const task: TaskDraft = {
      ...line,
      row,
      level,
      position: this.source.position(row.line, row.column),
      checkbox: this.#checkbox(row),
      dependencies: line.dependencies === undefined ? [] : [line.dependencies],
      blocks: [],
      unread: [],
      criteria: [],
      inside: [],
      ...(row.checkbox === undefined && statusInTitle(row.text, this.words)),
      requirements: [...line.requirements],
      files: [...line.files],
      firstLine: row.line,
      endLine: this.source.lines.length,
    };
    if (level === undefined) this.#run += 1;
    this.#taskAround(row)?.inside.push(task);
    this.#task = task;
    this.#tasks.set(row, task);
    phase.tasks.push(task);
    for (const cell of row.cells ?? []) this.#ofTask(task, cell, row);
  }

  /** Gives the checkboxes of lists that repeat tasks to those without their own. */
  #readRepeated(): void {
    for (const { row, task: own } of this.repeated) {
      const task = this.#tasks.get(own);
      const isSame = sameName(this.outline.nameOf.get(row) ?? "", this.outline.nameOf.get(own) ?? "");
      if (isSame && task !== undefined && task.checkbox === undefined && task.status === undefined)
        task.checkbox = this.#checkbox(row);
    }
  }

  /**
   * Returns the phase of a task in a plan without phase headings: the number that the task's id begins with, also of `1a` and
   * `T1.2`; without an id, that of the tasks below it. Others, such as `T012`, are numbered through, and belong to the open phase.
   */
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

/** Signs before or behind a name, and words or a share in brackets, behind a dash or behind a sign at its end. */
const AT_BEGIN = /^[*_\s]*([\p{Extended_Pictographic}\p{So}✓✔✗✘]\uFE0F?)/u;
const AT_END = /([\p{Extended_Pictographic}✓✔✗✘]\uFE0F?)[*_\s]*$/u;
const STATE_AT_END =
  /(?:[([—–]|\s-|[\p{Extended_Pictographic}]\uFE0F?)\s*(\p{L}[\p{L} ]{2,16}|\d{1,3} ?(?:%|\/ ?\d{1,3}))[)\]]?[*_\s]*$/u;

/** Reads a state beside the name of a task without a checkbox: `✅ Task 1.1: Name`, `Task 1.1: Name (done)`, `… — DONE`, `… (80%)`. */
function statusInTitle(text: string, words: Vocabulary): Pick<TaskDraft, "status"> {
  const end = STATE_AT_END.exec(text.slice(-40))?.[1]?.trim() ?? "";
  const said = words.stateIn(end);
  const signs = [AT_BEGIN.exec(text)?.[1], AT_END.exec(text.slice(-40))?.[1], end].map((one) => stateBySign(one ?? ""));
  const state = said?.word.length === end.length && end !== "" ? said.state : signs.find((one) => one !== undefined);
  return state === undefined ? {} : { status: { state } };
}

function filesOf(text: string): readonly string[] {
  const paths = filesIn(text);
  return paths.length > 0 ? paths : [bare(text)];
}

/** Checks whether a label belongs to the open gate: it groups its items, or precedes them. */
function staysInGate(open: boolean, { field }: Label): boolean {
  return open && (field === "other" || field === "gate" || field === "success" || field === "criteria");
}

/** Checks whether a label names a group of criteria: before the first criterion, or after such a label. */
function groups(block: Block): boolean {
  if (itemless(block)) block.grouped = true;
  return block.grouped === true;
}

/** Checks whether a whole line is in bold. */
function isBold(text: string): boolean {
  return /^(\*\*|__)[^*]+\1:?$/.test(text);
}

function itemless({ items }: Block): boolean {
  return items.length === 0;
}
