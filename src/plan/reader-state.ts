/** The state of the reader of a plan: the open phase, task and list. */
import { type Dialect, type ItemBlock, type ItemDraft, itemsOf, type PhaseDraft, type TaskDraft } from "./drafts.js";
import type { Outline, PhaseStart } from "./outline.js";
import type { Checkbox, PlanItem } from "./plan.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source.js";
import { bare, isTicked, readTaskLine, splitTime, withoutComments } from "./task-line.js";
import { labelOf, type TaskIds } from "./titles.js";

/** The list of a label or of a heading. */
export interface Block extends ItemBlock {
  readonly kind: "criteria" | "gate" | "list" | "other";
  /** Deeper items belong to it; until it has one, the next list at any depth does. */
  readonly depth: number;
  /** True for a section, which labels without a meaning don't end. */
  readonly section: boolean;
  readonly name: string;
  /** The nesting depth of its first row. */
  first?: number;
  /** The nesting depth of its last item. */
  last?: number;
  /** True if labels name groups of its items. */
  grouped?: boolean;
  /** Receives the items when the block ends. */
  readonly done: (items: readonly PlanItem[]) => void;
}

/** A block before its items. */
type BlockStart = Pick<Block, "kind" | "depth" | "section" | "name" | "done"> & { readonly text?: PlanItem };

/** The state while the rows of a plan are read. */
export class ReaderState {
  readonly source: SourceText;
  readonly dialect: Dialect;
  readonly outline: Outline;
  readonly phases: PhaseDraft[] = [];
  /** Offsets of the checkboxes with a place in the plan. */
  readonly placed = new Set<number>();
  /** Lines that are not part of a task's description, because the plan has them elsewhere. */
  readonly told = new Set<number>();
  phase: PhaseDraft | undefined;
  task: TaskDraft | undefined;
  block: Block | undefined;
  /** The level of a heading such as `Phase Validation Gates`, below which the gates of all phases are. */
  gates: number | undefined;
  /** True in a part of the phase without a task so far, such as its notes. */
  aside = false;
  /** Receives the text after a label without one. */
  field: ((text: string) => void) | undefined;

  constructor(source: SourceText, dialect: Dialect, outline: Outline) {
    this.source = source;
    this.dialect = dialect;
    this.outline = outline;
  }

  /** Returns the last phase, also after its end. */
  get lastPhase(): PhaseDraft | undefined {
    return this.phases.at(-1);
  }

  /** Returns the phase with this key. Later phases are not found, because a gate follows its phase. */
  phaseOf(key: string): PhaseDraft | undefined {
    return key === "final" ? this.lastPhase : this.phases.findLast((phase) => phase.key === key);
  }

  /** Opens a block; the one before ends. */
  open(start: BlockStart): void {
    this.close();
    this.block = { ...start, items: [] };
  }

  /** Ends the open list and text. */
  close(): void {
    const { block } = this;
    this.block = undefined;
    this.field = undefined;
    if (block !== undefined) block.done(itemsOf(block));
  }

  /** Ends the open task before a line. */
  endTask(line: number): void {
    if (this.task !== undefined) this.task.endLine = Math.min(this.task.endLine, line);
    this.task = undefined;
  }

  /** Ends the open phase and its task before a line. */
  endPhase(line: number): void {
    this.endTask(line);
    this.phase = undefined;
  }

  /** Adds an item to a block: with its checkbox, as a bullet, or as a detail of the item before. */
  collect(block: Block, row: Row): void {
    block.first ??= row.depth;
    const { last = row.depth } = block;
    const before = block.items.at(-1);
    if (row.checkbox === undefined) {
      if (block.kind !== "other") this.tell(row);
      if (before !== undefined && (row.depth > last || isNote(row.text))) return addDetail(before, row.text);
    } else {
      if (block.kind !== "criteria" && block.kind !== "gate") return;
      this.tell(row);
      // A bullet above deeper checkboxes names their group.
      if (row.depth > last && before?.checkbox === undefined && before?.details === undefined) block.items.pop();
    }
    block.items.push(this.item(row));
    block.last = row.depth;
  }

  /** Returns an item of a list, and marks its checkbox as placed. */
  item(row: Row): ItemDraft {
    const checkbox = this.checkbox(row);
    return {
      text: bare(withoutComments(row.text)),
      checked: isTicked(row.checkbox?.mark ?? ""),
      ...(checkbox === undefined ? {} : { checkbox }),
      position: this.source.position(row.line, row.column),
    };
  }

  /** Returns the checkbox of a row, and marks it as placed. */
  checkbox({ checkbox, line }: Row): Checkbox | undefined {
    if (checkbox === undefined) return undefined;
    const position = this.source.position(line, checkbox.column);
    this.placed.add(position.offset);
    return { mark: checkbox.mark, position };
  }

  /** Keeps a row out of the task's description. */
  tell({ line }: Row): void {
    this.told.add(line);
  }
}

/** Begins a phase. The open phase, task and list end. */
export function startPhase(state: ReaderState, { key, name, level }: PhaseStart, row: Row): void {
  state.close();
  state.endPhase(row.line);
  state.gates = undefined;
  state.aside = false;
  const { name: bareName, time } = splitTime(name);
  const phase: PhaseDraft = {
    key,
    name: bareName,
    level,
    position: state.source.position(row.line, row.column),
    timeInTitle: time,
    tasks: [],
    gate: [],
  };
  state.phases.push(phase);
  state.phase = phase;
}

/** Begins a task of the open phase. The task before ends. */
export function startTask(state: ReaderState, row: Row, place: TaskDraft["place"]): void {
  state.endTask(row.line);
  state.aside = false;
  const forms: readonly TaskIds[] = state.outline.identified ? [...state.dialect.ids, "number"] : state.dialect.ids;
  const line = readTaskLine(row.text, forms);
  const phase = state.outline.grouped ? groupOf(state, line.id, line.name, row) : state.phase;
  if (phase === undefined) return;
  state.task = {
    id: line.id,
    name: line.name,
    position: state.source.position(row.line, row.column),
    checkbox: state.checkbox(row),
    optional: line.optional,
    parallel: line.parallel,
    story: line.story,
    place,
    time: line.time,
    dependencies: line.dependencies === undefined ? [] : [line.dependencies],
    criteria: [],
    requirements: [...line.requirements],
    files: [...line.files],
    firstLine: row.line,
    endLine: state.source.lines.length,
  };
  phase.tasks.push(state.task);
}

function isNote(text: string): boolean {
  return /^notes?$/i.test(labelOf(text)?.name ?? "");
}

function addDetail(item: ItemDraft, text: string): void {
  item.details ??= [];
  item.details.push(text);
}

/**
 * Returns the phase of a task in a plan without phase headings: the number that the task's id begins with, also of `1a` and
 * `T1.2`. Others, such as `T012`, are numbered through, and belong to the open phase.
 */
function groupOf(state: ReaderState, id: string | undefined, name: string, row: Row): PhaseDraft | undefined {
  const [, key] = /^(?:[a-z]+(?=\d+\.))?(\d+)/i.exec(id ?? "") ?? [];
  const { phase } = state;
  if (key === undefined || phase === undefined || phase.key === key) return phase;
  const title = id === key ? name : phase.key === undefined ? phase.name : "";
  const replaced = phase.key === undefined && phase.tasks.length === 0;
  if (replaced) state.phases.pop();
  startPhase(state, { key, name: title, level: phase.level }, row);
  if (replaced) state.phase?.gate.push(...phase.gate);
  return state.phase;
}
