/** A plan while it is read. */
import type { Checkbox, PlanItem, PlanPosition } from "./plan.js";

/** A task while it is read. */
export interface TaskDraft {
  /** As it is written; missing where the source gives none. */
  readonly id?: string;
  readonly name: string;
  readonly position: PlanPosition;
  readonly checkbox?: Checkbox;
  readonly optional: boolean;
  readonly parallel: boolean;
  readonly story?: string;
  /** How deep its list item is nested; the level of its heading, as `heading`. */
  readonly place: { readonly item: number } | { readonly heading: number };
  time?: string;
  status?: string;
  marked?: boolean;
  /** What is said of dependencies, as it is written. */
  readonly dependencies: string[];
  readonly criteria: PlanItem[];
  readonly requirements: string[];
  readonly files: string[];
  /** Its lines: the first, and the one after the last; those that are told elsewhere. */
  readonly firstLine: number;
  endLine: number;
}

/** A phase while it is read. */
export interface PhaseDraft {
  /** As it is written; missing where the source gives none. */
  readonly key?: string;
  readonly name: string;
  readonly level: number;
  readonly position: PlanPosition;
  goal?: string;
  duration?: string;
  /** What stands in brackets behind its name, if that is a time. */
  readonly timeInTitle?: string;
  readonly tasks: TaskDraft[];
  readonly gate: PlanItem[];
}

/** An item while it is read: what is below it is still to come. */
export interface ItemDraft extends Omit<PlanItem, "details"> {
  details?: string[];
}

/** Items of a list below a label: those with checkboxes, or the bullets if there is none. */
export interface ItemBlock {
  readonly items: ItemDraft[];
  readonly bullets: ItemDraft[];
  /** What stands beside the label. */
  readonly text?: PlanItem;
}

/** What of a block counts. */
export function itemsOf({ items, bullets, text }: ItemBlock): readonly PlanItem[] {
  if (items.length > 0) return items;
  return bullets.length > 0 || text === undefined ? bullets : [text];
}
