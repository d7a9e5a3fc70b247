/** What a plan says of the requirements that a task meets, as one text each. */

const NUMBER = String.raw`[#§]?\d+(?:\.\d+)*[a-z]?`;
/** `FR-001`, `AC2`, `R1.2`, `NFR-Sc1`, `REQ_12`. */
const NAMED = String.raw`[a-z]{1,16}(?:[-_][a-z]{1,16}){0,4}[-_.]?\d+(?:[.-]\d+)*[a-z]?`;
/** `Story 4`, `Section 5.5.2`. */
const WORDED = String.raw`[a-z]{2,16} \d+(?:\.\d+)*`;
const ID = `(?:${NAMED}|${NUMBER}|${WORDED})(?![\\w-]*\\w)`;
const RANGE = String.raw`\s*(?:[-–—]|\.{2,3}|\bto\b|\bthrough\b)\s*`;
/** An id or a range of ids, and a remark in brackets. That it is a requirement goes without saying. */
const REFERENCE = new RegExp(
  String.raw`(?:\breq(?:uirement)?s?\.?\s+)?((?:${NUMBER}|${NAMED})${RANGE}(?:${NUMBER}|${NAMED})(?![\w-]*\w)|${ID})(\s*\([^()]*\))?`,
  "iy",
);
const BETWEEN = /\s*(?:[,;&+/]|\band\b)\s*(?:(?:and\b|&)\s*)?|\s+/iy;
const NOTHING = /^(?:none|n\/?a|nothing|[-–—]*)\.?$/i;
/** `[FR-001](spec.md#fr-001)`, `[FR-001]`: what it says. */
const LINK = /\[([^[\]]*)\](?:\([^()]*\))?/g;

/**
 * The references of a text that is a list of ids, each as it is written, without marks and links: a range
 * is one, and so is an id with its remark. Any other text is one reference, `None` is none.
 */
export function readReferences(text: string): readonly string[] {
  if (NOTHING.test(text)) return [];
  return idsOf(text) ?? [text];
}

/** All ids of a text; undefined where it says anything else. */
function idsOf(text: string): readonly string[] | undefined {
  const said = withoutEnd(
    text
      .replace(LINK, " $1 ")
      .replace(/[*`]/g, "")
      .replace(/^[\s_]+/, ""),
  );
  const list = /^\(([^()]*)\)$/.exec(said)?.[1]?.trim() ?? said;
  const ids: string[] = [];
  let at = 0;
  for (;;) {
    REFERENCE.lastIndex = at;
    const [whole, id, remark = ""] = REFERENCE.exec(list) ?? [];
    if (whole === undefined || id === undefined) return undefined;
    ids.push(`${id}${remark}`);
    at += whole.length;
    if (at === list.length) return isPlain(ids) ? ids : undefined;
    BETWEEN.lastIndex = at;
    const gap = BETWEEN.exec(list)?.[0];
    if (gap === undefined) return undefined;
    at += gap.length;
  }
}

/** Whether no number stands alone behind a word with one, which may be meant for both: `Stories 4 and 6`. */
function isPlain(ids: readonly string[]): boolean {
  return !ids.some((id, index) => /^\d/.test(id) && /^[a-z]+ \d/i.test(ids[index - 1] ?? ""));
}

/** By hand: a pattern looks again at each place where such characters begin. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s_.,;]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
