/** `phasegate plan --explain`: the file of a plan, with what became of each line. */
import type { PlanPhase, PlanReading, PlanTask } from "../plan/plan.js";
import { type LineRole, planRoles } from "../plan/roles.js";
import { findRegions, SourceText } from "../plan/source.js";
import { printable } from "./terminal.js";

const ROLE_MAX = 28;

/** Returns the lines of a plan's file, each with its number and its role, and cut to a width. */
export function explainedLines(text: string, reading: PlanReading, width: number): string[] {
  const source = new SourceText(text);
  const count = source.text(source.lines.length - 1) === "" ? source.lines.length - 1 : source.lines.length;
  const roles = lineRoles(source, text, reading);
  const shown = Array.from({ length: count }, (_, line) => cut(printable(roles.get(line + 1) ?? ""), ROLE_MAX));
  const roleWidth = Math.max(0, ...shown.map((role) => role.length));
  const numberWidth = `${count}`.length;
  const left = Math.max(10, width - numberWidth - roleWidth - 5);
  return shown.map((role, line) => {
    const own = printable(source.text(line).replaceAll("\t", "    "), { lines: true });
    return `${`${line + 1}`.padStart(numberWidth)}  ${role.padEnd(roleWidth)} │ ${cut(own, left)}`.trimEnd();
  });
}

/** Returns what became of each line, from 1; nothing for a line without a meaning for the plan. */
function lineRoles(source: SourceText, text: string, reading: PlanReading): Map<number, string> {
  const { phases } = reading.plan;
  const found = new Map<number, Set<string>>();
  for (const role of planRoles(text, reading)) {
    found.set(role.line, (found.get(role.line) ?? new Set()).add(roleText(role, phases)));
  }
  const roles = new Map([...found].map(([line, texts]) => [line, [...texts].join(", ")]));
  for (const { kind, start, end } of findRegions(source)) {
    for (let line = start + 1; line <= end; line += 1) if (!roles.has(line)) roles.set(line, kind);
  }
  const starts = new Map<number, PlanPhase | PlanTask>(
    phases.flatMap((phase) => [phase, ...phase.tasks].map((one) => [one.position.line, one] as const)),
  );
  let told: (line: string) => string | undefined = () => undefined;
  for (let line = 1; line <= source.lines.length; line += 1) {
    const start = starts.get(line);
    if (start !== undefined) told = tellerOf(start);
    const role = roles.has(line) ? undefined : told(source.text(line - 1).trim());
    if (role !== undefined) roles.set(line, role);
  }
  return roles;
}

/** Returns a function that says what of a phase or task a line is that has no position in the plan. */
function tellerOf(start: PlanPhase | PlanTask): (line: string) => string | undefined {
  if ("tasks" in start) {
    const { goal, validationGate } = start;
    const details = detailsOf(validationGate);
    return (line) => (details.has(bare(line)) ? "detail" : goal && line.endsWith(goal) ? "goal" : undefined);
  }
  const lines = new Set(start.description?.split("\n").flatMap((line) => line.trim() || []));
  const [first] = lines;
  const details = detailsOf(start.acceptanceCriteria);
  return (line) => {
    // The label before a description is not part of it.
    if (lines.has(line) || (first !== undefined && line.endsWith(first))) return "description";
    return details.has(bare(line)) ? "detail" : undefined;
  };
}

function detailsOf(items: PlanPhase["validationGate"]): ReadonlySet<string> {
  return new Set(items.flatMap(({ details = [] }) => details));
}

function bare(line: string): string {
  return line.replace(/^(?:[-*+]|\d{1,9}[.)])[ \t]+/, "");
}

function roleText({ role, phase, task }: LineRole, phases: readonly PlanPhase[]): string {
  switch (role) {
    case "phase": {
      const written = phases.find(({ number }) => number === phase)?.written;
      return `phase ${phase}${written === undefined ? "" : ` (${written} in the plan)`}`;
    }
    case "task":
      return `task ${task}`;
    case "criterion":
      return `criterion of ${task}`;
    case "gate":
      return `gate of phase ${phase}`;
    case "unplaced":
      return "not placed";
    case "repeated":
      return "repeats a task";
  }
}

/** Characters that take two columns. */
const WIDE = /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Returns the start of a text that fits into so many columns. */
function cut(text: string, width: number): string {
  let [columns, end] = [0, 0];
  for (const character of text) {
    const next = columns + (WIDE.test(character) ? 2 : 1);
    // The last column is for the ellipsis, unless the text ends there.
    if (next > width || (next === width && end + character.length < text.length)) return `${text.slice(0, end)}…`;
    columns = next;
    end += character.length;
  }
  return text;
}
