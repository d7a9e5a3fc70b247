/** What a line is, where it isn't Markdown to be read. */
export type RegionKind = "code" | "comment";

/** Lines that belong together: from the first to before the last. */
export interface Region {
  readonly kind: RegionKind;
  readonly start: number;
  readonly end: number;
  /** Where strict CommonMark would end it: only for a sample within a sample. */
  readonly strictEnd?: number;
  /** Whether nothing closes it: it runs to the end. */
  readonly unclosed: boolean;
}
