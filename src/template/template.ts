/**
 * Fills the placeholders of a template in one pass. The entry file of this folder; phase.ts has the values of the
 * placeholders for phases and tasks, and is loaded only for sessions with a plan.
 */

/** Values by the names of placeholders. A list becomes a checklist. */
export type TemplateValues = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * Replaces the placeholders of a template: names in capitals, in brackets, such as `[TASK_NAME]`. Values are never
 * expanded themselves. Placeholders without a value and other text in brackets stay as they are.
 *
 * A list becomes a Markdown checklist, an empty list the word `None`.
 */
export function renderTemplate(template: string, values: TemplateValues): string {
  let rendered = "";
  let from = 0;
  // `replace` with a function takes twice the time.
  for (let open = template.indexOf("["); open !== -1; open = template.indexOf("[", open + 1)) {
    const close = endOfName(template, open + 1);
    if (close === open + 1 || template.charCodeAt(close) !== CLOSE) continue;
    const name = template.slice(open + 1, close);
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) continue;
    rendered += template.slice(from, open) + asText(value);
    from = close + 1;
  }
  return from === 0 ? template : rendered + template.slice(from);
}

// Character codes.
const CLOSE = 0x5d;
const [A, Z] = [0x41, 0x5a] as const;
const UNDERSCORE = 0x5f;
const [ZERO, NINE] = [0x30, 0x39] as const;

/**
 * Returns the end of a name of capitals, digits and underscores that begins at `start` with a letter; `start` if there
 * is none.
 */
function endOfName(text: string, start: number): number {
  let end = start;
  for (;;) {
    const code = text.charCodeAt(end);
    const isLetter = code >= A && code <= Z;
    if (!isLetter && (end === start || (code !== UNDERSCORE && !(code >= ZERO && code <= NINE)))) return end;
    end += 1;
  }
}

function asText(value: TemplateValues[string]): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : checklist(value);
}

/** Returns a checklist. Further lines of an item are indented, so that they stay part of it. */
function checklist(items: readonly string[]): string {
  if (items.length === 0) return "None";
  return items.map((item) => `- [ ] ${item.replaceAll("\n", "\n  ")}`).join("\n");
}
