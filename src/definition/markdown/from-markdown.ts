/**
 * Parses Markdown in time that grows with the length of the text, with `mdast-util-from-markdown`.
 *
 * Its parser, micromark 4.0.3, applies each edit of its list of events by copying the whole list. Every heading that
 * is underlined and every quotation or nested list that ends is such an edit, so the time grew with the square of the
 * text: 46 s for 96 kB of `a\n===\n`. Edits concern the end of the list. So `consume` is given only the part that
 * begins at the first edit; the parser's own code does the rest. The result is the same for everybody who uses the
 * parser in this process.
 */
import { EditMap } from "micromark-util-edit-map";

export { fromMarkdown } from "mdast-util-from-markdown";

const consumeAll = EditMap.prototype.consume;

EditMap.prototype.consume = function consumeEnd(events) {
  const first = this.map.reduce((least, [at]) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const end = events.splice(first);
  for (const edit of this.map) edit[0] -= first;
  consumeAll.call(this, end);
  for (const event of end) events.push(event);
};
