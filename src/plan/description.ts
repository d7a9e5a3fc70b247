import type { TaskDraft } from "./drafts.js";
import { labelOf } from "./labels.js";
import type { SourceText } from "./source-text.js";

const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;

/**
 * What a plan says of a task beside what is told elsewhere, as Markdown: code, notes and lists as they
 * are, so that whoever does the task loses nothing. Lines are moved to the left together.
 */
export function descriptionOf(
  { firstLine, endLine }: TaskDraft,
  source: SourceText,
  told: ReadonlySet<number>,
): string {
  const lines: string[] = [];
  for (let line = firstLine + 1; line < endLine; line += 1) {
    if (!told.has(line)) lines.push(source.text(line));
  }
  const text = outdent(lines)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return withoutLabel(withoutRulesAtEnd(text)).trim();
}

/** Rules part a task from what follows it, and belong to neither. */
function withoutRulesAtEnd(text: string): string {
  const lines = text.split("\n");
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== "" && !RULE.test(line)) + 1).join("\n");
}

/** `**Description:** text` is its text. */
function withoutLabel(text: string): string {
  const end = text.indexOf("\n");
  const first = end === -1 ? text : text.slice(0, end);
  const label = labelOf(first.replace(/^[-*+][ \t]+/, ""));
  if (label?.field !== "description") return text;
  return `${label.text}${end === -1 ? "" : text.slice(end)}`;
}

function outdent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const least = Math.min(...indents.slice(0, 10_000), 1000);
  return lines.map((line) => line.slice(Math.min(least, /^[ \t]*/.exec(line)?.[0].length ?? 0)));
}
