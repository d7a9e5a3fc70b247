import { PLACEHOLDER } from "../definition/placeholders.js";

/** What is put in the place of placeholders, by their names: a list becomes a checklist. */
export type TemplateValues = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * Puts values in the place of a template's placeholders: names in capitals, in brackets, such as
 * `[TASK_NAME]`. One pass: what stands in a value is plain text, whatever it looks like. A placeholder
 * without a value stays as it is, and so does prose in brackets.
 *
 * A list becomes a Markdown checklist, an empty one the word `None`.
 */
export function renderTemplate(template: string, values: TemplateValues): string {
  return template.replace(PLACEHOLDER, (whole: string, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (typeof value === "string") return value;
    if (value === undefined) return whole;
    return typeof value === "number" ? String(value) : checklist(value);
  });
}

/** Further lines of an item are indented, so that they stay part of it. */
function checklist(items: readonly string[]): string {
  if (items.length === 0) return "None";
  return items.map((item) => `- [ ] ${item.replaceAll("\n", "\n  ")}`).join("\n");
}
