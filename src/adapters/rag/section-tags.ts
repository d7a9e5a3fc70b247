/** What headings say of what stands below them, as tags. */
const TAGS: readonly (readonly [heading: RegExp, tags: readonly string[]])[] = [
  [/\b(?:validation[ -]gate|checkpoint|completion criteria)\b/i, ["checkpoint", "evidence"]],
  [/\bevidence\b/i, ["evidence"]],
  [/\bexamples?\b/i, ["example"]],
];

/**
 * The tags of a piece of text by the headings above and in it: `checkpoint` and `evidence` where it says
 * what must be shown, `example` where it shows how.
 */
export function sectionTags(headings: readonly string[]): readonly string[] {
  return [
    ...new Set(TAGS.flatMap(([pattern, tags]) => (headings.some((heading) => pattern.test(heading)) ? tags : []))),
  ];
}
