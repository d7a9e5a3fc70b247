/** A list in brackets; `[FR-001](spec.md#fr-001)`, `[FR-001]`: what it says. */
const IN_BRACKETS = /^\(([^()]*)\)\.?$|\[([^[\]]*)\](?:\([^()]*\))?/g;
/** `1.2`, `#3`, `FR-001`, `NFR-Sc1`, `Story 4`; a range of two; a remark behind. */
const ID =
  /^((story|section) )?[#§]?[a-z_-]{0,40}\d[\d.]*[a-z]?( ?([-–—]|to |through ) ?[a-z_-]{0,40}\d[\d.]*[a-z]?)?( \([^()]*\))?$/i;

/**
 * The requirements that a text names, one each, if it is a list of ids: as they are written, without marks,
 * links and the word. Any other text is one, `None` is none.
 */
export function readReferences(text: string): readonly string[] {
  const ids = text
    .replace(IN_BRACKETS, ",$1$2,")
    .replace(/[*`]|\breq(uirement)?s? (?=\d)|\.$/gi, "")
    .split(/[,;&+/]|\band\b/i)
    .flatMap((id) => id.trim() || []);
  if (/^(none|n\/?a|-+)\.?$/i.test(text)) return [];
  return ids.length > 0 && ids.every((id) => ID.test(id)) ? ids : [text];
}
