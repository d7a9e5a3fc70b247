/** Plans that are made of parts, so that the place of each checkbox is known before they are read. */
import fc from "fast-check";

/** The place of a checkbox: the own one of a task, inside of a task, or in the gate of a phase; all count from 0. */
export type Place = `task ${number}` | `in ${number}` | `gate ${number}`;

/** A plan, and the place of the checkbox in each line that has one, counted from 1. */
export interface KnownPlan {
  readonly text: string;
  readonly places: ReadonlyMap<number, Place>;
  /** Number of tasks. */
  readonly tasks: number;
}

const LABELS = [
  ...["Steps", "Note", "Acceptance", "Acceptance Criteria", "Done when", "Files", "Verification", "Part A", "Priority"],
  ...[
    "Subtasks",
    "Risks",
    "Deliverables",
    "Checklist",
    "Success Criteria",
    "Dependencies",
    "Prüfung",
    "验收标准",
    "Критерии",
  ],
];
const MARK = fc.constantFrom("[ ]", "[ ]", "[x]", "[X]", "[-]", "☐", "☑", "\\[ \\]", "\\[x\\]", "**[x]**", "[✓]");
const LABEL = fc
  .tuple(
    fc.constantFrom(...LABELS),
    fc.constantFrom("**L:**", "**L**:", "L:", "*L:*", "_L_:", "**L:** words", "L: words"),
  )
  .map(([label, form]) => form.replace("L", label));

/** A part of a task: an item with a checkbox, a plain item, or a label, each with others in it. */
type Part = readonly [kind: "box" | "item" | "label" | "lines", text: string, inside: readonly Part[]];

const { part } = fc.letrec<{ part: Part; parts: Part[] }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(
      fc.constant("box" as const),
      MARK.map((mark) => `${mark} do it`),
      fc.constant<Part[]>([]),
    ),
    fc.tuple(
      fc.constant("box" as const),
      MARK.map((mark) => `${mark} do it`),
      tie("parts"),
    ),
    fc.tuple(fc.constant("item" as const), fc.constantFrom("words", "`code` and words", "_words_"), tie("parts")),
    fc.tuple(fc.constant("label" as const), LABEL, tie("parts")),
    fc.tuple(fc.constant("lines" as const), LABEL, tie("parts")),
  ),
  parts: fc.array(tie("part"), { maxLength: 2 }),
}));

const taskPart = fc.record({ mark: MARK, parts: fc.array(part, { maxLength: 4 }) });
const phasePart = fc.record({
  tasks: fc.array(taskPart, { minLength: 1, maxLength: 4 }),
  gate: fc.array(MARK, { maxLength: 2 }),
  headings: fc.boolean(),
});

/** How a plan is written. */
const STYLE = fc.record({
  id: fc.constantFrom<(phase: number, task: number) => string>(
    () => "",
    (phase, task) => `Task ${phase}.${task}: `,
    (phase, task) => `${phase}.${task} `,
    (phase, task) => `T${phase}${String(task).padStart(2, "0")} `,
    (phase, task) => `FE-0${phase}${task}: `,
    (phase, task) => `**Task ${phase}.${task}a** `,
  ),
  marker: fc.constantFrom("- ", "* ", "+ ", "1. "),
  indent: fc.constantFrom("   ", "    ", "\t"),
  phase: fc.constantFrom(
    "## Phase N: Name",
    "## Fase N: Name",
    "### 阶段 N：Name",
    "## 🚀 Phase N — Name",
    "## Phase N",
  ),
  end: fc.constantFrom("\n", "\r\n"),
});

/** Plans with known places. */
export const knownPlan: fc.Arbitrary<KnownPlan> = fc
  .tuple(STYLE, fc.array(phasePart, { minLength: 1, maxLength: 3 }))
  .map(([{ id, marker, indent, phase, end }, phases]) => {
    const lines: string[] = [];
    const places = new Map<number, Place>();
    let tasks = 0;
    const add = (line: string, place?: Place) => {
      lines.push(line);
      if (place !== undefined) places.set(lines.length, place);
    };
    const addParts = (parts: readonly Part[], depth: number, place: Place) => {
      for (const [kind, text, inside] of parts) {
        const before = indent.repeat(depth);
        if (kind === "lines") {
          add("");
          add(`${before}${text}`);
          add("");
          addParts(inside, depth, place);
        } else {
          add(`${before}${marker}${text}`, kind === "box" ? place : undefined);
          addParts(inside, depth + 1, place);
        }
      }
    };
    for (const [at, { tasks: own, gate, headings }] of phases.entries()) {
      add(phase.replace("N", `${at + 1}`));
      add("");
      for (const [index, { mark, parts }] of own.entries()) {
        const name = `${id(at + 1, index + 1)}Name of it`;
        if (headings && id(1, 1).includes("Task")) {
          add(`#### ${name}`);
          add("");
          addParts(parts, 0, `in ${tasks}`);
          add("");
        } else {
          add(`${marker}${mark} ${name}`, `task ${tasks}`);
          addParts(parts, 1, `in ${tasks}`);
        }
        tasks += 1;
      }
      if (gate.length === 0) continue;
      add("");
      add("**Validation Gate:**");
      add("");
      for (const mark of gate) add(`${marker}${mark} it holds`, `gate ${at}`);
      add("");
    }
    return { text: lines.join(end), places, tasks };
  });
