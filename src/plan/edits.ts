/** A piece of a text, and what stands there instead. */
export interface Edit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** A text with pieces replaced, all of which are named by their place in the text as it is. They may not overlap. */
export function withEdits(source: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const { offset, length, text } of [...edits].sort((one, other) => one.offset - other.offset)) {
    parts.push(source.slice(end, offset), text);
    end = offset + length;
  }
  return parts.join("") + source.slice(end);
}
