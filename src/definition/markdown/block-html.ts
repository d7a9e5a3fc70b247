/** Where HTML begins and ends among the blocks of a Markdown text, by the seven kinds that CommonMark knows. */

/** What ends a block of HTML: a line with this in it, or a blank one. */
export type HtmlEnd = RegExp | "blank line";

const BLOCKS =
  /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:[ \t]|\/?>|$)/i;

const KINDS: readonly (readonly [start: RegExp, end: HtmlEnd])[] = [
  [/^<(?:pre|script|style|textarea)(?:[ \t>]|$)/i, /<\/(?:pre|script|style|textarea)>/i],
  [/^<!--/, /-->/],
  [/^<\?/, /\?>/],
  [/^<![A-Za-z]/, />/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [BLOCKS, "blank line"],
];

/** A tag alone on its line; its parts can't be told apart in two ways, so that each is looked at once. */
const NAME = /[A-Za-z][A-Za-z0-9-]*/y;
const ATTRIBUTE = /[ \t]+[A-Za-z_:][\w.:-]*/y;
const VALUE = /[ \t]*=[ \t]*(?:[^ \t"'=<>`]+|'[^']*'|"[^"]*")/y;

/** What ends the HTML that a line begins; undefined for a line that begins none. A paragraph is ended by no single tag. */
export function htmlAt(text: string, inParagraph: boolean): HtmlEnd | undefined {
  if (!text.startsWith("<")) return undefined;
  const kind = KINDS.find(([start]) => start.test(text));
  if (kind !== undefined) return kind[1];
  return !inParagraph && isTagAlone(text) ? "blank line" : undefined;
}

/** Whether HTML that a blank line doesn't end is over with this line. */
export function endsHtml(text: string, end: HtmlEnd): boolean {
  return end !== "blank line" && end.test(text);
}

function isTagAlone(text: string): boolean {
  const closing = text.startsWith("</");
  let at = after(NAME, text, closing ? 2 : 1);
  if (at === undefined) return false;
  if (!closing) {
    for (let next = after(ATTRIBUTE, text, at); next !== undefined; next = after(ATTRIBUTE, text, at)) {
      at = after(VALUE, text, next) ?? next;
    }
  }
  const rest = text.slice(at).trim();
  return rest === ">" || (!closing && rest === "/>");
}

function after(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
