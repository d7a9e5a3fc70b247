/** The state of the reader while it walks through a plan: the open phase, task and list. */
import { type Dialect, type ItemBlock, type ItemDraft, itemsOf, type PhaseDraft, type TaskDraft } from "./drafts.js";
import type { Outline, PhaseStart } from "./outline.js";
import type { Checkbox, PlanItem } from "./plan.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source.js";
import { bare, isTicked, readTaskLine, splitTime, withoutComments } from "./task-line.js";
import type { TaskIds } from "./titles.js";

/** The list that belongs to a label or to a heading. */
export interface Block extends ItemBlock {
  readonly kind: "criteria" | "gate" | "list" | "other";
  /** Items that are deeper belong to it; as long as it has none, so does the next list, wherever it stands. */
  readonly depth: number;
  /** A section of its own, which labels without a meaning don't end. */
  readonly section: boolean;
  readonly name: string;
  /** How deep its first item is nested. */
  first?: number;
  /** True if labels name groups of its items. */
  grouped?: boolean;
  /** Takes what the block holds when it ends. */
  readonly done: (items: readonly PlanItem[]) => void;
}

/** How a block begins. */
type BlockStart = Pick<Block, "kind" | "depth" | "section" | "name" | "done"> & { readonly text?: PlanItem };

/** The state of a walk over the rows of a plan. */
export class ReaderState {
  readonly source: SourceText;
  readonly dialect: Dialect;
  readonly outline: Outline;
  readonly phases: PhaseDraft[] = [];
  /** Offsets of the checkboxes that are something. */
  readonly placed = new Set<number>();
  /** Lines that are told elsewhere than in a task's description. */
  readonly told = new Set<number>();
  phase: PhaseDraft | undefined;
  task: TaskDraft | undefined;
  block: Block | undefined;
  /** The level of a heading such as `Phase Validation Gates`, below which each phase has its gate. */
  gates: number | undefined;
  /** True if this is a part of the phase, such as its notes, that has had no task with an id. */
  aside = false;
  /** Takes the text that follows a label without one. */
  field: ((text: string) => void) | undefined;

  constructor(source: SourceText, dialect: Dialect, outline: Outline) {
    this.source = source;
    this.dialect = dialect;
    this.outline = outline;
  }

  /** Returns the phase that was begun last, also when it has ended. */
  get lastPhase(): PhaseDraft | undefined {
    return this.phases.at(-1);
  }

  /** Returns the phase of that key. Phases come before their gates, so those that are still to come are not found. */
  phaseOf(key: string): PhaseDraft | undefined {
    return key === "final" ? this.lastPhase : this.phases.findLast((phase) => phase.key === key);
  }

  open(start: BlockStart): void {
    this.close();
    this.block = { ...start, items: [], bullets: [] };
  }

  /** Ends the list that is open, and the text. */
  close(): void {
    const { block } = this;
    this.block = undefined;
    this.field = undefined;
    if (block !== undefined) block.done(itemsOf(block));
  }

  endTask(line: number): void {
    if (this.task !== undefined) this.task.endLine = Math.min(this.task.endLine, line);
    this.task = undefined;
  }

  endPhase(line: number): void {
    this.endTask(line);
    this.phase = undefined;
  }

  /** Puts an item into a block: as one with a checkbox, as a bullet, or as a detail of the one before. */
  collect(block: Block, row: Row): void {
    block.first ??= row.depth;
    if (row.checkbox !== undefined) {
      if (block.kind === "criteria" || block.kind === "gate") {
        block.items.push(this.item(row));
        this.tell(row);
      }
      return;
    }
    if (block.kind !== "other") this.told.add(row.line);
    const before = block.items.at(-1) ?? block.bullets.at(-1);
    if (row.depth <= block.first) block.bullets.push(this.item(row));
    else if (before !== undefined) addDetail(before, row.text);
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

  /** What a row says is told elsewhere than in a description. */
  tell({ line }: Row): void {
    this.told.add(line);
  }
}

/** Begins a phase; what was open ends. */
export function startPhase(state: ReaderState, { key, name, level }: PhaseStart, row: Row): void {
  state.close();
  state.endPhase(row.line);
  state.gates = undefined;
  state.aside = false;
  const { name: bareName, time } = splitTime(name);
  const phase: PhaseDraft = {
    ...(key === undefined ? {} : { key }),
    name: bareName,
    level,
    position: state.source.position(row.line, row.column),
    ...(time === undefined ? {} : { timeInTitle: time }),
    tasks: [],
    gate: [],
  };
  state.phases.push(phase);
  state.phase = phase;
}

/** Begins a task of the phase that is open; the task before ends. */
export function startTask(state: ReaderState, row: Row, place: TaskDraft["place"]): void {
  state.endTask(row.line);
  state.aside = false;
  const forms: readonly TaskIds[] = state.outline.identified ? [...state.dialect.ids, "number"] : state.dialect.ids;
  const line = readTaskLine(row.text, forms);
  const phase = state.outline.grouped ? groupOf(state, line.id, line.name, row) : state.phase;
  if (phase === undefined) return;
  const checkbox = state.checkbox(row);
  state.task = {
    ...(line.id === undefined ? {} : { id: line.id }),
    name: line.name,
    position: state.source.position(row.line, row.column),
    ...(checkbox === undefined ? {} : { checkbox }),
    optional: line.optional,
    parallel: line.parallel,
    ...(line.story === undefined ? {} : { story: line.story }),
    place,
    ...(line.time === undefined ? {} : { time: line.time }),
    dependencies: line.dependencies === undefined ? [] : [line.dependencies],
    criteria: [],
    requirements: [...line.requirements],
    files: [...line.files],
    firstLine: row.line,
    endLine: state.source.lines.length,
  };
  phase.tasks.push(state.task);
}

function addDetail(item: ItemDraft, text: string): void {
  item.details ??= [];
  item.details.push(text);
}

/** Returns the phase of a task in a plan without phase headings: the first part of the task's id is its number. */
function groupOf(state: ReaderState, id: string | undefined, name: string, row: Row): PhaseDraft | undefined {
  const key = id?.split(".")[0];
  const { phase } = state;
  if (key === undefined || phase === undefined || phase.key === key) return phase;
  const title = id === key ? name : phase.key === undefined ? phase.name : "";
  const replaced = phase.key === undefined && phase.tasks.length === 0;
  if (replaced) state.phases.pop();
  startPhase(state, { key, name: title, level: phase.level }, row);
  if (replaced) state.phase?.gate.push(...phase.gate);
  return state.phase;
}
