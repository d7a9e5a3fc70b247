/** Pages of a text by bytes, none of which splits a character. Pure. */

/** The longest character of UTF-8, in bytes. */
export const CHARACTER_MAX = 4;

/** Where a page begins whose offset may lie inside a character: `bytes` begin up to three bytes before it. */
export function characterStart(bytes: Uint8Array, index: number): number {
  let start = index;
  while (start > 0 && index - start < CHARACTER_MAX - 1 && isInside(bytes[start])) start -= 1;
  return isInside(bytes[start]) ? index : start;
}

/** How many bytes are whole characters: the last one may be cut. What isn't UTF-8 at all is left as it is. */
export function wholeCharacters(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(CHARACTER_MAX, end); back += 1) {
    const byte = bytes[end - back] ?? 0;
    if (isInside(byte)) continue;
    return lengthOf(byte) > back ? end - back : end;
  }
  return end;
}

/** Whether a byte continues a character. */
function isInside(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** How many bytes a character has that begins so. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}
