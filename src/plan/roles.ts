/** Says what became of each checkbox of a source, and of the lines that a plan has a position of. */
import type { Diagnostic } from "../workflow/diagnostic.js";
import type { PlanItem, PlanPosition, PlanReading } from "./plan.js";
import { SourceText } from "./source.js";

/** A line or a checkbox of a source, with its place in the plan. */
export interface LineRole {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1: of the mark of its checkbox, else of its text. */
  readonly column: number;
  /** The mark of its checkbox; missing if it has none. */
  readonly mark?: string;
  /** `gate` is an item of a phase's gate; `unplaced` and `repeated` are named by a diagnostic. */
  readonly role: "phase" | "task" | "criterion" | "gate" | "unplaced" | "repeated";
  /** The number of the phase; of a phase or an item of its gate. */
  readonly phase?: number;
  /** The id of the task; of a task or its criterion. */
  readonly task?: string;
  /** The code of the diagnostic. */
  readonly code?: Diagnostic["code"];
}

const NAMED: ReadonlyMap<string, LineRole["role"]> = new Map([
  ["CHECKBOX_UNPLACED", "unplaced"],
  ["CHECKBOX_OF_PLAN", "unplaced"],
  ["CHECKBOX_REPEATED", "repeated"],
]);

/** Returns the roles of a text, in its order. Each checkbox of a plan is in one of those with a mark. */
export function planRoles(text: string, { plan, diagnostics }: PlanReading): LineRole[] {
  const roles = plan.phases.flatMap((phase): LineRole[] => [
    { ...at(phase.position), role: "phase", phase: phase.number },
    ...phase.tasks.flatMap(({ id, acceptanceCriteria, ...task }): LineRole[] => [
      ...placed(task).map((place) => ({ ...place, role: "task", task: id }) as const),
      ...acceptanceCriteria.flatMap(placed).map((place) => ({ ...place, role: "criterion", task: id }) as const),
    ]),
    ...phase.validationGate.flatMap(placed).map((place) => ({ ...place, role: "gate", phase: phase.number }) as const),
  ]);
  const source = new SourceText(text);
  const named = diagnostics.flatMap(({ code, line, column = 1 }): LineRole[] => {
    const role = NAMED.get(code);
    if (role === undefined || line === undefined) return [];
    return [{ line, column, mark: markIn(source.text(line - 1).slice(column - 1)), role, code }];
  });
  return [...roles, ...named].sort((one, other) => one.line - other.line || one.column - other.column);
}

type Placed = Pick<PlanItem, "position" | "checkbox">;

/** Returns the places of a task or an item: its checkbox, and its own line if the checkbox is in another one. */
function placed({ position, checkbox }: Placed): Pick<LineRole, "line" | "column" | "mark">[] {
  if (checkbox === undefined) return [at(position)];
  const box = { ...at(checkbox.position), mark: checkbox.mark };
  return checkbox.position.line === position.line ? [box] : [at(position), box];
}

function at({ line, column }: PlanPosition) {
  return { line, column };
}

/** Returns the mark at the start of a text, which may have none. */
function markIn(text: string): string {
  return /^[^\s\\\]]\uFE0F?/u.exec(text)?.[0] ?? "";
}
