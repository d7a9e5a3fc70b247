/** Labels such as `**Goal:** …`, `Dependencies: …` or `_Requirements: 1.2_`, and what each of them means. */

import { withoutAtEnd } from "../definition/markdown/inline-text.js";

/** What a label's text or list is. `other` is a label that says nothing of a plan. */
export type Field =
  | "goal"
  | "description"
  | "time"
  | "dependencies"
  | "criteria"
  | "success"
  | "gate"
  | "tasks"
  | "files"
  | "requirements"
  | "parallel"
  | "status"
  | "other";

/** A label and what stands beside it. */
export interface Label {
  readonly field: Field;
  /** The label as it is written, without marks. */
  readonly name: string;
  readonly text: string;
}

const FIELDS: readonly (readonly [Exclude<Field, "other">, RegExp])[] = [
  ["goal", /^(?:goals?|objectives?|purpose|aim)$/],
  ["description", /^(?:description|summary|details)$/],
  [
    "time",
    /^(?:(?:total )?estimate[ds]?(?: (?:time|duration|effort|hours))?|(?:time|effort) estimates?|duration|effort|time|human baseline)$/,
  ],
  ["dependencies", /^(?:dependenc(?:y|ies)|depends(?: on)?|requires|blocked by|prerequisites?)$/],
  [
    "criteria",
    /^(?:acceptance(?: (?:criteria|tests?))?|criteria|(?:validation|verification|completion|done) criteria|done when|definition of done|sub-?tasks)$/,
  ],
  ["success", /^success criteria$/],
  [
    "gate",
    /^(?:.* )?(?:(?:validation|quality|exit|phase) gates?|checkpoint|gate criteria|exit criteria)(?: criteria)?$|^\d* ?gates?$/,
  ],
  ["tasks", /^(?:implementation )?tasks?(?: list)?$/],
  ["files", /^files?(?: (?:modified|created|changed|to (?:create|modify|change)))?$/],
  ["requirements", /^(?:requirements?|traces to|traceability|validates|implements|refs?|references)$/],
  ["parallel", /^(?:parallel|parallelizable|can run in parallel)$/],
  ["status", /^status$/],
];

/** Where checkboxes without ids would be tasks, below titles and labels with these words they aren't. */
export const NO_TASKS = /deliverable|note|risk|question|reference|out of scope|metric|checklist|test case/i;

const BOLD = /^(?:\*\*|__)(?=\S)/;
/** `_Requirements: 1.2_`, `*Goal:* …`, `_Goal_: …`. */
const SLANTED = /^([*_])(?![*_])(?=\S)([^*_:]+)(?::(\1?)|\1[ \t]*:)[ \t]*(.*)$/;
const PLAIN = /^\p{L}[\p{L}\p{N} '/&()-]{0,60}$/u;
const LEADING = /^([^:]+):[ \t]*$/;

/** The label that a line of text or a list item begins with, if it does. */
export function labelOf(text: string): Label | undefined {
  const line = text.replace(/^[^\p{L}\p{N}*_[`]+/u, "");
  return boldLabel(line) ?? slantedLabel(line) ?? plainLabel(line);
}

/** What a title or a label's name means. What must hold for a phase to be complete is its gate. */
export function fieldOf(name: string): Field {
  const words = plain(name);
  if (/\bphase\b/i.test(name)) {
    if (words === "completion criteria") return "gate";
    if (/criteria$/.test(words) && !/gate|exit/.test(words)) return "success";
  }
  return FIELDS.find(([, pattern]) => pattern.test(words))?.[0] ?? "other";
}

/** Bold with a colon in or behind it, or bold alone on its line. */
function boldLabel(line: string): Label | undefined {
  const [mark] = BOLD.exec(line) ?? [];
  const end = mark === undefined ? -1 : line.indexOf(mark, mark.length + 1);
  if (mark === undefined || end === -1) return undefined;
  const inside = line.slice(mark.length, end);
  const [behind = ""] = /^[ \t]*:?/.exec(line.slice(end + mark.length)) ?? [];
  const rest = line.slice(end + mark.length + behind.length);
  const inner = inside.indexOf(":");
  if (inner > 0) return label(inside.slice(0, inner), `${inside.slice(inner + 1)} ${rest}`);
  return behind.endsWith(":") || rest.trim() === "" ? label(inside, rest) : undefined;
}

function slantedLabel(line: string): Label | undefined {
  const [whole, mark, name = "", closed = "", rest = ""] = SLANTED.exec(line) ?? [];
  if (whole === undefined || mark === undefined) return undefined;
  const open = closed === "" && whole.charAt(1 + name.length) === ":";
  return label(name, open ? withoutAtEnd(rest, "*_") : rest);
}

/** Without marks only known names are labels, or lines that lead up to a list. */
function plainLabel(line: string): Label | undefined {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon)).trimEnd();
  const rest = line.slice(colon + 1);
  if (PLAIN.test(name) && /^[ \t]/.test(rest) && rest.trim() !== "")
    return fieldOf(name) === "other" ? undefined : label(name, rest);
  const leading = LEADING.exec(line);
  return leading === null ? undefined : label(leading[1] ?? "", "");
}

function label(name: string, text: string): Label {
  return { field: fieldOf(name), name: name.trim(), text: text.trim() };
}

/** A name as the table has it: lower case, without marks, remarks and the number of a phase or task. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/\([^()]*\)/g, " ")
    .replace(/[^\p{L}\p{N}-]+/gu, " ")
    .replace(/\b(?:phase|task|final)(?: \d[\w.]*)?\b(?! gate)(?=.*\S)/g, " ")
    .trim()
    .replace(/ +/g, " ");
}
