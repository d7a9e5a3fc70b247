/** Phases and tasks while they are read, and what is known of their source before. */
import type { Dialect, Marks } from "./dialects.js";
import type { Outline } from "./outline.js";
import type { Checkbox, PlanItem, PlanPosition, PlanReport, StatusWord, TaskState } from "./plan.js";
import type { Row } from "./rows.js";
import type { Region, SourceText } from "./source.js";
import type { TaskLine } from "./task-line.js";
import type { Label } from "./titles.js";
import type { SaidState, Vocabulary } from "./words.js";

/** What is known of a source before its rows get their roles. */
export interface Context {
  readonly source: SourceText;
  /** Its code and comments. */
  readonly regions: readonly Region[];
  readonly rows: readonly Row[];
  readonly dialect: Dialect;
  readonly words: Vocabulary;
  readonly outline: Outline;
  /** The rows that explain marks. */
  readonly legend: ReadonlySet<Row>;
  readonly marks: Marks;
  readonly report: PlanReport;
}

/** A task while it is read. */
export interface TaskDraft {
  readonly row: Row;
  /** The parts of its line. */
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
  /** The tasks right inside it. */
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
