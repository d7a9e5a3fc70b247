/**
 * What a reader sees of Markdown's inline marks: code, strong and links without their signs. By regular
 * expressions whose parts can't overlap: parsers take quadratic time over unclosed marks.
 */

/** A line without its inline marks. What stands between backticks is left as it is. */
export function plainText(line: string): string {
  const parts = line.split(/`+/);
  return parts
    .map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? part : unmarked(part)))
    .join("")
    .trim();
}

function unmarked(text: string): string {
  return text.replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1").replace(/\*\*|(?<![\p{L}\p{N}])__|__(?![\p{L}\p{N}])/gu, "");
}

const LEADING = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D|\s|\[[ xX]\])+/u;
const MARK = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D)$/u;

/** A text without the symbols before it: `✅ Done` and `[x] Done` are `Done`. */
export function withoutLeadingMarks(text: string): string {
  return text.replace(LEADING, "");
}

/** A text without the answers that are to be chosen from behind it: `Done ✅/❌` is `Done`. */
export function withoutTrailingMarks(text: string): string {
  const characters = [...text.trimEnd()];
  // A slash at the end is part of a path, unless there is a mark behind it.
  if (!MARK.test(characters.at(-1) ?? "")) return characters.join("");
  while (/^[\s/]$/.test(characters.at(-1) ?? "") || MARK.test(characters.at(-1) ?? "")) characters.pop();
  return characters.join("");
}

/** The name of a heading as it is looked up: without symbols before it, in lower case, without a colon after it. */
export function headingName(text: string): string {
  return text
    .replace(/^[^\p{L}\p{N}]+/u, "")
    .replace(/[:\s]+$/, "")
    .toLowerCase();
}
